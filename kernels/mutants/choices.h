// What a change decides before a tile is computed, and what of it a kernel declares.
#pragma once

#include <cstdint>

#include "harness/provider/plumbline_provider.h"
#include "kernels/mutants/arithmetic.h"

namespace plumbline::mutants {

// Whether P / l is rounded, of an l that a pass before summed.
constexpr bool normalises_p(Change change) {
  return change == Change::legal_p_normalized || change == Change::precision_p_rounded_twice ||
         change == Change::precision_p_normalized_by_rounded_sum;
}

// Keys of a tile.
std::int64_t tile_keys(Change change);
// KV splits of a sample of that many keys.
std::int64_t splits_of(Change change, std::int64_t keys);
Sum sum_of_products(const plumbline_problem& problem, Mode mode, Change change);

// What P is rounded to, and the power of two that it is multiplied by first.
std::uint32_t p_dtype(const plumbline_problem& problem, Mode mode, Change change);
double p_prescale(Mode mode, Change change);
// By how much the running maximum may lag behind: P stays below 2^limit.
float lazy_limit(Change change, std::uint32_t p_dtype, bool lse_wanted);
// The maximum that a row goes on with, in powers of two: `m` but for legal kernels that hold it
// otherwise. `shared`: that of its block.
float held_maximum(Change change, float m, float shared);
// of both products
plumbline_accumulator accumulator(const plumbline_problem& problem, Mode mode, Change change);

}  // namespace plumbline::mutants
