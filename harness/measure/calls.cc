// Makes the calls of a case, compares their bits and judges each new output.
#include "harness/measure/calls.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/compare/statistics.h"
#include "harness/diagnose/causes.h"
#include "harness/measure/call_outputs.h"
#include "harness/measure/measurement.h"
#include "harness/timing/time_rounds.h"

namespace plumbline {
namespace {

// Finds the largest difference between two outputs of one problem.
class Difference {
 public:
  Difference(const Geometry& geometry, const OutputView& first, const OutputView& later) {
    const Problem& p = geometry.problem();
    for (std::int64_t sample = 0; sample < p.batch; ++sample) {
      for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
        for (std::int64_t head = 0; head < p.heads_q; ++head) {
          compare(p.out(), first.out, later.out, geometry.out_offset(sample, row, head),
                  p.head_dim_vo, {sample, head, row, 0});
          for (const RowOutput output : all<RowOutput>()) {
            const void *a = first.*row_output_data[output], *b = later.*row_output_data[output];
            if (a == nullptr || b == nullptr) continue;
            compare(DType::f32, a, b, geometry.lse_offset(sample, row, head), 1,
                    {sample, head, row, column_of(output)});
          }
        }
      }
    }
  }

  std::string words(std::string_view call) const {
    if (other_ == 0) return fmt::format("{} left other bits in padded rows than the first", call);
    const auto row_output = row_output_at(element_.column);
    const std::string column = row_output ? fmt::format(", in the {}", table_row(*row_output).words)
                                          : fmt::format(", column {}", element_.column);
    return fmt::format(
        "{} gave {} where the first gave {}, at sample {}, head {}, row {}{}; {} of {} elements {} "
        "other bits",
        call, later_, first_, element_.sample, element_.head, element_.row, column, other_,
        elements_, other_ == 1 ? "has" : "have");
  }

 private:
  struct Value {
    Value(DType dtype, const std::byte* at)
        : number(decode_at(dtype, at, 0)),
          is_poison(std::all_of(at, at + size_in_bytes(dtype),
                                [](std::byte b) { return b == std::byte{0xFF}; })) {}
    std::string words() const { return is_poison ? "nothing" : fmt::format("{:.9g}", number); }
    double number;
    bool is_poison;
  };

  void compare(DType dtype, const void* first, const void* later, std::int64_t offset,
               std::int64_t count, ElementId element) {
    const std::size_t size = size_in_bytes(dtype), begin = static_cast<std::size_t>(offset) * size;
    const auto* const a = static_cast<const std::byte*>(first) + begin;
    const auto* const b = static_cast<const std::byte*>(later) + begin;
    elements_ += count;
    if (std::memcmp(a, b, static_cast<std::size_t>(count) * size) == 0) return;
    const bool has_columns = element.column >= 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (std::memcmp(a + i * size, b + i * size, size) == 0) continue;
      ++other_;
      if (has_columns) element.column = static_cast<std::int64_t>(i);
      consider({dtype, a + i * size}, {dtype, b + i * size}, element);
    }
  }

  void consider(const Value& first, const Value& later, const ElementId& element) {
    double distance = std::abs(first.number - later.number);
    if (!std::isfinite(distance)) distance = HUGE_VAL;
    if (distance <= largest_) return;
    largest_ = distance;
    first_ = first.words();
    later_ = later.words();
    element_ = element;
  }

  std::int64_t elements_ = 0, other_ = 0;
  double largest_ = -1;
  std::string first_, later_;
  ElementId element_;
};

bool has_failed(const Outcome& outcome) { return !outcome.location.description.empty(); }

class Calls {
 public:
  Calls(const CaseCalls& calls, Worker& worker, Measurement& measurement)
      : calls_(calls),
        request_(calls.request),
        worker_(worker),
        measurement_(measurement),
        outcome_(measurement.outcome),
        is_emulated_(calls.request.device.starts_with("emulated:")) {}

  void make() {
    if (!first()) return;
    const bool timed = calls_.timed_repetitions > 0;
    request_.threads_reversed = true;
    request_.keep_plan = timed;
    poison();
    const auto begin = std::chrono::steady_clock::now();
    const RunReply second = worker_.run_again(request_);
    const bool is_long = std::chrono::steady_clock::now() - begin > calls_.longest_second;
    if (!take(second, request_, "second")) return;
    outcome_.calls = 2;
    if (timed && !time()) return;
    if (is_long) return;
    request_.keep_plan = false;
    poison();
    if (take(worker_.run(request_), request_, "third")) outcome_.calls = 3;
  }

 private:
  bool first() {
    request_.keep_plan = true;
    poison();
    RunReply reply = worker_.run(request_);
    outcome_.status = reply.status;
    outcome_.reason = reply.reason;
    outcome_.device = reply.device;
    outcome_.description = reply.description;
    outcome_.workspace_bytes = reply.workspace_bytes;
    if (reply.status != Status::ok) return false;
    // A kernel that returns no LSE is excused. An LSE that is returned but not written is poison.
    if (!reply.lse_returned) request_.lse = -1;
    outcome_.output_digest = output_digest(worker_.arena(), request_);
    seen_ = {outcome_.output_digest};
    first_ = CallOutputs(worker_.arena(), request_);
    note_fault(reply, outcome_);
    calls_.judge(request_, measurement_);
    outcome_.repeat_checked = outcome_.repeat_equal = outcome_.status == Status::ok;
    return outcome_.repeat_checked;
  }

