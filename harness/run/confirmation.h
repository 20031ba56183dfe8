// Confirms or refutes a regression of the error by two fresh processes. judge_runs.h and
// night_times.h leave a regression unconfirmed.
#pragma once

#include <array>

#include "harness/store/stored.h"

namespace plumbline {

// `again`: the outcomes of two fresh processes, judged against the same history. If both fail, the
// regression is confirmed; another kind of failure replaces the outcome. If neither fails, the
// first measurement was noise, and the first fresh outcome replaces it except for its times. If
// they differ, the case is ambiguous.
void apply_confirmation(StoredOutcome& stored, std::array<StoredOutcome, 2> again);

}  // namespace plumbline
