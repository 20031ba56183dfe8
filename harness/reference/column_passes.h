// Passes over keys x columns that are no matrix products, in float, vectorised over columns. All matrices over columns have the row
// stride ld of HeadData; P is float here, with row stride block.stride.
#pragma once

#include "harness/reference/cells.h"
#include "harness/reference/row_block.h"

namespace plumbline {

// R_j = max - min, zero included, of the prefix sums of p_k v_kj in key order: bounds every contiguous partial sum (tiles, splits,
// reverse order). range is [R, ld].
void prefix_ranges(const RowBlock& block, const Buffer<float>& p, Buffer<float>& range);

// Truncating accumulators lose up to q = f R_j an addition, or the whole product: with t_k = min(q, p_k |v_kj|), the sums over visible
// keys of sign(v_kj) t_k and of t_k^2; both [R, ld].
void truncation_sums(const RowBlock& block, const Buffer<float>& p, const Buffer<float>& range, float f, Buffer<float>& signed_sum,
                     Buffer<float>& square_sum);

// coherent_j = sum over cells of (sum_k w_k x_kj)^2 and independent_j = sum over their keys of (w_k x_kj)^2, with x_kj = v_kj - shift_j.
// `v` is the block's key 0 of v32, weights are indexed by key. The shift comes as the sum of two floats, so that x keeps its relative
// precision where one key holds nearly all of the weight and o is nearly its v. shift, coherent and independent have ld elements.
// `sink` is a key of the cells whose v is 0; -1 = none.
struct Shift {
  Buffer<float> high, low;
};
void cell_moments(const Cells& cells, const float* weights, const float* v, std::int64_t ld, std::int64_t sink, const Shift& shift,
                  float* coherent, float* independent);

}  // namespace plumbline
