// Weighted second moments of V's columns, by float matrix products.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "harness/reference/row_block.h"

namespace plumbline {

// Float [R, N] weights with row stride block.stride, zero outside the visible keys, of the order of
// 1 or less.
using Weights = Buffer<float>;
// Smaller weights could only slow the products down, by becoming subnormal numbers.
inline constexpr float negligible_weight = 1e-30F;

// weights[r, k] = of_row(r)(k) for visible keys of those rows, else 0.
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

// W M for a float form M of V (all keys of the head): result is [R, ld].
void product(const RowBlock& block, const Weights& weights, const Buffer<float>& form,
             Buffer<float>& result);
// Row i of the result is that of rows[i], ascending. Moves these rows of the weights to the front.
void product(const RowBlock& block, std::span<const std::int64_t> rows, Weights& weights,
             const Buffer<float>& form, Buffer<float>& result);

// result_j = sum_k w_k (v_kj - o_j)^2 in units of v_unit^2, [R, ld]. Expands the square about the
// column's center; keys that carry much of a row's weight, and pull o to themselves, are summed
// apart, or the expansion would cancel. Destroys the weights.
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
