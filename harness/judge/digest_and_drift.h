// Judges an outcome against the past of its case: output digest and drift of the error.
// timing_verdict.h judges times. docs/judging-comparisons.md, "Against the past".
#pragma once

#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement_builder.h"

namespace plumbline {

struct Outcome;

// An outcome and the past that it is compared with.
struct PastInputs {
  const Outcome& outcome;
  const Baseline* baseline;   // nullptr: none
  const Pin* pin;             // nullptr: none
  bool determinism_promised;  // by the kernel or by its contract
};
// Judges the digest, drift and driver of an outcome with status ok. Also reports a timed outcome
// that has no time ratio.
void judge_past(const PastInputs& past, JudgementBuilder& builder);
// Adds a change that lists contract terms looser than the baseline's. The verdict does not change.
void compare_terms(const Outcome& outcome, const ContractSnapshot& now, const Baseline& baseline,
                   JudgementBuilder& builder);

// Adds ChangeKind::faster_less_accurate to a judgement with ChangeKind::faster if the error grew by
// more than in 19 of 20 legal retilings: the kernel may do less work. The verdict does not change.
// Call this after adding ChangeKind::faster. Repeated calls add the change once.
void compare_speed_with_error(const Outcome& outcome, const Baseline* baseline,
                              Judgement& judgement);

// Returns max(rms, 0.3) / max(baseline_rms, 0.3), because ratios of errors below 0.3 of the legal
// error are noise. NaN stays NaN.
double drift_ratio(double rms, double baseline_rms);
// Returns the drift_ratio() above which a larger error is more than noise, if the outcome's bits
// differ from the baseline's.
double drift_noise(const Outcome& outcome);

}  // namespace plumbline
