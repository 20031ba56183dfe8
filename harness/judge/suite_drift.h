// Drift of the error over the cases of a kernel: many that grew a little, where none grew much.
// docs/judging-comparisons.md, "Over a suite".
#pragma once

#include <string_view>
#include <vector>

#include "harness/judge/baseline.h"
#include "harness/judge/judge.h"

namespace plumbline {

// Appends to `scores`, for each kernel on each device, the drift of the median and of the lower
// quartile of the ratios of the rms to the past's, over the cases whose bits changed. `pasts[i]`
// belongs to `outcomes[i]` (nullptr = none). `from`: "" for the last accepted outcomes, " from the
// pin" for pinned ones; it ends the statistic's name. `complete` as for judge_suites.
void add_drifts(const std::vector<const Outcome*>& outcomes,
                const std::vector<const Baseline*>& pasts, std::string_view from, bool complete,
                std::vector<SuiteScore>& scores);

}  // namespace plumbline
