// State that outlives a call, as kernels with stale plans or buffers wrongly keep it. The mutants
// of class `stale` keep it; the call counter stands for time in class `race`. One run at a time in
// a process, as plumbline's workers have it.
#pragma once

#include "kernels/cpu/sequences.h"
#include "kernels/mutants/changes.h"

namespace plumbline::mutants {

// At the start of a call: replaces in `attention` what this change has kept from an earlier one, or
// keeps it for later ones.
void keep_stale_state(cpu::Attention& attention, Change change);

// How many calls of this shape there have been, with this one.
std::int64_t count_call_of_shape(const plumbline_problem& problem);

// The mask of the first call.
std::uint32_t stale_mask(std::uint32_t mask);
// An accumulator of `count` numbers that only its first user finds zeroed.
float* stale_accumulator(std::int64_t count);
// The LSE kept under `index` by the call before; keeps `lse`.
float exchange_stale_lse(std::int64_t index, float lse);

// Whether this is every other call. Real races depend on time; this one differs between any two
// successive calls, so that a test of it cannot pass by luck.
bool is_odd_call();
void count_call();

}  // namespace plumbline::mutants
