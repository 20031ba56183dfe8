// Computes the moments of V about O by float products, and adds heavy keys one by one.
#include "harness/reference/moments.h"

#include <cblas.h>

namespace plumbline {
namespace {

// A key with more than this share of its row's weight is heavy. A row has fewer than 64 of them.
constexpr double heavy_share = 1.0 / 64;

// Multiplies the first `rows` rows of the weights by `form`.
void product_of_first(const RowBlock& block, std::int64_t rows, const Weights& weights,
                      const Buffer<float>& form, Buffer<float>& result) {
  const std::int64_t ld = block.head->ld;
  result.resize(static_cast<std::size_t>(rows * ld));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(rows),
              static_cast<int>(ld), static_cast<int>(block.keys), 1, weights.data(),
              static_cast<int>(block.stride), form.data() + block.first_key * ld,
              static_cast<int>(ld), 0, result.data(), static_cast<int>(ld));
}

}  // namespace

void product(const RowBlock& block, const Weights& weights, const Buffer<float>& form,
             Buffer<float>& result) {
  product_of_first(block, block.rows, weights, form, result);
}

void product(const RowBlock& block, std::span<const std::int64_t> rows, Weights& weights,
             const Buffer<float>& form, Buffer<float>& result) {
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const auto row = weights.begin() + rows.data()[i] * block.stride;
    std::copy(row, row + block.stride, weights.begin() + i * block.stride);
  }
  product_of_first(block, std::ssize(rows), weights, form, result);
}

void CenteredMoment::compute(const RowBlock& block, Weights& weights, Buffer<double>& result) {
  const HeadData& head = *block.head;
  heavy_.clear();
  light_weight_.assign(static_cast<std::size_t>(block.rows), 0);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    float* w = weights.data() + r * block.stride;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < block.keys; ++k) sum += w[k];
    const auto limit = static_cast<float>(heavy_share * sum);
    for (std::int64_t k = 0; k < block.keys; ++k) {
      if (w[k] <= limit) continue;
      heavy_.push_back({r, k, w[k]});
      sum -= w[k];
      w[k] = 0;
    }
    light_weight_[static_cast<std::size_t>(r)] = std::max(sum, 0.0);
  }
  product(block, weights, head.v_centered, first_);
  product(block, weights, head.v_centered_squared, second_);

  const double unit = 1 / head.v_unit;
  result.assign(static_cast<std::size_t>(block.rows * head.ld), 0);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const double weight = light_weight_[static_cast<std::size_t>(r)];
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const double shift =
          block.o.data()[r * head.dim_vo + j] * unit - head.center[static_cast<std::size_t>(j)];
      const std::int64_t at = r * head.ld + j;
      const double moment = second_.data()[at] - shift * (2 * first_.data()[at] - shift * weight);
      result.data()[at] = moment < 0 ? 0 : moment;
    }
  }
  for (const HeavyKey& key : heavy_) {
    const double* v = head.v.data() + (block.first_key + key.key) * head.dim_vo;
    const double* o = block.o.data() + key.row * head.dim_vo;
    double* row = result.data() + key.row * head.ld;
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      row[j] += key.weight * ((v[j] - o[j]) * unit) * ((v[j] - o[j]) * unit);
  }
}

}  // namespace plumbline
