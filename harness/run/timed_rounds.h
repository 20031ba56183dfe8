// The timed part of a plan: judged and timed once, then timed again in further rounds.
#pragma once

#include <functional>

#include "harness/run/runner.h"

namespace plumbline {

// Measures the timed cases and diffs of a plan one at a time, in rounds (measure/time_rounds.h):
// every one of them once, then every one again. The first round judges outputs, the later ones only
// time. An outcome is handed on once all rounds are done, one that failed at once; of a plan that
// is stopped between, nothing that still lacks a round. `invariances_of` is called for each case of
// the plan that ran well itself, after all rounds.
void run_timed(const Runner& runner, const Plan& plan, const RunSinks& sinks,
               const std::function<bool()>& stopped,
               const std::function<void(const PlannedCase&)>& invariances_of);

}  // namespace plumbline
