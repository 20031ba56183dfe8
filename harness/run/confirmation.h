// Confirms or refutes a regression of the error by two fresh processes. The verdict `unconfirmed`
// comes from elsewhere: judge_runs.h gives it to regressions that no fresh processes measured
// again, and night_times.h to times.
#pragma once

#include <array>

#include "harness/store/stored.h"

namespace plumbline {

// `again`: the outcomes of two fresh processes, judged against the same history.
// - Both fail: the regression is confirmed. If the first fresh outcome is another kind of failure,
//   such as a crash, it replaces `stored`.
// - Neither fails: the first measurement was noise. The first fresh outcome replaces `stored`.
// - One fails: the case is ambiguous.
// If a fresh outcome replaces `stored`, the times of `stored` are kept.
void apply_confirmation(StoredOutcome& stored, std::array<StoredOutcome, 2> again);

}  // namespace plumbline
