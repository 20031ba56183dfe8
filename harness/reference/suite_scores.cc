// Computes each row's gradient G and its variances of shrink and temperature. Projections of V give
// the part from the rounding of P.
#include "harness/reference/suite_scores.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

// Negative sums, from errors that cancel, count as 0. NaN stays.
double cell_excess(const Cells& cells, const std::vector<double>& tied) {
  const double excess = 2 * pairs_in_cells(cells, tied.data());
  return excess <= 0 ? 0 : excess;
}

// The correlated part c of P's rounding, relative to O and to G. It exists because P values of
// near-uniform logits are in one or two rounding cells. Fitted to simulated kernels.
double correlated_shrink(const Model& model, double deviation) {
  return 4 * u32 + 0.6 * model.u_p / (1 + deviation / model.u_p);
}
double correlated_temperature(const Model& model, double deviation, double sensitivity) {
  if (sensitivity == 0) return 0;  // equal logits: G is 0
  return 0.3 * model.u_p / (1 + deviation / model.u_p) / sensitivity;
}

// Long rows that are projected together. Their projections, for up to 8k keys, stay in the L2 cache
// until they are used.
constexpr std::int64_t max_projected_rows = 16;

}  // namespace

void SuiteScores::start(const BoundedScales& scales) {
  scales_ = &scales;
  block_ = &scales.block();
  columns_ = block_->head->dim_vo;
  rounds_ = block_->is_long(0) && !block_->head->v_transposed.empty();
  const auto rows = static_cast<std::size_t>(block_->rows);
  for (auto* per_row : {&shrink_, &temperature_, &centered_weight_}) per_row->resize(rows);
  spread_.resize(rows);
  weights_.resize(rows * static_cast<std::size_t>(block_->stride));
}

void SuiteScores::add_row(std::int64_t row) {
  spread_.data()[row] = logit_spread(row);
  weigh_gradient(row);
}

void SuiteScores::finish(const Buffer<double>& sigma_squared) {
  find_gradient();
  const std::int64_t rows_together = rounds_ ? max_projected_rows : block_->rows;
  for (std::int64_t first = 0; first < block_->rows; first += rows_together) {
    const std::int64_t rows = std::min(rows_together, block_->rows - first);
    set_directions(sigma_squared, {first, first + rows});
    project();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t r = first + i;
      const BothVariances rounding = p_rounding_variances(r, i);
      const auto [mean, deviation, sensitivity] = spread_.data()[r];
      const double of_o = directions_.data()[i].norm,
                   of_gradient = directions_.data()[rows + i].norm;
      shrink_.data()[r] =
          of_o + rounding.of_o + square(of_o * correlated_shrink(scales_->model(), deviation));
      temperature_.data()[r] =
          of_gradient + rounding.of_gradient +
          square(of_gradient * correlated_temperature(scales_->model(), deviation, sensitivity));
    }
  }
}

// Returns logit_spread() of a row that has a sink or shaped logits.
SuiteScores::LogitSpread SuiteScores::feature_spread(std::int64_t row) const {
  const auto [begin, end] = block_->keys_of(row);
  const std::int64_t at = row * block_->stride;
  const double* s = block_->s.data() + at;
  const double* p = block_->p.data() + at;
  const double first = s[begin], of_sink = block_->sink(row) == nullptr ? 0 : block_->sink(row)->p;
  LogitSpread spread;
  double keys = 0, mean = 0, variance = 0, sensitivity = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    keys += p[k];
    mean += p[k] * (s[k] - first);
    spread.mean += p[k] * block_->by_log_scale(at + k);
  }
  if (keys > 0) mean /= keys;
  for (std::int64_t k = begin; k < end; ++k) {
    variance += p[k] * square(s[k] - first - mean);
    sensitivity += p[k] * square(block_->by_log_scale(at + k) - spread.mean);
  }
  spread.deviation = keys > 0 ? std::sqrt(variance / keys) : 0;
  spread.sensitivity = std::sqrt(sensitivity + of_sink * square(spread.mean));
  return spread;
}

