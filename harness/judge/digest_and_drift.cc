// Judges the bits and the error of an outcome against earlier outcomes of its case.
#include "harness/judge/digest_and_drift.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

// Limits of the drift between two legal variants of one kernel, with a margin. Measured maxima:
// 1.36 (at least 1e4 elements), 1.60 (below 2,500), 2.16 (fp32 output). evidence/judging.md,
// "Drift".
constexpr std::int64_t few_elements = 2500;
double drift_limit(const Outcome& outcome) {
  if (outcome.c.problem.out() == DType::f32) return 2.5;
  return outcome.errors.elements < few_elements ? 1.7 : 1.5;
}

void judge_drift(const Outcome& outcome, const Baseline& baseline, JudgementBuilder& builder) {
  if (outcome.errors.elements == 0 || baseline.elements == 0) return;
  const double ratio = drift_ratio(outcome.errors.rms, baseline.rms), limit = drift_limit(outcome);
  const auto sentence = [&](std::string_view direction) {
    return fmt::format(
        "the rms error is {:.3g} sigma, in run {} it was {:.3g}: {} by a factor of {:.3g}; {:.3g} "
        "is within noise",
        outcome.errors.rms, baseline.run_id, baseline.rms, direction,
        direction == "better" ? 1 / ratio : ratio, limit);
  };
  if (!within(ratio, limit)) {
    builder.find(Verdict::regressed, {FindingKind::drift, ratio, limit, sentence("worse")});
  } else if (ratio < 1 / limit) {
    builder.find(Verdict::improved, {FindingKind::drift, ratio, 1 / limit, sentence("better")});
    builder.change(
        {ChangeKind::smaller_error, ratio, 1 / limit, sentence("better"), Standing::fine});
  }
}

// Compares with the pin, because many steps that are each within noise may add up. An improvement
// on the pin was reported when it happened.
void judge_pinned_drift(const Outcome& outcome, const Baseline& pinned, JudgementBuilder& builder) {
  if (outcome.errors.elements == 0 || pinned.elements == 0 ||
      outcome.output_digest == pinned.output_digest)
    return;
  const double ratio = drift_ratio(outcome.errors.rms, pinned.rms), limit = drift_limit(outcome);
  if (within(ratio, limit)) return;
  builder.find(
      Verdict::regressed,
      {FindingKind::drift_from_pin, ratio, limit,
       fmt::format(
           "the rms error is {:.3g} sigma, in the pinned run {} it was {:.3g}: worse by a factor "
           "of {:.3g}; {:.3g} is within noise",
           outcome.errors.rms, pinned.run_id, pinned.rms, ratio, limit)});
}

bool is_other_driver(const Outcome& outcome, const Baseline& baseline) {
  const auto differs = [](const std::string& now, const std::string& then) {
    return !now.empty() && !then.empty() && now != then;
  };
  return differs(outcome.device.driver, baseline.driver) ||
         differs(outcome.device.runtime, baseline.runtime);
}

// A driver compiles PTX and schedules work. It is not part of the series' name, so its effects show
// as findings, and this change names their likely cause.
void compare_driver(const Outcome& outcome, const Baseline& baseline, JudgementBuilder& builder) {
  if (!is_other_driver(outcome, baseline)) return;
  builder.change({ChangeKind::other_driver, 0, 0,
                  fmt::format("driver {} with CUDA {}, where run {} had driver {} with CUDA {}",
                              outcome.device.driver, outcome.device.runtime, baseline.run_id,
                              baseline.driver, baseline.runtime),
                  Standing::fine});
}

void judge_bits(const PastInputs& past, JudgementBuilder& builder) {
  const auto& [outcome, baseline, pin, determinism_promised] = past;
  const bool confirmed =
      baseline->deterministic || (outcome.repeat_checked && outcome.repeat_equal);
  const bool same_build =
      !outcome.description.build_id.empty() && outcome.description.build_id == baseline->build_id;
  if (!determinism_promised || !confirmed) return;
  if (same_build && !is_other_driver(outcome, *baseline)) {
    builder.find(
        Verdict::fail,
        {FindingKind::digest, 0, 0,
         fmt::format(
             "the same build ({}) gave other bits than in run {}: nondeterminism or hardware",
             baseline->build_id, baseline->run_id)});
  } else {
    builder.find(Verdict::changed,
                 {FindingKind::digest, 0, 0,
                  fmt::format("other bits than in run {}, by {}", baseline->run_id,
                              same_build ? "another driver or CUDA runtime" : "another build")});
  }
}