  bool time() {
    RunRequest request = request_;
    request.timed_repetitions = calls_.timed_repetitions;
    request.timeout = calls_.timed_timeout;
    request.threads_reversed = request.keep_plan = false;
    poison();
    RunReply reply = worker_.run_again(request);
    if (!take(reply, request, "")) return false;
    outcome_.peak_memory_bytes = reply.peak_memory_bytes;
    outcome_.times.rounds = {round_of(std::move(reply.timing), calls_.load)};
    summarise_rounds(outcome_);
    return true;
  }

  void poison() {
    for (const std::size_t slot : request_.output_slots()) worker_.arena().poison(slot);
  }

  static void note_fault(const RunReply& reply, Outcome& outcome) {
    if (reply.workspace_fault.empty()) return;
    outcome.faults.fence_bytes = 1;
    outcome.faults.detail = reply.workspace_fault;
  }

  // Returns "the second call (the same plan again, threads reversed)".
  std::string name_of(std::string_view number, const RunReply& reply) const {
    if (number.empty()) return "the last timed call";
    return fmt::format("the {} call ({}{})", number,
                       reply.same_plan ? "the same plan again" : "a new plan",
                       is_emulated_ ? ", threads reversed" : "");
  }

  // Returns true if the call succeeded.
  bool take(const RunReply& reply, const RunRequest& request, std::string_view number) {
    if (reply.status == Status::ok) {
      compare(reply, request, number);
      return true;
    }
    outcome_.status = reply.status;
    // The second call uses the same plan, even if the worker died before it could report that.
    RunReply named = reply;
    named.same_plan = number == "second";
    const std::string name = number.empty() ? "the timed calls" : name_of(number, named);
    outcome_.reason = fmt::format("in {}: {}", name, reply.reason);
    outcome_.repeat_checked = outcome_.repeat_equal = false;
    return false;
  }

  bool has_broken_fences() const {
    const std::vector<std::size_t> slots = request_.output_slots();
    return std::any_of(slots.begin(), slots.end(), [&](std::size_t slot) {
      return !worker_.arena().broken_fence_bytes(slot).empty();
    });
  }

  void compare(const RunReply& reply, const RunRequest& request, std::string_view number) {
    const std::string digest = output_digest(worker_.arena(), request_);
    const bool is_new = std::ranges::find(seen_, digest) == seen_.end();
    if (!is_new && reply.workspace_fault.empty() && !has_broken_fences()) return;
    seen_.push_back(digest);
    const std::string name = name_of(number, reply);
    std::string difference;
    if (is_new)
      difference = difference_in_words(*measurement_.geometry, first_.view(0), output(), name);
    const bool was_equal = outcome_.repeat_equal;
    if (is_new) outcome_.repeat_equal = false;
    if (is_new && was_equal) outcome_.call_difference = difference;
    if (has_failed(outcome_)) {
      if (is_new && was_equal) explain_change();
      return;
    }
    judge_later(reply, request, name, difference);
  }

  OutputView output() const { return view_of(worker_.arena(), request_, 0); }

  // Names what changed in a later call, if an earlier call has already failed.
  void explain_change() {
    const std::vector<double> rows =
        rows_of(*measurement_.geometry, output(), *measurement_.reference);
    outcome_.cause = with_change(outcome_.call_difference, rows, measurement_, "the first call");
  }

  // Returns `difference` and its cause, followed by the cause of `failed`, one of the two calls, if
  // that explains the call's output or if nothing else explains the difference. `rows`: the output
  // of the later call.
  std::string with_change(const std::string& difference, const std::vector<double>& rows,
                          const Measurement& failed, const std::string& name) const {
    const std::string& cause = failed.outcome.cause;
    std::string rest = cause_of_change(*measurement_.reference, measurement_.rows, rows);
    if (rest.empty()) {
      rest = cause;
    } else if (failed.cause_explains) {
      rest += fmt::format("\nfor {}: {}", name, cause);
    }
    return difference + (rest.empty() ? "" : "\n" + rest);
  }

  // Judges a later call. If it fails, its comparison replaces the outcome's.
  void judge_later(const RunReply& reply, const RunRequest& request, const std::string& name,
                   const std::string& difference) {
    Measurement later{{}, measurement_.geometry, nullptr, {}};
    static_cast<CaseRun&>(later.outcome) = outcome_;
    later.outcome.status = Status::ok;
    later.outcome.saved_to.clear();
    note_fault(reply, later.outcome);
    calls_.judge(request, later);
    if (!has_failed(later.outcome)) return;
    if (!difference.empty()) later.outcome.cause = with_change(difference, later.rows, later, name);
    static_cast<ComparedOutput&>(outcome_) = std::move(static_cast<ComparedOutput&>(later.outcome));
    if (!later.outcome.saved_to.empty()) outcome_.saved_to = later.outcome.saved_to;
    std::string& detail = outcome_.faults.detail;
    if (!detail.empty()) detail = fmt::format("in {}: {}", name, detail);
    if (!difference.empty()) outcome_.call_difference = difference;
  }

  const CaseCalls& calls_;
  RunRequest request_;
  Worker& worker_;
  Measurement& measurement_;
  Outcome& outcome_;
  bool is_emulated_;
  CallOutputs first_;
  std::vector<std::string> seen_;  // digests that were already judged
};

}  // namespace

std::string output_digest(const Arena& arena, const RunRequest& request) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (const std::size_t slot : request.output_slots())
    XXH3_128bits_update(state, arena.data(slot), arena.slot(slot).bytes);
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string difference_in_words(const Geometry& geometry, const OutputView& first,
                                const OutputView& later, std::string_view call) {
  return Difference(geometry, first, later).words(call);
}

void make_calls(const CaseCalls& calls, Worker& worker, Measurement& measurement) {
  Calls(calls, worker, measurement).make();
}

}  // namespace plumbline
