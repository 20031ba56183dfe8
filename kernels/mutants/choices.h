// The parameters that a change sets before a tile is computed: tile size, splits, dtypes and
// accumulators. A kernel declares some of them in its rounding spec.
#pragma once

#include <cstdint>

#include "harness/provider/plumbline_provider.h"
#include "kernels/mutants/arithmetic.h"

namespace plumbline::mutants {

// Returns true if P / l is rounded, with l from an earlier pass.
constexpr bool normalises_p(Change change) {
  return change == Change::legal_p_normalized || change == Change::precision_p_rounded_twice ||
         change == Change::precision_p_normalized_by_rounded_sum;
}

// Returns the number of keys of a tile.
std::int64_t tile_keys(Change change);
// Returns the number of KV splits of a sample with `keys` keys.
std::int64_t splits_of(Change change, std::int64_t keys);
Sum sum_of_products(const plumbline_problem& problem, Mode mode, Change change);

// Return the dtype that P is rounded to, and the power of two that multiplies P before that.
std::uint32_t p_dtype(const plumbline_problem& problem, Mode mode, Change change);
double p_prescale(Mode mode, Change change);
// Returns how far the running maximum may lag: P stays below 2^limit.
float lazy_limit(Change change, std::uint32_t p_dtype, bool lse_wanted);
// Returns the maximum that a row continues with, in units of log2. This is `m`, except for changes
// that keep another maximum. `shared` is the block's maximum.
float held_maximum(Change change, float m, float shared);
// Returns the accumulator of both matrix products.
plumbline_accumulator accumulator(const plumbline_problem& problem, Mode mode, Change change);

}  // namespace plumbline::mutants
