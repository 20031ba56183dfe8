// Judges one case: which checks there are, and their order. docs/judging.md.
#include "harness/judge/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "harness/contract/contract.h"
#include "harness/contract/support.h"
#include "harness/judge/acknowledged.h"
#include "harness/judge/digest_and_drift.h"
#include "harness/judge/judgement_builder.h"
#include "harness/outcome/outcome.h"
#include "harness/problem/geometry.h"

namespace plumbline {
namespace {

bool any_row_sees_a_key(const Problem& problem) {
  const Geometry geometry(problem);
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
      if (geometry.visible_count(sample, row) > 0) return true;
    }
  }
  return false;
}

// Begins the reason of a refusal that is not the kernel's own.
constexpr std::string_view lacking_prefix = "not measured: ";

class CaseJudge {
 public:
  explicit CaseJudge(const JudgeInputs& inputs)
      : inputs_(inputs),
        outcome_(*inputs.outcome),
        contracts_(inputs.contracts != nullptr ? *inputs.contracts : no_contracts()),
        contract_(
            contracts_.find(outcome_.c.kernel, target_of(outcome_), outcome_.c.problem.dtype)),
        pinned_(
            contracts_.pinned_spec(outcome_.c.kernel, outcome_.c.problem, target_of(outcome_))) {}

  Judgement run() {
    if (judge_status()) judge_output();
    Judgement judgement = builder_.finish();
    judgement.terms = take_snapshot(contracts_, outcome_);
    return judgement;
  }

 private:
  void judge_output() {
    judge_spec();
    judge_policy();
    judge_faults();
    judge_errors();
    judge_promises();
    judge_physics();
    judge_history();
    add_notes();
  }

  static const Contracts& no_contracts() {
    static const Contracts none;
    return none;
  }

  // Returns true if there is an output to judge. A crash stays a crash, even if the support table
  // says that the kernel refuses the problem.
  bool judge_status() {
    const auto refusal = inputs_.support != nullptr
                             ? inputs_.support->unsupported(outcome_.c.kernel, outcome_.c.problem,
                                                            target_of(outcome_))
                             : std::nullopt;
    if (outcome_.status == Status::ok) {
      if (refusal)
        find(Verdict::support_mismatch, FindingKind::support,
             fmt::format("ran, although the support table says: {}", *refusal));
      return true;
    }
    if (outcome_.status != Status::unsupported) {
      find(verdict_of(outcome_.status), FindingKind::status,
           outcome_.reason.empty() ? "without a reason" : outcome_.reason);
      if (refusal)
        builder_.note(
            fmt::format("the support table says that the kernel refuses this: {}", *refusal));
    } else if (inputs_.support == nullptr ||
               !is_unexplained_refusal(outcome_, contracts_, *inputs_.support)) {
      builder_.at_least(Verdict::unsupported);
      builder_.note(fmt::format("unsupported: {}", outcome_.reason));
      compare_refusal();
    } else {
      find(Verdict::support_mismatch, FindingKind::support,
           fmt::format("refused (\"{}\"), and the support table does not say so", outcome_.reason));
    }
    return false;
  }

  // A refusal of a case that had a result loses coverage, so the run fails until a user accepts it.
  void compare_refusal() {
    if (inputs_.baseline == nullptr || inputs_.refusal_accepted) return;
    builder_.change({ChangeKind::refused, 0, 0,
                     fmt::format("is refused (\"{}\"), and had a result in run {}", outcome_.reason,
                                 inputs_.baseline->run_id),
                     Standing::failure});
  }

  void judge_spec() {
    const auto looser = looser_fields(outcome_.description.spec, pinned_);
    if (!looser.empty()) {
      find(Verdict::fail, FindingKind::spec,
           fmt::format("spec is looser than its contract: {}", fmt::join(looser, "; ")));
    }
    // The stored statistics are in the sigma of the spec that was pinned when they were measured.
    // The limits of another contract do not apply to them.
    if (outcome_.spec_judged.empty()) return;
    // Compares specs, not texts: texts of older releases lack the newest fields.
    const Result<RoundingSpec> judged = parse_spec_text(outcome_.spec_judged);
    if (!judged || *judged != pinned_) {
      find(Verdict::mistrusted, FindingKind::contract,
           "measured in the sigma of another spec than the contract pins now: measure again");
    }
  }

