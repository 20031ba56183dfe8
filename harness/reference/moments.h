// Weighted second moments of V's columns, by float matrix products.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "harness/reference/row_block.h"

namespace plumbline {

// Float weights [R, N] with row stride block.stride: at most of order 1, and 0 outside the visible
// keys.
using Weights = Buffer<float>;
// Smaller weights are set to 0, because subnormal numbers would slow down the products.
inline constexpr float negligible_weight = 1e-30F;

// Sets weights[r, k] = of_row(r)(k) for the visible keys of these rows, otherwise 0.
template <class OfRow>
void set_weights(const RowBlock& block, std::span<const std::int64_t> rows, Weights& weights,
                 OfRow of_row) {
  std::ranges::fill(weights, 0.0F);
  for (const std::int64_t r : rows) {
    const auto [begin, end] = block.keys_of(r);
    float* row = weights.data() + r * block.stride;
    const auto of_key = of_row(r);
    for (std::int64_t k = begin; k < end; ++k) {
      const auto w = static_cast<float>(of_key(k));
      row[k] = w < negligible_weight ? 0.0F : w;
    }
  }
}

// Computes W M, [R, ld]. M is the rows of `form` for the block's keys. `form` [N, ld] is one of
// HeadData's float forms of V, such as v_squared.
void product(const RowBlock& block, const Weights& weights, const Buffer<float>& form,
             Buffer<float>& result);
// Row i of the result belongs to rows[i]; `rows` is ascending. Moves these rows of the weights to
// the front.
void product(const RowBlock& block, std::span<const std::int64_t> rows, Weights& weights,
             const Buffer<float>& form, Buffer<float>& result);

// Computes result_rj = sum_k w_rk (v_kj - o_rj)^2 in units of v_unit^2, [R, ld]. Expands the square
// about the center of column j. Heavy keys, which pull o towards themselves, are summed separately,
// because the terms of their expansion nearly cancel. Destroys the weights.
class CenteredMoment {
 public:
  void compute(const RowBlock& block, Weights& weights, Buffer<double>& result);

 private:
  struct HeavyKey {
    std::int64_t row, key;
    double weight;
  };
  std::vector<HeavyKey> heavy_;
  std::vector<double> light_weight_;  // [R]
  Buffer<float> first_, second_;      // [R, ld]
};

}  // namespace plumbline
