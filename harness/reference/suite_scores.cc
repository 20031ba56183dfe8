#include "harness/reference/suite_scores.h"

#include <cblas.h>

#include <cmath>

namespace plumbline {
namespace {

double square(double x) { return x * x; }

// Correlated part of the rounding of P, relative to O and to G: P values of near-uniform logits sit in one or two rounding cells. Fits
// of the research note "judging-error", section 1 (cm).
double correlated_shrink(const Model& model, double deviation) { return 4 * u32 + 0.6 * model.u_p / (1 + deviation / model.u_p); }
double correlated_temperature(const Model& model, double deviation, double sensitivity) {
  if (sensitivity == 0) return 0;  // equal logits: G is 0
  return 0.3 * model.u_p / (1 + deviation / model.u_p) / sensitivity;
}

// d s / d log scale of a key: its logit but for a softcap, whose slope counts, and ALiBi, which no scale multiplies.
double by_log_scale(const RowBlock& block, std::int64_t at) {
  return block.shapes.empty() ? block.s.data()[at] : block.slope.data()[at] * block.x.data()[at];
}

}  // namespace

void SuiteScores::compute(const BlockScales& scales, const Buffer<double>& sigma_squared) {
  scales_ = &scales;
  block_ = &scales.block();
  columns_ = block_->head->dim_vo;
  const auto rows = static_cast<std::size_t>(block_->rows);
  for (auto* per_row : {&shrink_, &temperature_, &norm_, &centered_weight_, &offset_}) per_row->assign(rows, 0);
  spread_.resize(rows);
  for (std::int64_t r = 0; r < block_->rows; ++r) spread_.data()[r] = logit_spread(r);
  find_gradient();

  project(block_->o, sigma_squared);
  for (std::size_t r = 0; r < rows; ++r) {
    const double correlated = norm_[r] * correlated_shrink(scales.model(), spread_[r].deviation);
    shrink_[r] = norm_[r] + p_rounding_variance(static_cast<std::int64_t>(r)) + square(correlated);
  }
  project(gradient_, sigma_squared);
  for (std::size_t r = 0; r < rows; ++r) {
    const double correlated = norm_[r] * correlated_temperature(scales.model(), spread_[r].deviation, spread_[r].sensitivity);
    temperature_[r] = norm_[r] + p_rounding_variance(static_cast<std::int64_t>(r)) + square(correlated);
  }
}

// With a sink or a shape of the logits.
SuiteScores::LogitSpread SuiteScores::feature_spread(std::int64_t row) const {
  const auto [begin, end] = block_->visible[static_cast<std::size_t>(row)];
  const std::int64_t at = row * block_->stride;
  const double* s = block_->s.data() + at;
  const double* p = block_->p.data() + at;
  const double first = s[begin], of_sink = block_->sinks.empty() ? 0 : block_->sinks[static_cast<std::size_t>(row)].p;
  LogitSpread spread;
  double keys = 0, mean = 0, variance = 0, sensitivity = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    keys += p[k];
    mean += p[k] * (s[k] - first);
    spread.mean += p[k] * by_log_scale(*block_, at + k);
  }
  if (keys > 0) mean /= keys;
  for (std::int64_t k = begin; k < end; ++k) {
    variance += p[k] * square(s[k] - first - mean);
    sensitivity += p[k] * square(by_log_scale(*block_, at + k) - spread.mean);
  }
  spread.deviation = keys > 0 ? std::sqrt(variance / keys) : 0;
  spread.sensitivity = std::sqrt(sensitivity + of_sink * square(spread.mean));
  return spread;
}

SuiteScores::LogitSpread SuiteScores::logit_spread(std::int64_t row) const {
  if (!block_->sinks.empty() || !block_->shapes.empty()) return feature_spread(row);
  const double* s = block_->s.data() + row * block_->stride;
  const double* p = block_->p.data() + row * block_->stride;
  const std::int64_t begin = block_->visible[static_cast<std::size_t>(row)].begin, end = block_->visible[static_cast<std::size_t>(row)].end;
  const double m = block_->row_max.data()[row];
  double mean = 0, variance = 0;  // of s - m: equal logits give exactly 0
#pragma omp simd reduction(+ : mean)
  for (std::int64_t k = begin; k < end; ++k) mean += p[k] * (s[k] - m);
#pragma omp simd reduction(+ : variance)
  for (std::int64_t k = begin; k < end; ++k) variance += p[k] * square(s[k] - m - mean);
  return {m + mean, std::sqrt(variance), std::sqrt(variance)};
}

