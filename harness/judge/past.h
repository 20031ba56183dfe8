// An outcome against the past of its case: digest, drift of the error, time. docs/judging.md, "Against the past".
#pragma once

#include <vector>

#include "harness/judge/finder.h"

namespace plumbline {

// `determinism_promised`: by the kernel or by its contract.
void judge_past(const Outcome& outcome, const Baseline& baseline, bool determinism_promised, Finder& finder);
void judge_time(const Outcome& outcome, const TimeHistory& times, Finder& finder);

// max(rms, 0.3) of now over that of the past: below 0.3 of the legal error, ratios are noise. NaN stays NaN.
double drift_ratio(double rms, double baseline_rms);

// Of at least one value.
double median(std::vector<double> values);

}  // namespace plumbline
