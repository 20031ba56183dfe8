// Vectorised float passes over keys x columns that are not matrix products. All matrices over
// columns have the row stride ld of HeadData. P is float here, with row stride block.stride.
#pragma once

#include <functional>
#include <span>

#include "harness/reference/cells.h"
#include "harness/reference/row_block.h"

namespace plumbline {

// Computes R_j = max - min, zero included, of the prefix sums of p_k v_kj in key order. R_j bounds
// every contiguous partial sum (tiles, splits, reverse order). `range` is [R, ld], R rows; only the
// given rows are written.
void prefix_ranges(const RowBlock& block, const Buffer<float>& p,
                   std::span<const std::int64_t> rows, Buffer<float>& range);

// A truncating accumulator loses at most t_k = min(q, p_k |v_kj|) of a product, with q = f R_j.
// signed_sum and square_sum are the sums of sign(v_kj) counted_loss(t_k, q) and of t_k^2 over
// visible keys. Only the given rows are written. Small keys have t_k < q in some column; small_keys
// may count a few more. The sums are first computed with t_k = q for all keys. If
// small_keys_matter(row) then returns false, the row keeps these sums.
struct TruncationSums {
  Buffer<float> signed_sum, square_sum;  // [R, ld]
  std::vector<std::int64_t> small_keys;  // [R]
};
void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range,
                     float f, std::span<const std::int64_t> rows,
                     const std::function<bool(std::int64_t row)>& small_keys_matter,
                     TruncationSums& sums);

// The value subtracted from each column of V, as the sum of two floats. With one float, x = v -
// shift would lose its relative precision if one key has nearly all the weight, so that o is nearly
// the key's v.
struct Shift {
  Buffer<float> high, low;
};

// Sets the shift to O, with one row for each of `rows`.
void shift_by_o(const RowBlock& block, std::span<const std::int64_t> rows, Shift& shift);

// Computes coherent_j = sum over cells of (sum_k w_k x_kj)^2 and independent_j = sum over all keys
// of the cells of (w_k x_kj)^2, with x_kj = v_kj - shift_j. Weights are indexed by key. `shift`,
// `coherent` and `independent` have ld elements. Cells may contain the block's sink_key(), whose v
// is 0.
void cell_moments(const Cells& cells, const float* weights, const RowBlock& block,
                  const Shift& shift, float* coherent, float* independent);

// Computes pairs_j, the sum of w_a x_aj w_b x_bj over pairs of keys that share a cell. In terms of
// cell_moments, it is (coherent_j - independent_j) / 2. `pairs` is [R, ld], with one row for each
// of `rows`. The shift is [R, ld] or empty.
void cell_pairs(const RowBlock& block, std::span<const TiedKeys* const> rows, const Shift& shift,
                Buffer<float>& pairs);

}  // namespace plumbline