// G = sum_k p_k (s_k - mean s) v_k; the center of V drops out, and with it the cancellation.
void SuiteScores::find_gradient() {
  const HeadData& head = *block_->head;
  weights_.assign(static_cast<std::size_t>(block_->rows * block_->stride), 0.0F);
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    const double* p = block_->p.data() + r * block_->stride;
    const auto [begin, end] = block_->visible[static_cast<std::size_t>(r)];
    float* w = weights_.data() + r * block_->stride;
    for (std::int64_t k = begin; k < end; ++k) {
      w[k] = p[k] > 0 ? static_cast<float>(p[k] * (by_log_scale(*block_, r * block_->stride + k) - spread_.data()[r].mean)) : 0.0F;
    }
    centered_weight_.data()[r] = block_->sinks.empty() ? 0 : block_->sinks[static_cast<std::size_t>(r)].p * spread_.data()[r].mean;
  }
  product(*block_, weights_, head.v_centered, product_);
  gradient_.resize(static_cast<std::size_t>(block_->rows * columns_));
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double of_center = centered_weight_.data()[r] * head.center.data()[j];
      gradient_.data()[r * columns_ + j] = (product_.data()[r * head.ld + j] + of_center) * head.v_unit;
    }
  }
}

// norm_ = <g, g>_w and projection_[k] + offset_ = <x_k, g>_w, x_k = v_k, or v_k - o if the denominator is of the rounded P.
void SuiteScores::project(const Buffer<double>& direction, const Buffer<double>& sigma_squared) {
  const HeadData& head = *block_->head;
  weighted_direction_.assign(static_cast<std::size_t>(block_->rows * head.ld), 0.0F);
  projection_.resize(static_cast<std::size_t>(block_->rows * block_->stride));
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    double norm = 0, offset = 0;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * columns_ + j;
      const double weighted = direction.data()[at] / sigma_squared.data()[at];
      norm += direction.data()[at] * weighted;
      const double o = scales_->model().denominator_from_rounded_p ? block_->o.data()[at] : 0;
      offset += (head.center.data()[j] * head.v_unit - o) * weighted;
      weighted_direction_.data()[r * head.ld + j] = static_cast<float>(weighted * head.v_unit);
    }
    norm_.data()[r] = norm;
    offset_.data()[r] = offset;
  }
  const float* v = head.v_centered.data() + block_->first_key * head.ld;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(block_->rows), static_cast<int>(block_->keys),
              static_cast<int>(head.ld), 1, weighted_direction_.data(), static_cast<int>(head.ld), v, static_cast<int>(head.ld), 0,
              projection_.data(), static_cast<int>(block_->stride));
}

// As TP, with the projection in the place of v.
double SuiteScores::p_rounding_variance(std::int64_t row) {
  const double* p = block_->p.data() + row * block_->stride;
  const float* projection = projection_.data() + row * block_->stride;
  const PWeights weights = scales_->p_weights(row);
  const std::int64_t begin = block_->visible[static_cast<std::size_t>(row)].begin, end = block_->visible[static_cast<std::size_t>(row)].end;
  row_weights_.resize(static_cast<std::size_t>(block_->stride));
  double* coherent = row_weights_.data();
  const double offset = offset_.data()[row];
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t k = begin; k < end; ++k) {
    const double x = projection[k] + offset;
    sum += weights.independent(p[k]) * square(x);
    coherent[k] = weights.coherent(p[k]) * x;
  }
  return square(scales_->model().u_p) * (sum + cell_sums(scales_->p_cells(row), row_weights_.data()).excess());
}

}  // namespace plumbline
