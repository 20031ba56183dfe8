// The timed part of a plan: each case is judged and timed once, then timed again in further rounds.
#pragma once

#include <functional>

#include "harness/run/runner.h"

namespace plumbline {

// Measures the timed cases and diffs of a plan one at a time, in rounds (timing/time_rounds.h): all
// of them once, then all again. Only the first round judges outputs. A failed outcome is passed on
// at once, any other after all rounds. If the plan is stopped, unfinished outcomes are dropped.
// `invariances_of` is called after all rounds, for each case of the plan that ran successfully.
void run_timed(const Runner& runner, const Plan& plan, const RunSinks& sinks,
               const std::function<bool()>& stopped,
               const std::function<void(const PlannedCase&)>& invariances_of);

}  // namespace plumbline
