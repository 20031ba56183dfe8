// Bounds prefix sums by their values at chunk edges and the norms of the chunks between them.
#include "harness/reference/prefix_bounds.h"

#include <algorithm>
#include <cmath>

namespace plumbline {

void PrefixBounds::start(const HeadData& head, std::int64_t rows, std::int64_t first_key,
                         std::int64_t keys) {
  head_ = &head;
  rows_ = rows;
  chunks_ = KeyChunks(first_key, keys);
  norms_.resize(static_cast<std::size_t>(rows * (chunks_.count() + 1)));
  for (auto* bound : {&high_, &low_, &edge_high_, &edge_low_})
    bound->assign(static_cast<std::size_t>(rows * head.ld), 0);
  zeros_.assign(static_cast<std::size_t>(head.dim_vo), 0);
}

void PrefixBounds::start_row(std::int64_t row, const double* p) {
  const std::int64_t chunks = chunks_.count();
  float* norms = norms_.data() + row * (chunks + 1);
  float before = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    double sum = 0;
    const std::int64_t begin = chunks_.keys_of(c).begin, end = chunks_.keys_of(c).end;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = begin; k < end; ++k) sum += p[k] * p[k];
    const auto norm = static_cast<float>(std::sqrt(sum) * (1 + 1e-6));
    norms[c] = std::max(before, norm);
    before = norm;
  }
  norms[chunks] = before;
  extend(row, 0, zeros_.data());
}

void PrefixBounds::extend(std::int64_t row, std::int64_t edge, const double* o) {
  const float norm = norms_.data()[row * (chunks_.count() + 1) + edge];
  const float* norms_of_v = head_->edge_norm.data() + (chunks_.first() + edge) * head_->ld;
  const double unit = 1 / head_->v_unit;
  float *high = high_.data() + row * head_->ld, *low = low_.data() + row * head_->ld;
  float *edge_high = edge_high_.data() + row * head_->ld,
        *edge_low = edge_low_.data() + row * head_->ld;
  for (std::int64_t j = 0; j < head_->dim_vo; ++j) {
    const auto sum = static_cast<float>(o[j] * unit);
    const float between = norm * norms_of_v[j];
    high[j] = std::max(sum + between, high[j]);
    low[j] = std::min(sum - between, low[j]);
    edge_high[j] = std::max(sum, edge_high[j]);
    edge_low[j] = std::min(sum, edge_low[j]);
  }
}

void PrefixBounds::add_edge(std::int64_t c, const double* o) {
  for (std::int64_t r = 0; r < rows_; ++r) extend(r, c + 1, o + r * head_->dim_vo);
}

}  // namespace plumbline
