// State that outlives a call, as real kernels wrongly keep it in stale plans or buffers. Used by
// the mutants of class `stale`. Those of class `race` use is_odd_call() in place of real timing.
// Not safe for concurrent calls; plumbline's workers run one at a time.
#pragma once

#include "kernels/cpu/sequences.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

// Call this at the start of a call: replaces parts of `attention` by those of an earlier call, and
// keeps the current ones for later.
void keep_stale_state(cpu::Attention& attention, Change change);

// Returns the number of calls with this shape, including this one.
std::int64_t count_call_of_shape(const plumbline_problem& problem);

// Returns the mask of the first call.
std::uint32_t stale_mask(std::uint32_t mask);
// Returns an accumulator of `count` numbers that is zero only at its first use.
float* stale_accumulator(std::int64_t count);
// Stores `lse` under `index`, and returns the value that the last call stored there.
float exchange_stale_lse(std::int64_t index, float lse);

// Returns true in every other call. Real races depend on time; this one differs between any two
// successive calls, so no test passes by luck.
bool is_odd_call();
void count_call();

}  // namespace plumbline::mutants