SuiteScores::LogitSpread SuiteScores::logit_spread(std::int64_t row) const {
  if (!block_->sinks.empty() || !block_->shapes.empty()) return feature_spread(row);
  const double* s = block_->s.data() + row * block_->stride;
  const double* p = block_->p.data() + row * block_->stride;
  const std::int64_t begin = block_->keys_of(row).begin, end = block_->keys_of(row).end;
  const double m = block_->row_max.data()[row];
  // Uses s - m, so that equal logits give exactly 0. The key with s = m has a p of at least 1 / n,
  // so the variance is at least mean^2 / n, and squares - mean^2 loses no more digits than n has.
  double mean = 0, squares = 0;
#pragma omp simd reduction(+ : mean, squares)
  for (std::int64_t k = begin; k < end; ++k) {
    const double below = s[k] - m;
    mean += p[k] * below;
    squares += p[k] * below * below;
  }
  const double variance = squares - square(mean),
               deviation = variance < 0 ? 0 : std::sqrt(variance);
  return {m + mean, deviation, deviation};
}

// Sets the weights p_k (g_k - mean g), with g_k = d s_k / d log scale.
void SuiteScores::weigh_gradient(std::int64_t row) {
  const std::int64_t first = row * block_->stride;
  const double *p = block_->p.data() + first, *s = block_->s.data() + first,
               mean = spread_.data()[row].mean;
  const auto [begin, end] = block_->keys_of(row);
  float* w = weights_.data() + first;
  std::fill(w, w + begin, 0.0F);
  std::fill(w + end, w + block_->stride, 0.0F);
  if (block_->shapes.empty()) {
    for (std::int64_t k = begin; k < end; ++k)
      w[k] = p[k] > 0 ? static_cast<float>(p[k] * (s[k] - mean)) : 0.0F;
  } else {
    for (std::int64_t k = begin; k < end; ++k) {
      w[k] = p[k] > 0 ? static_cast<float>(p[k] * (block_->by_log_scale(first + k) - mean)) : 0.0F;
    }
  }
  centered_weight_.data()[row] = block_->sink(row) == nullptr ? 0 : block_->sink(row)->p * mean;
}

// Computes G = sum_k p_k (g_k - mean g) v_k. Subtracts the center of V to avoid cancellation. Only
// with a sink does the center contribute to G, because otherwise the weights sum to 0.
void SuiteScores::find_gradient() {
  const HeadData& head = *block_->head;
  product(*block_, weights_, head.v_centered, product_);
  gradient_.resize(static_cast<std::size_t>(block_->rows * columns_));
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double of_center = centered_weight_.data()[r] * head.center.data()[j];
      gradient_.data()[r * columns_ + j] =
          (product_.data()[r * head.ld + j] + of_center) * head.v_unit;
    }
  }
}

void SuiteScores::set_directions(const Buffer<double>& sigma_squared, KeyRange rows) {
  directions_.resize(static_cast<std::size_t>(2 * rows.size()));
  weighted_direction_.assign(static_cast<std::size_t>(2 * rows.size() * block_->head->ld), 0.0F);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t at = r - rows.begin, first = r * columns_;
    const double *o = block_->o.data() + first, *of_row = sigma_squared.data() + first;
    set_direction(at, o, o, of_row);
    set_direction(rows.size() + at, gradient_.data() + first, o, of_row);
  }
}

void SuiteScores::set_direction(std::int64_t at, const double* direction, const double* o,
                                const double* sigma_squared) {
  const HeadData& head = *block_->head;
  const bool about_o = scales_->model().denominator_from_rounded_p;
  float* result = weighted_direction_.data() + at * head.ld;
  double norm = 0, offset = 0;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double weighted = direction[j] / sigma_squared[j];
    norm += direction[j] * weighted;
    if (!rounds_) offset += (head.center.data()[j] * head.v_unit - (about_o ? o[j] : 0)) * weighted;
    result[j] = static_cast<float>(weighted * head.v_unit);
  }
  directions_.data()[at] = {norm, offset};
}

// Computes projection_[k] + offset = <x_k, g>_w, with x_k = v_k, or v_k - o if the denominator sums
// the rounded P.
void SuiteScores::project() { rounds_ ? project_rounded() : project_centered(); }

void SuiteScores::set_projection(std::int64_t stride, std::int64_t first_key) {
  projection_stride_ = stride;
  first_projected_ = first_key;
  projection_.resize(directions_.size() * static_cast<std::size_t>(stride));
}