  void judge_policy() {
    const auto declared = outcome_.description.padding_policy;
    if (contract_ == nullptr || !contract_->padding_policy || !outcome_.c.problem.is_padded())
      return;
    // Every policy is at least as strict as `anything`.
    const auto pinned = *contract_->padding_policy;
    if (declared == pinned || pinned == PaddingPolicy::anything) return;
    find(Verdict::fail, FindingKind::padding_policy,
         fmt::format("declares padded rows as {}, its contract pins {}", name(declared),
                     name(*contract_->padding_policy)));
  }

  void judge_faults() {
    const std::string detail = outcome_.faults.detail.empty()
                                   ? ""
                                   : fmt::format(" (first fault: {})", outcome_.faults.detail);
    for (const FaultKind& kind : fault_kinds) {
      const std::int64_t count = outcome_.faults.*kind.count;
      if (count == 0) continue;
      builder_.find(Verdict::fail, {finding_kind(kind.name), static_cast<double>(count), 0,
                                    fmt::format("{} {}{}", count, kind.what, detail)});
    }
  }

  void judge_errors() {
    const ErrorStatistics& errors = outcome_.errors;
    if (errors.elements <= 0) return judge_nothing_compared();
    const Limits limits = contracts_.limits(outcome_.c.kernel, outcome_.c.problem, errors.elements,
                                            target_of(outcome_));
    for (const Statistic& statistic : deciding_statistics) {
      if (is_measured(statistic, errors))
        judge_statistic(std::string(statistic.name), errors.*statistic.value,
                        limits.*statistic.limit);
      else if (!statistic.absent.empty())
        builder_.note(std::string(statistic.absent));
    }
  }

  void judge_nothing_compared() {
    if (any_row_sees_a_key(outcome_.c.problem)) {
      find(Verdict::mistrusted, FindingKind::elements,
           fmt::format("nothing was compared: no element of {} rows met the reference",
                       outcome_.rows_total));
    } else {
      builder_.note("no row sees a key: there is nothing to compare, only faults were looked for");
    }
  }

  void judge_statistic(const std::string& statistic, double value, double limit) {
    if (builder_.measure(statistic, value, limit)) return;
    std::string text = fmt::format("{} is {:.4g}, its limit {:.4g}", statistic, value, limit);
    if (outcome_.worst && outcome_.worst_statistic == statistic) {
      const auto& [element, got, expected, sigma, ulp, share, visible_keys] = *outcome_.worst;
      text += fmt::format(": got {:.9g}, expected {:.9g}, sigma {:.3g} at {} ({} visible keys)",
                          got, expected, sigma, at(element), visible_keys);
    }
    builder_.find(Verdict::fail, {finding_kind(statistic), value, limit, std::move(text)});
  }

  bool determinism_promised() const {
    return outcome_.description.promises.run_to_run == Promise::bitwise ||
           (contract_ != nullptr && contract_->promises.run_to_run == Promise::bitwise);
  }

  void judge_promises() {
    for (const auto& [promise_name, promise, of_contracts_only] : promise_fields) {
      if (of_contracts_only) continue;
      const Promise declared = outcome_.description.promises.*promise;
      const Promise pinned = contract_ != nullptr ? contract_->promises.*promise : Promise::none;
      if (declared >= pinned) continue;
      find(Verdict::fail, FindingKind::promise,
           fmt::format("promises {} {}, its contract pins {}", promise_name, name(declared),
                       name(pinned)));
    }
    if (!outcome_.repeat_checked || outcome_.repeat_equal) return;
    const std::string what = outcome_.call_difference.empty() ? "a second run gave other bits"
                                                              : outcome_.call_difference;
    if (determinism_promised()) {
      find(Verdict::fail, FindingKind::run_to_run, what + ", though the same bits are promised");
    } else {
      builder_.note(what + "; the kernel does not promise the same bits");
    }
  }

  // An output that is right, but faster than any kernel could compute it, comes from an earlier
  // call, or from another process whose time is not counted.
  void judge_physics() {
    const Times& times = outcome_.times;
    if (within(times.physics, max_physics)) return;
    builder_.find(
        Verdict::mistrusted,
        {FindingKind::physics, times.physics, max_physics,
         fmt::format(
             "a call took {:.4g} ms of processor time, but any kernel needs at least {:.4g} ms "
             "here: the call did not do the work, or another process did it",
             times.cpu_ns * 1e-6, times.physics * times.cpu_ns * 1e-6)});
  }

