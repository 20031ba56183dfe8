// Runs each transformed call of a case in its worker, and compares its rows with the case's own.
#include "harness/measure/invariance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "harness/base/harness_failure.h"
#include "harness/contract/contract.h"
#include "harness/measure/call_comparison.h"
#include "harness/outcome/invariance_outcome.h"
#include "harness/outcome/outcome.h"
#include "harness/problem/inputs.h"
#include "harness/provider/client/launch.h"

namespace plumbline {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the provider with `option` added after its own options.
std::string with_option(const std::string& provider, const std::string& option) {
  if (option.empty()) return provider;
  const auto [path, options] = split_provider(provider);
  return fmt::format("{}:{}{}{}", path, options, options.empty() ? "" : ",", option);
}

bool ran(Status status) { return status == Status::ok; }

}  // namespace

Result<std::vector<Invariance>> parse_invariances(std::string_view text) {
  std::vector<Invariance> chosen;
  if (text == "all") {
    const auto every = all<Invariance>();
    return std::vector<Invariance>(every.begin(), every.end());
  }
  Errors errors;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (const auto known = parse<Invariance>(word)) {
      chosen.push_back(*known);
    } else {
      errors.push_back({"", 0, fmt::format("there is no invariance \"{}\"", word),
                        fmt::format("name one or more of {}, with commas between, or all",
                                    fmt::join(names_of<Invariance>, ", "))});
    }
    begin = end + 1;
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return chosen;
}

// The untransformed case: its inputs and the outputs of its own call.
struct InvarianceMeasurer::Base {
  const PlannedCase* planned = nullptr;
  std::shared_ptr<const Geometry> geometry;
  std::vector<std::byte> q, k, v;
  CallOutputs outputs;
  Description description;
  RunTarget place;
  RoundingSpec spec;
  const Contract* contract = nullptr;
  bool has_workspace = false;

  InputView inputs() const { return {q.data(), k.data(), v.data()}; }
};

struct InvarianceMeasurer::Answer {
  Status status = Status::error;
  std::string reason;
  Description description;
  CallOutputs outputs;
  std::uint64_t workspace_bytes = 0;
};

InvarianceMeasurer::InvarianceMeasurer(const MeasureOptions& options,
                                       const std::vector<ProviderInfo>& providers,
                                       const Contracts& contracts)
    : options_(options), providers_(providers), contracts_(contracts) {}

Worker* InvarianceMeasurer::worker_for(const std::string& kernel,
                                       const std::string& provider_option, std::string& why_not) {
  const std::string provider = provider_of(kernel);
  auto& worker = workers_[provider + ":" + provider_option];
  if (worker != nullptr) return worker.get();
  const ProviderInfo* known = find_provider(providers_, kernel);
  if (known == nullptr) {
    why_not = fmt::format("no loaded provider is called \"{}\"", provider);
    return nullptr;
  }
  auto created =
      Worker::create(worker_options(options_, with_option(known->library, provider_option)));
  if (!created) {
    why_not = to_string(created.error());
    return nullptr;
  }
  worker = std::move(*created);
  return worker.get();
}

namespace {

// Copies rows of the case over the values that fill_inputs wrote.
class RowCopier {
 public:
  RowCopier(const Geometry& from, const VariantCall& call, std::size_t sample)
      : from_(from),
        to_(*call.geometry),
        source_(call.samples[sample]),
        sample_(static_cast<std::int64_t>(sample)),
        hidden_byte_(call.hidden_byte.value_or(nan_byte)) {
    if (call.hidden_byte) seen_ = seen_keys(to_, sample_);
  }