// 95 % of 4,600 error ratios between legal retilings are below 1.22 (cpu/split_kv) and 1.16
// (cpu/flash). evidence/judging.md, "Drift".
constexpr double min_error_growth = 1.25;

void judge_output(const PastInputs& past, JudgementBuilder& builder) {
  const auto& [outcome, baseline, pin, determinism_promised] = past;
  if (pin != nullptr && !outcome.output_digest.empty())
    judge_pinned_drift(outcome, pin->outcome, builder);
  if (baseline == nullptr) return builder.at_least(Verdict::first_seen);
  compare_driver(outcome, *baseline, builder);
  if (baseline->timed && !outcome.timed) {
    builder.change({ChangeKind::untimed, 0, 0,
                    fmt::format("is not timed, and was in run {}", baseline->run_id),
                    Standing::fine});
  }
  if (outcome.output_digest.empty() || baseline->output_digest.empty()) {
    return builder.note("not compared with the past: an output digest is missing");
  }
  if (outcome.output_digest == baseline->output_digest) return;
  judge_bits(past, builder);
  judge_drift(outcome, *baseline, builder);
}

// Finds times that cannot be compared. The gate judges the others (timing_verdict.h).
void judge_time(const Outcome& outcome, JudgementBuilder& builder) {
  if (!(outcome.time_ratio > 0) || std::isinf(outcome.time_ratio))
    builder.find(Verdict::mistrusted,
                 {FindingKind::time, 0, 0, "timed, but without a ratio to the sentinel"});
}

}  // namespace

double drift_ratio(double rms, double baseline_rms) {
  constexpr double floor = 0.3;
  // std::max could drop a NaN
  const auto floored = [](double value) { return value < floor ? floor : value; };
  return floored(rms) / floored(baseline_rms);
}

double drift_noise(const Outcome& outcome) { return drift_limit(outcome); }

void judge_past(const PastInputs& past, JudgementBuilder& builder) {
  judge_output(past, builder);
  if (past.outcome.timed) judge_time(past.outcome, builder);
}

void compare_speed_with_error(const Outcome& outcome, const Baseline* baseline,
                              Judgement& judgement) {
  const auto of_kind = [&](ChangeKind kind) {
    return std::find_if(judgement.changes.begin(), judgement.changes.end(),
                        [&](const Change& change) { return change.kind == kind; });
  };
  const auto faster = of_kind(ChangeKind::faster);
  if (baseline == nullptr || faster == judgement.changes.end() || outcome.errors.elements == 0 ||
      baseline->elements == 0 || outcome.output_digest == baseline->output_digest ||
      of_kind(ChangeKind::faster_less_accurate) != judgement.changes.end())
    return;
  const double ratio = drift_ratio(outcome.errors.rms, baseline->rms);
  if (within(ratio, min_error_growth)) return;
  judgement.changes.push_back(
      {ChangeKind::faster_less_accurate, ratio, min_error_growth,
       fmt::format("takes {:.3g} of its usual time, and its rms error grew by a factor of {:.3g} "
                   "since run {}: it may round more, or do less",
                   faster->value, ratio, baseline->run_id),
       Standing::fine});
}

void compare_terms(const Outcome& outcome, const ContractSnapshot& now, const Baseline& baseline,
                   JudgementBuilder& builder) {
  if (!baseline.terms) return;
  auto looser = looser_terms(now, outcome.spec_judged, *baseline.terms, baseline.spec_judged);
  for (const RowOutput output : all<RowOutput>()) {
    if (baseline.judged[output] && !(outcome.errors.*row_statistics[output].measured))
      looser.push_back(fmt::format("the {} is not judged", table_row(output).words));
  }
  if (looser.empty()) return;
  builder.change(
      {ChangeKind::looser_contract, 0, 0,
       fmt::format("is held to less than in run {}: {}", baseline.run_id, fmt::join(looser, "; ")),
       Standing::fine});
}

}  // namespace plumbline
