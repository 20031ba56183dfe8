// Vectorised float passes over keys x columns that are no matrix products. All matrices over
// columns have the row stride ld of HeadData; P is float here, with row stride block.stride.
#pragma once

#include <functional>
#include <span>

#include "harness/reference/cells.h"
#include "harness/reference/row_block.h"

namespace plumbline {

// R_j = max - min, zero included, of the prefix sums of p_k v_kj in key order: bounds every
// contiguous partial sum (tiles, splits, reverse order). range is [R, ld], of which those rows are
// written.
void prefix_ranges(const RowBlock& block, const Buffer<float>& p,
                   std::span<const std::int64_t> rows, Buffer<float>& range);

// Truncating accumulators lose up to q = f R_j an addition, or the whole product: with t_k = min(q,
// p_k |v_kj|), the sums over visible keys of sign(v_kj) t_k and of t_k^2; of each matrix those rows
// are written. Keys with t_k < q in some column, or a few more, are small: where
// small_keys_matter(row) says false of the sums with t_k = q for all keys, those sums stay.
struct TruncationSums {
  Buffer<float> signed_sum, square_sum;  // [R, ld]
  std::vector<std::int64_t> small_keys;  // [R]
};
void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range,
                     float f, std::span<const std::int64_t> rows,
                     const std::function<bool(std::int64_t row)>& small_keys_matter,
                     TruncationSums& sums);

// What is subtracted from every column of V, as the sum of two floats: x keeps its relative
// precision where one key holds nearly all of the weight and o is nearly its v.
struct Shift {
  Buffer<float> high, low;
};

// O of these rows, a row of the shift for each.
void shift_by_o(const RowBlock& block, std::span<const std::int64_t> rows, Shift& shift);

// coherent_j = sum over cells of (sum_k w_k x_kj)^2, independent_j = sum over their keys of
// (w_k x_kj)^2, with x_kj = v_kj - shift_j. Weights are indexed by key; shift, coherent and
// independent have ld elements. The cells may hold the block's sink_key(), whose v is 0.
void cell_moments(const Cells& cells, const float* weights, const RowBlock& block,
                  const Shift& shift, float* coherent, float* independent);

// pairs_j = sum over the pairs of keys that share a cell of w_a x_aj w_b x_bj, half of what cells
// add to independent sums; [R, ld], a row for each of `rows`. The shift is [R, ld], or empty.
void cell_pairs(const RowBlock& block, std::span<const TiedKeys* const> rows, const Shift& shift,
                Buffer<float>& pairs);

}  // namespace plumbline