  void queries(const std::byte* from, std::byte* to) const {
    const std::size_t size = size_in_bytes(from_.q.dtype);
    for (std::int64_t row = 0; row < to_.length_q(sample_); ++row) {
      for (std::int64_t head = 0; head < from_.problem().heads_q; ++head) {
        put(source_.nan ? nullptr : from,
            source_.nan ? 0 : from_.q_offset(source_.sample, source_.first_row + row, head), to,
            to_.q_offset(sample_, row, head), size, from_.problem().head_dim_qk);
      }
    }
  }
  void keys(const std::byte* from_k, std::byte* to_k, const std::byte* from_v,
            std::byte* to_v) const {
    const std::size_t size = size_in_bytes(from_.k.dtype), size_v = size_in_bytes(from_.v.dtype);
    for (std::int64_t key = 0; key < to_.length_kv(sample_); ++key) {
      const bool is_hidden = !seen_.empty() && !seen_[static_cast<std::size_t>(key)];
      const bool is_copied = !source_.nan && !is_hidden;
      for (std::int64_t head = 0; head < from_.problem().heads_kv; ++head) {
        put(is_copied ? from_k : nullptr, is_copied ? from_.k_offset(source_.sample, key, head) : 0,
            to_k, to_.k_offset(sample_, key, head), size, from_.problem().head_dim_qk);
        put(is_copied ? from_v : nullptr, is_copied ? from_.v_offset(source_.sample, key, head) : 0,
            to_v, to_.v_offset(sample_, key, head), size_v, from_.problem().head_dim_vo);
      }
    }
  }

 private:
  static constexpr int nan_byte = 0xFF;  // bytes 0xFF are NaN in every float format

  // Copies a vector. If `from` is nullptr, fills the vector with hidden_byte_.
  void put(const std::byte* from, std::int64_t from_offset, std::byte* to, std::int64_t to_offset,
           std::size_t size, std::int64_t count) const {
    std::byte* const at = to + static_cast<std::size_t>(to_offset) * size;
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    if (from == nullptr) {
      std::memset(at, hidden_byte_, bytes);
    } else {
      std::memcpy(at, from + static_cast<std::size_t>(from_offset) * size, bytes);
    }
  }

  const Geometry& from_;
  const Geometry& to_;
  const SampleSource& source_;
  std::int64_t sample_;
  int hidden_byte_;
  std::vector<bool> seen_;  // [keys]; empty if hidden keys are copied, too
};

}  // namespace

InvarianceMeasurer::Answer InvarianceMeasurer::run(const Base& base, const VariantCall& call,
                                                   Worker& worker) {
  Answer answer;
  Arena& arena = worker.arena();
  const std::string& kernel = base.planned->c.kernel;
  const ProviderInfo* provider = find_provider(providers_, kernel);
  auto request = place_tensors(arena, *call.geometry, further_outputs(provider, kernel));
  if (!request) {
    answer.status = Status::out_of_memory;
    answer.reason = to_string(request.error());
    return answer;
  }
  const Geometry& g = *call.geometry;
  const auto data = [&](int slot, const TensorShape& shape) {
    return static_cast<std::byte*>(arena.data(slot, shape));
  };
  std::byte *q = data(request->q, g.q), *k = data(request->k, g.k), *v = data(request->v, g.v);
  fill_inputs(g, q, k, v);
  for (std::size_t sample = 0; sample < call.samples.size(); ++sample) {
    const SampleSource& source = call.samples[sample];
    if (source.sample < 0 && !source.nan) continue;
    const RowCopier copier(*base.geometry, call, sample);
    copier.queries(base.q.data(), q);
    copier.keys(base.k.data(), k, base.v.data(), v);
  }
  request->kernel = base.planned->c.kernel;
  request->device = base.planned->c.device;
  request->timeout =
      timeout_of(options_, {base.planned->c.kernel, base.planned->c.device, g.problem()}, 0);
  request->workspace_byte = call.workspace_byte;
  request->threads_reversed = call.threads_reversed;
  for (const std::size_t slot : request->output_slots()) arena.poison(slot);
  RunReply reply = worker.run(*request);
  answer.status = reply.status;
  answer.reason = std::move(reply.reason);
  if (!ran(answer.status)) return answer;
  answer.description = std::move(reply.description);
  answer.workspace_bytes = reply.workspace_bytes;
  std::string fault = std::move(reply.workspace_fault);
  for (const std::size_t slot : request->output_slots()) {
    if (!arena.broken_fence_bytes(slot).empty())
      fault = fmt::format("bytes outside {} were written to", arena.slot(slot).name);
  }
  if (!reply.lse_returned) request->lse = -1;
  answer.outputs = CallOutputs(arena, *request);
  if (!fault.empty()) {
    answer.status = Status::error;
    answer.reason = std::move(fault);
  }
  return answer;
}

