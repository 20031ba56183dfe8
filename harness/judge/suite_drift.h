// Drift of the error over the cases of a kernel: many errors that each grew a little.
// docs/judging-comparisons.md, "Over a suite".
#pragma once

#include <string_view>
#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judge.h"

namespace plumbline {

// Appends two drifts to `scores` for each kernel on each device: the median and the lower quartile
// of the outcomes' rms over their past rms, for cases whose bits changed. `pasts[i]` belongs to
// `outcomes[i]`; nullptr = none. `from` ends the statistic's name: "" for the last accepted
// outcomes, " from the pin" for pinned ones. `complete` as for judge_suites.
void add_drifts(const std::vector<const Outcome*>& outcomes,
                const std::vector<const Baseline*>& pasts, std::string_view from, bool complete,
                std::vector<SuiteScore>& scores);

}  // namespace plumbline