void SuiteScores::project_centered() {
  const HeadData& head = *block_->head;
  set_projection(block_->stride, 0);
  const float* v = head.v_centered.data() + block_->first_key * head.ld;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(directions_.size()),
              static_cast<int>(block_->keys), static_cast<int>(head.ld), 1,
              weighted_direction_.data(), static_cast<int>(head.ld), v, static_cast<int>(head.ld),
              0, projection_.data(), static_cast<int>(projection_stride_));
}

// V is not centered here, because centered values are not exact in bf16. If sigma_j is small
// because v_kj is small, the rounding errors of centered values would not be small.
void SuiteScores::project_rounded() {
  const HeadData& head = *block_->head;
  constexpr std::int64_t panel = Bf16Matrix::panel;
  const std::int64_t first_key = block_->first_key;
  const KeyRange keys{first_key / panel * panel, round_up(first_key + block_->keys, panel)};
  set_projection(keys.size(), first_key - keys.begin);
  rounded_direction_.resize(weighted_direction_.size());
  encode(DType::bf16, weighted_direction_, rounded_direction_.data());
  head.v_transposed.multiply(rounded_direction_.data(),
                             static_cast<std::int64_t>(directions_.size()), head.ld, keys,
                             projection_.data(), projection_stride_);
}

// Like TP, with the projections in the place of v.
SuiteScores::BothVariances SuiteScores::p_rounding_variances(std::int64_t row,
                                                             std::int64_t direction) {
  const std::int64_t of_gradient = direction + static_cast<std::int64_t>(directions_.size()) / 2;
  const double* p = block_->p.data() + row * block_->stride;
  const float* on_o = projection_.data() + direction * projection_stride_ + first_projected_;
  const float* on_gradient =
      projection_.data() + of_gradient * projection_stride_ + first_projected_;
  const double offset_o = directions_.data()[direction].offset,
               offset_gradient = directions_.data()[of_gradient].offset;
  const Model& model = scales_->model();
  const RowRounding& rounding = scales_->rounding(row);
  const PWeights weights = p_weights(model, block_->total.data()[row], rounding);
  const double unit_squared = square(model.u_p);
  const float* errors = model.p_normalized ? rounding.errors.data() : nullptr;
  const std::int64_t begin = block_->keys_of(row).begin, end = block_->keys_of(row).end;
  double sum_o = 0, sum_gradient = 0, mean_o = 0, mean_gradient = 0;
  const auto add_up = [&](auto weight_of) {
#pragma omp simd reduction(+ : sum_o, sum_gradient)
    for (std::int64_t k = begin; k < end; ++k) {
      const double weight = weight_of(k), x = on_o[k] + offset_o,
                   y = on_gradient[k] + offset_gradient;
      sum_o += weight * (x * x);
      sum_gradient += weight * (y * y);
    }
  };
  if (errors != nullptr) {
    add_up(
        [&](std::int64_t k) { return normalized_variance(model, p[k], errors[k]) / unit_squared; });
  } else if (weights.is_plain()) {
    add_up([p, weights](std::int64_t k) { return weights.plain(p[k]); });
  } else {
    add_up([&](std::int64_t k) { return weights.independent(p[k]); });
  }
  // variance in units of o_j^2, because P is truncated or does not sum to 1
  const double of_all = square(truncated_share(model)) + rounding.sum_variance;
  for (std::int64_t k = begin; of_all > 0 && k < end; ++k) {
    mean_o += p[k] * (on_o[k] + offset_o);
    mean_gradient += p[k] * (on_gradient[k] + offset_gradient);
  }
  if (model.p_stochastic) return {unit_squared * sum_o, unit_squared * sum_gradient};
  const Cells& cells = scales_->p_cells(row);
  for (auto* tied : {&tied_of_o_, &tied_of_gradient_}) tied->resize(cells.keys.size());
  for (std::size_t i = 0; i < cells.keys.size(); ++i) {
    const std::int32_t k = cells.keys.data()[i];
    const double weight =
        errors == nullptr ? weights.coherent(p[k]) : double{errors[k]} / model.u_p;
    tied_of_o_.data()[i] = weight * (on_o[k] + offset_o);
    tied_of_gradient_.data()[i] = weight * (on_gradient[k] + offset_gradient);
  }
  return {unit_squared * (sum_o + cell_excess(cells, tied_of_o_)) + of_all * square(mean_o),
          unit_squared * (sum_gradient + cell_excess(cells, tied_of_gradient_)) +
              of_all * square(mean_gradient)};
}

}  // namespace plumbline