InvarianceMeasurer::Answer InvarianceMeasurer::run_in_worker(const Base& base,
                                                             const VariantCall& call) {
  Answer answer;
  if (call.own_process) restart_worker(provider_of(base.planned->c.kernel) + ":");
  Worker* const worker = worker_for(base.planned->c.kernel, call.provider_option, answer.reason);
  if (worker == nullptr) return answer;
  if (call.before != nullptr) {
    answer = run(base, *call.before, *worker);
    if (!ran(answer.status)) return answer;
  }
  return run(base, call, *worker);
}

void InvarianceMeasurer::restart_worker(const std::string& key) {
  workers_.erase(key);
  served_.erase(key);
}

InvarianceMeasurer::Answer InvarianceMeasurer::run_and_confirm_crash(const Base& base,
                                                                     const VariantCall& call) {
  const PlannedCase& planned = *base.planned;
  const std::string key = provider_of(planned.c.kernel) + ":" + call.provider_option;
  const auto was_disturbed = [&](const Answer& answer) {
    const auto at = workers_.find(key);
    return answer.status == Status::crashed ||
           (at != workers_.end() && at->second != nullptr && !at->second->changed_input().empty());
  };
  Answer answer = run_in_worker(base, call);
  if (was_disturbed(answer) && !served_[key].empty()) {
    const ServedCases before = served_[key];
    restart_worker(key);
    Answer again = run_in_worker(base, call);
    if (ran(again.status) && !was_disturbed(again)) {
      late_({answer.reason, planned.case_id, before.names()});
      answer = std::move(again);
    }
  }
  if (const auto at = workers_.find(key); at != workers_.end() && at->second != nullptr)
    served_[key].add(*at->second, answer.status, planned);
  return answer;
}

std::optional<InvarianceMeasurer::Base> InvarianceMeasurer::make_base(const PlannedCase& planned,
                                                                      InvarianceOutcome& failed) {
  if (planned.c.problem.view == View::far) {
    failed.status = Status::unsupported;
    failed.reason = "Q, K and V have gaps too large to copy them";
    return std::nullopt;
  }
  Base base;
  base.planned = &planned;
  base.geometry = std::make_shared<const Geometry>(planned.c.problem);
  base.q.resize(base.geometry->q.bytes());
  base.k.resize(base.geometry->k.bytes());
  base.v.resize(base.geometry->v.bytes());
  fill_inputs(*base.geometry, base.q.data(), base.k.data(), base.v.data());
  Answer answer = run_and_confirm_crash(base, own_call(*base.geometry));
  failed.status = answer.status;
  failed.reason = std::move(answer.reason);
  if (!ran(answer.status)) return std::nullopt;
  base.outputs = std::move(answer.outputs);
  base.description = std::move(answer.description);
  base.has_workspace = answer.workspace_bytes > 0;
  Outcome ran_as;
  ran_as.c = planned.c;
  ran_as.description = base.description;
  base.place = target_of(ran_as);
  base.spec = contracts_.pinned_spec(planned.c.kernel, planned.c.problem, base.place);
  base.contract = contracts_.find(planned.c.kernel, base.place, planned.c.problem.dtype);
  return base;
}