  void judge_history() {
    judge_past({.outcome = outcome_,
                .baseline = inputs_.baseline,
                .pin = inputs_.pin,
                .determinism_promised = determinism_promised()},
               builder_);
    if (inputs_.baseline != nullptr)
      compare_terms(outcome_, take_snapshot(contracts_, outcome_), *inputs_.baseline, builder_);
  }

  // Adds notes that a reader needs to trust the verdict.
  void add_notes() {
    if (outcome_.calls == 2)
      builder_.note("called only twice, without a second plan, because a call takes more than 2 s");
    if (outcome_.reference_rows < outcome_.rows_total) {
      builder_.note(fmt::format(
          "{} of {} rows were compared with the reference; faults were looked for in all",
          outcome_.reference_rows, outcome_.rows_total));
    }
    if (!(std::abs(outcome_.widening - 1) < 0.005)) {
      builder_.note(fmt::format("sigma is {:.3g} times that of the strict spec ({})",
                                outcome_.widening,
                                describe(pinned_, outcome_.c.problem, target_of(outcome_).arch)));
    }
  }

  void find(Verdict verdict, FindingKind kind, std::string text) {
    builder_.find(verdict, {kind, 0, 0, std::move(text)});
  }

  const JudgeInputs& inputs_;
  const Outcome& outcome_;
  const Contracts& contracts_;
  const Contract* contract_;  // nullptr: strict default
  RoundingSpec pinned_;
  JudgementBuilder builder_;
};

}  // namespace

Verdict verdict_of(Status status) {
  switch (status) {
    case Status::crashed:
      return Verdict::crashed;
    case Status::timeout:
      return Verdict::timeout;
    case Status::out_of_memory:
      return Verdict::out_of_memory;
    case Status::unsupported:
      return Verdict::unsupported;
    case Status::ok:
    case Status::error:
      break;
  }
  return Verdict::error;
}

bool is_lacking(const Outcome& outcome) {
  return outcome.status == Status::unsupported && outcome.reason.starts_with(lacking_prefix);
}

// A kernel with neither a contract nor an entry in the support table belongs to the user. No
// reviewed text states what it accepts.
bool is_unexplained_refusal(const Outcome& outcome, const Contracts& contracts,
                            const SupportTable& support) {
  if (outcome.status != Status::unsupported || is_lacking(outcome)) return false;
  const std::string& kernel = outcome.c.kernel;
  const RunTarget place = target_of(outcome);
  const bool is_reviewed =
      contracts.find(kernel, place) != nullptr || support.covers(kernel, place);
  return is_reviewed && !support.unsupported(kernel, outcome.c.problem, place);
}

JudgeInputs inputs_of(const Outcome& outcome, const Past& past, const Contracts& contracts,
                      const SupportTable& support, std::string_view today) {
  return {.outcome = &outcome,
          .contracts = &contracts,
          .support = &support,
          .baseline = past.baseline ? &*past.baseline : nullptr,
          .today = today,
          .pin = past.pin ? &*past.pin : nullptr,
          .refusal_accepted = past.refusal_accepted,
          .acknowledged = past.acknowledged ? &*past.acknowledged : nullptr};
}

Judgement judge(const JudgeInputs& inputs) {
  Judgement judgement = CaseJudge(inputs).run();
  if (inputs.acknowledged != nullptr) {
    judgement = judge_acknowledged(std::move(judgement), *inputs.outcome, *inputs.acknowledged,
                                   inputs.today);
  }
  const auto& expected = inputs.outcome->expected;
  if (!expected || inputs.today.empty()) return judgement;
  judgement = judge_expected(std::move(judgement), *expected, inputs.today);
  if (judgement.verdict == Verdict::expected_failure && inputs.baseline != nullptr) {
    judgement.changes.push_back(
        {ChangeKind::excused, 0, 0,
         fmt::format("fails, as its suite expects until {} ({}), and was fine in run {}",
                     expected->expires, expected->issue, inputs.baseline->run_id),
         Standing::fine});
  }
  return judgement;
}

}  // namespace plumbline
