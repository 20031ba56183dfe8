// Judges an outcome against the past of its case: digest and drift of the error. Times are judged
// by times.h.
// docs/judging-comparisons.md, "Against the past".
#pragma once

#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judgement_builder.h"

namespace plumbline {

struct Outcome;

// What is looked at in the past of a case, and who says so.
struct PastInputs {
  const Outcome& outcome;
  const Baseline* baseline;   // nullptr: none
  const Pin* pin;             // nullptr: none
  bool determinism_promised;  // by the kernel or by its contract
};
// Digest, drift and driver of an outcome of status ok, and that a timed one has a time.
void judge_past(const PastInputs& past, JudgementBuilder& builder);
// What asks less of an outcome than of its baseline: no verdict, but listed.
void compare_terms(const Outcome& outcome, const Terms& now, const Baseline& baseline,
                   JudgementBuilder& builder);

// Lists a case that is faster by more than noise (ChangeKind::faster) and whose error grew by more
// than that of 19 in 20 legal retilings: it may do less work. Fails nothing. To be called again by
// whoever adds ChangeKind::faster to a judgement that is made; says it once.
void compare_speed_with_error(const Outcome& outcome, const Baseline* baseline,
                              Judgement& judgement);

// max(rms, 0.3) of now over that of the past: below 0.3 of the legal error, ratios are noise. NaN
// stays NaN.
double drift_ratio(double rms, double baseline_rms);
// The drift_ratio() beyond which an outcome's error is no noise, if its digest is another.
double drift_noise(const Outcome& outcome);

}  // namespace plumbline