bool InvarianceMeasurer::compare(const Base& base, const VariantCall& call, const Answer& answer,
                                 InvarianceOutcome& outcome) {
  if (answer.status == Status::unsupported) {
    ++outcome.calls_refused;
    if (outcome.reason.empty()) outcome.reason = fmt::format("{}: {}", call.words, answer.reason);
    return true;
  }
  if (!ran(answer.status)) {
    outcome.status = answer.status;
    outcome.reason = fmt::format("{}: {}", call.words, answer.reason);
    outcome.problem_b = call.words;
    return false;
  }
  ++outcome.calls;
  const OutputView a = base.outputs.view(base.spec.lse_base),
                   b = answer.outputs.view(base.spec.lse_base);
  const BitComparison bits = compare_bits(*base.geometry, a, call, b);
  outcome.elements += bits.elements;
  outcome.other_bits += bits.other_bits;
  if (bits.other_bits == 0) return true;

  const std::vector<RowPair> pairs =
      affordable(bits.rows, *base.geometry, options_.reference_cost_limit);
  RowSelection rows;
  rows.rows_total = base.geometry->total_q() * base.geometry->problem().heads_q;
  rows.sampled = true;
  for (const RowPair& pair : pairs) rows.rows.push_back(pair.of_case);
  const Reference reference = compute_reference(
      *base.geometry, base.inputs(), base.spec, rows,
      {.library = options_.reference_library.get(), .further_rows = has_further_rows(a)});
  const Limits limits =
      contracts_.limits(base.planned->c.kernel, base.planned->c.problem, bits.elements, base.place);
  const LargestDifference largest =
      largest_difference(*base.geometry, a, call, b, pairs, reference, limits);
  if (!outcome.statistic.empty() &&
      largest.sigmas / largest.limit <= outcome.sigmas / outcome.limit)
    return true;
  outcome.statistic = largest.statistic;
  outcome.element = largest.element;
  outcome.value_a = largest.value_a;
  outcome.value_b = largest.value_b;
  outcome.sigmas = largest.sigmas;
  outcome.ulps = largest.ulps;
  outcome.limit = largest.limit;
  outcome.problem_b = call.words;
  return true;
}

InvarianceOutcome InvarianceMeasurer::measure_one(const PlannedCase& planned, const Base& base,
                                                  Invariance invariance) {
  InvarianceOutcome outcome;
  outcome.status = Status::unsupported;
  outcome.problem_a = problem_id(planned.c.problem);
  const Promise pinned =
      base.contract != nullptr ? promise_of(base.contract->promises, invariance) : Promise::none;
  outcome.promise = std::max(promise_of(base.description.promises, invariance), pinned);
  Variants all = variants(invariance, *base.geometry,
                          base.contract != nullptr ? base.contract->split_option : "");
  if (invariance == Invariance::workspace && !base.has_workspace)
    all = {{}, "the kernel requests no workspace"};
  outcome.reason = all.missing;
  for (const VariantCall& call : all.calls) {
    if (!compare(base, call, run_and_confirm_crash(base, call), outcome)) return outcome;
  }
  if (outcome.calls > 0) outcome.status = Status::ok;
  return outcome;
}

void InvarianceMeasurer::measure(const PlannedCase& planned,
                                 const std::vector<Invariance>& invariances,
                                 const std::function<void(InvarianceOutcome)>& done,
                                 const std::function<void(const LateCrash&)>& late) {
  late_ = late;
  const auto guarded = [&](InvarianceOutcome& outcome, const std::function<void()>& body) {
    try {
      body();
    } catch (const HarnessFailure&) {
      throw;
    } catch (const std::bad_alloc&) {
      end_for_memory("plumbline has no memory for the inputs and outputs of " + planned.case_id);
    } catch (const std::exception& e) {  // for example, recorded inputs were deleted or changed
      outcome.status = Status::error;
      outcome.reason = e.what();
    }
  };
  InvarianceOutcome failed;
  std::optional<Base> base;
  guarded(failed, [&] { base = make_base(planned, failed); });
  for (const Invariance invariance : invariances) {
    const auto start = Clock::now();
    InvarianceOutcome outcome = failed;
    if (base) guarded(outcome, [&] { outcome = measure_one(planned, *base, invariance); });
    outcome.suite = planned.suite;
    outcome.tier = name(planned.tier);
    outcome.c = planned.c;
    outcome.case_id = planned.case_id;
    outcome.invariance = invariance;
    outcome.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    done(std::move(outcome));
  }
}

}  // namespace plumbline
