#include "harness/reference/scales.h"

#include <cblas.h>

#include <cmath>

namespace plumbline {
namespace {

// Smaller weights could only slow the products down, by becoming subnormal numbers.
constexpr float negligible = 1e-30F;
// Of a variance: 2.5e-5 of sigma.
constexpr double negligible_share = 5e-5;
// Of the largest |v|, what weights below `negligible` may add up to: no scale is smaller, so that a column whose heavy keys all have v = 0
// is not judged by an error of 0.
constexpr double least_error = 0x1p-48;

double square(double x) { return x * x; }

double steps(std::int64_t terms, const AccumulationModel& accumulation) {
  return std::ceil(static_cast<double>(terms) / accumulation.step);
}

}  // namespace

void BlockScales::compute(const RowBlock& block) {
  set_shape(block);
  find_logit_errors();
  find_p_cells();
  prefix_ranges(block, p_, range_);
  p_rounding();
  logit_error();
  s_rounding();
  exp2_error();
  accumulation();
  split_partials();
  find_worst_case();
  for (std::int64_t r = 0; r < rows_; ++r) lse_error(r);
  use_units_of_v();
}

double BlockScales::variance(Rounding rounding, std::int64_t row, std::int64_t column) const {
  return variance_[static_cast<std::size_t>(rounding)].data()[row * ld_ + column];
}

double BlockScales::variance(std::int64_t row, std::int64_t column) const {
  double sum = 0;
  for (const auto& part : variance_) sum += part.data()[row * ld_ + column];
  return sum;
}

PWeights BlockScales::p_weights(std::int64_t row) const {
  return {model_.eta_p / block_->total[static_cast<std::size_t>(row)] / model_.u_p, 1 / model_.u_p};
}

double BlockScales::o(std::int64_t row, std::int64_t column) const {
  return block_->o.data()[row * columns_ + column] / block_->head->v_unit;
}

void BlockScales::set_shape(const RowBlock& block) {
  block_ = &block;
  rows_ = block.rows;
  columns_ = block.head->dim_vo;
  stride_ = block.stride;
  ld_ = block.head->ld;
  for (auto& part : variance_) part.assign(static_cast<std::size_t>(rows_ * ld_), 0);
  worst_case_.assign(static_cast<std::size_t>(rows_ * ld_), 0);
  for (auto* per_key : {&p_, &sd_, &weights_, &qk_squared_}) per_key->resize(static_cast<std::size_t>(rows_ * stride_));
  for (auto* per_row : {&lse_variance_, &sd_max_, &mean_bias_, &mean_sd_}) per_row->assign(static_cast<std::size_t>(rows_), 0);
  p_cells_.resize(static_cast<std::size_t>(rows_));
  row_weights_.resize(static_cast<std::size_t>(stride_));
  row_weights32_.resize(static_cast<std::size_t>(stride_));
  for (auto* per_column : {&shift_.high, &shift_.low, &coherent_, &independent_}) per_column->assign(static_cast<std::size_t>(ld_), 0);
}

template <class Weight>
void BlockScales::set_weights(Weight weight) {
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto [begin, end] = visible(r);
    float* row = weights_.data() + r * stride_;
    std::fill(row, row + begin, 0.0F);
    std::fill(row + end, row + stride_, 0.0F);
    const auto of_key = weight(r);
    for (std::int64_t k = begin; k < end; ++k) {
      const auto w = static_cast<float>(of_key(k));
      row[k] = w < negligible ? 0.0F : w;
    }
  }
}

template <class Weight>
void BlockScales::set_row_weights(std::int64_t row, Weight weight) {
  const auto [begin, end] = visible(row);
  for (std::int64_t k = begin; k < end; ++k) {
    row_weights_.data()[k] = weight(k);
    row_weights32_.data()[k] = static_cast<float>(row_weights_.data()[k]);
  }
}

// Independent (sd_k) and systematic (beta_k) error of the logits from Q K^T and from the argument of exp, in fp32.
void BlockScales::find_logit_errors() {
  const HeadData& head = *block_->head;
  q_squared_.resize(static_cast<std::size_t>(rows_ * head.dim_qk));
  std::transform(block_->q.begin(), block_->q.end(), q_squared_.begin(), [](double q) { return static_cast<float>(q * q); });
  const auto rows = static_cast<int>(rows_), keys = static_cast<int>(block_->keys), dims = static_cast<int>(head.dim_qk);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dims, 1, q_squared_.data(), dims,
              head.k_squared.data() + block_->first_key * dims, dims, 0, qk_squared_.data(), static_cast<int>(stride_));
  for (std::int64_t r = 0; r < rows_; ++r) find_logit_errors(r);
}

void BlockScales::find_logit_errors(std::int64_t row) {
  const auto [begin, end] = visible(row);
  const double* s = block_->s.data() + row * stride_;
  const double* p = block_->p.data() + row * stride_;
  const float* qk_squared = qk_squared_.data() + row * stride_;
  float* p32 = p_.data() + row * stride_;
  float* sd = sd_.data() + row * stride_;
  std::fill(p32, p32 + begin, 0.0F);
  std::fill(p32 + end, p32 + stride_, 0.0F);

  const AccumulationModel& qk = model_.qk;
  const auto dims = static_cast<double>(block_->head->dim_qk);
  const auto c = static_cast<float>(block_->scale);  // d s / d (q . k); a softcap would multiply its slope here
  const auto nearest = static_cast<float>(0.5 * std::sqrt(dims) * qk.u), of_s = static_cast<float>(4 * qk.u);
  const auto rounding_of_exp = static_cast<float>(u32);
  const bool truncates = qk.toward_zero;
  const auto drift = static_cast<float>(qk.f * std::sqrt(dims) / 6),
             drift_out = static_cast<float>(steps(block_->head->dim_qk, qk) * qk.f_out / 12);
  const auto spread = static_cast<float>(qk.f * qk.f * dims / 6);

  double bias = 0, mean = 0;
  float largest = 0;
#pragma omp simd reduction(+ : bias, mean) reduction(max : largest)
  for (std::int64_t k = begin; k < end; ++k) {
    const auto magnitude = static_cast<float>(std::abs(s[k]));  // |c raw_k|
    const float norm = c * std::sqrt(qk_squared[k]);            // c sqrt(n2_k)
    const float e0 = nearest * norm + of_s * magnitude + rounding_of_exp;
    const float m = truncates ? magnitude + norm : 0.0F;
    const float beta = norm > 0 ? m * (drift * magnitude / norm + drift_out) : 0.0F;
    const float total = std::sqrt(e0 * e0 + beta * beta + m * m * spread);
    const auto weight = static_cast<float>(p[k]);
    p32[k] = weight < negligible ? 0.0F : weight;
    sd[k] = total;
    bias += p[k] * beta;
    mean += p[k] * total;
    largest = std::max(largest, total);
  }
  mean_bias_.data()[row] = bias;
  mean_sd_.data()[row] = mean;
  sd_max_.data()[row] = largest;
}

void BlockScales::find_p_cells() {
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto [begin, end] = visible(r);
    const double* p = block_->p.data() + r * stride_;
    const double total = block_->total.data()[r];
    labels_.resize(static_cast<std::size_t>(end - begin));
    for (std::int64_t k = begin; k < end; ++k) labels_.data()[k - begin] = p_cell(p[k] * total, model_);
    cell_builder_.build(labels_, begin, KeepCells::multi_key, p_cells_[static_cast<std::size_t>(r)]);
  }
}

void BlockScales::find_s_cells(std::int64_t row) {
  const auto [begin, end] = visible(row);
  const double* s = block_->s.data() + row * stride_;
  labels_.resize(static_cast<std::size_t>(end - begin));
  for (std::int64_t k = begin; k < end; ++k) labels_.data()[k - begin] = s_cell(s[k], model_);
  cell_builder_.build(labels_, begin, KeepCells::all, s_cells_);
}

void BlockScales::find_phases(std::int64_t row) {
  const auto [begin, end] = visible(row);
  const double* s = block_->s.data() + row * stride_;
  labels_.resize(static_cast<std::size_t>(end - begin));
  for (std::int64_t k = begin; k < end; ++k) labels_.data()[k - begin] = exp2_phase(s[k] - block_->row_max.data()[row]);
  cell_builder_.build(labels_, begin, KeepCells::all, phases_);
}

// coherent_ and independent_ of the row's weights over V, or over V - O.
void BlockScales::cell_columns(const Cells& cells, std::int64_t row, bool about_o) {
  const HeadData& head = *block_->head;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double shift = about_o ? o(row, j) : 0;
    shift_.high.data()[j] = static_cast<float>(shift);
    shift_.low.data()[j] = static_cast<float>(shift - shift_.high.data()[j]);
  }
  cell_moments(cells, row_weights32_.data(), head.v32.data() + block_->first_key * ld_, ld_, shift_, coherent_.data(), independent_.data());
}

// Whether the excess of the row's weights over V - O is far below the error of P's rounding in every column, |v - o| <= max |v| + |o|.
bool BlockScales::cell_excess_is_negligible(std::int64_t row, double unit_squared) const {
  const double coherent = unit_squared * cell_sums(p_cells(row), row_weights_.data()).coherent;
  const double* p_variance = variance_[static_cast<std::size_t>(Rounding::p)].data() + row * ld_;
  for (std::int64_t j = 0; j < columns_; ++j) {
    if (!(coherent * square(block_->head->column_max.data()[j] + std::abs(o(row, j))) <= negligible_share * p_variance[j])) return false;
  }
  return true;
}

// What sharing a rounding adds to the independent sum; negative sums (errors that cancel) are not relied on.
void BlockScales::add_cell_excess(std::int64_t row, double unit_squared, bool about_o, Rounding rounding) {
  const Cells& cells = p_cells(row);
  cell_columns(cells, row, about_o);
  double* result = of(rounding).data() + row * ld_;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double excess = static_cast<double>(coherent_.data()[j]) - independent_.data()[j];
    if (!(excess <= 0)) result[j] += unit_squared * excess;
  }
}

// TP. With a denominator from the rounded P the weights sum to 1, and only v - o carries error.
void BlockScales::p_rounding() {
  const HeadData& head = *block_->head;
  const bool about_o = model_.denominator_from_rounded_p;
  set_weights([&](std::int64_t r) { return [p = p_.data() + r * stride_](std::int64_t k) { return p[k] * p[k]; }; });
  product(*block_, weights_, head.v_squared, p_squared_moment_);

  Buffer<double>& result = of(Rounding::p);
  const double unit_squared = square(model_.u_p);
  if (!about_o && model_.eta_p == 0) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = unit_squared * kappa * p_squared_moment_[i];
  } else {
    set_weights([&](std::int64_t r) {
      return [p = block_->p.data() + r * stride_, weights = p_weights(r)](std::int64_t k) { return weights.independent(p[k]); };
    });
    if (about_o) {
      centered_moment_.compute(*block_, weights_, result);
      for (double& variance : result) variance *= unit_squared;
    } else {
      product(*block_, weights_, head.v_squared, first_);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = unit_squared * first_[i];
    }
  }
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (p_cells(r).empty()) continue;
    const double* p = block_->p.data() + r * stride_;
    set_row_weights(r, [p, weights = p_weights(r)](std::int64_t k) { return weights.coherent(p[k]); });
    add_cell_excess(r, unit_squared, about_o, Rounding::p);
  }
}

// TL
void BlockScales::logit_error() {
  const auto relative_error = [&](std::int64_t r) {
    return [p = p_.data() + r * stride_, sd = sd_.data() + r * stride_, scale = static_cast<float>(1 / sd_max_.data()[r])](std::int64_t k) {
      return p[k] * (sd[k] * scale);
    };
  };
  set_weights([&](std::int64_t r) { return [error = relative_error(r)](std::int64_t k) { return error(k) * error(k); }; });
  Buffer<double>& result = of(Rounding::logit);
  centered_moment_.compute(*block_, weights_, result);
  for (std::int64_t r = 0; r < rows_; ++r) {
    const double unit_squared = square(sd_max_.data()[r]);
    for (std::int64_t j = 0; j < ld_; ++j) result.data()[r * ld_ + j] *= unit_squared;
    if (p_cells(r).empty()) continue;
    set_row_weights(r, relative_error(r));
    if (cell_excess_is_negligible(r, unit_squared)) continue;
    add_cell_excess(r, unit_squared, true, Rounding::logit);
  }
}

// TS
void BlockScales::s_rounding() {
  if (model_.u_s == 0) return;
  const double unit_squared = kappa_coherent * square(model_.u_s);
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_s_cells(r);
    set_row_weights(
        r, [p = block_->p.data() + r * stride_, s = block_->s.data() + r * stride_](std::int64_t k) { return p[k] * std::abs(s[k]); });
    cell_columns(s_cells_, r, true);
    double* result = of(Rounding::s).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      result[j] = unit_squared * std::max<double>(coherent_.data()[j], independent_.data()[j]);
    }
  }
}

// TE
void BlockScales::exp2_error() {
  if (model_.exp2_error == 0) return;
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_phases(r);
    set_row_weights(r, [p = block_->p.data() + r * stride_](std::int64_t k) { return p[k]; });
    cell_columns(phases_, r, true);
    double* result = of(Rounding::exp2).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) result[j] = square(model_.exp2_error) / 2 * coherent_.data()[j];
  }
}

// TA
void BlockScales::accumulation() {
  const AccumulationModel& pv = model_.pv;
  if (pv.toward_zero) truncation_sums(*block_, p_, range_, static_cast<float>(pv.f), first_, second_);
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto n = static_cast<double>(visible(r).size());
    const auto tied_keys = static_cast<double>(p_cells(r).keys.size());
    const double step_loss = steps(visible(r).size(), pv) * pv.f_out / 2;
    double* result = of(Rounding::accumulation).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double range = range_.data()[at];
      result[j] = square(pv.u) * (n / 3 + 4) * (0.3 * square(o(r, j)) + p_squared_moment_.data()[at]) +
                  square(0.3 * pv.u * tied_keys * range) + square(least_error);
      if (!pv.toward_zero) continue;
      const double drift = (std::abs(first_.data()[at]) / 2 + step_loss * range) / 3;
      result[j] += square(drift) + second_.data()[at] / 6.0;
    }
  }
}

// TR
void BlockScales::split_partials() {
  if (model_.u_split == 0) return;
  const double near_zero = square(model_.eta_split / block_->head->v_unit) / 3;
  for (std::int64_t r = 0; r < rows_; ++r) {
    double* result = of(Rounding::split_partials).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double partial = std::max(square(range_.data()[at]), square(o(r, j)) + p_squared_moment_.data()[at]);
      result[j] = kappa * square(model_.u_split) * partial + near_zero;
    }
  }
}

// Every rounding at its largest and all of one sign, |v - o| <= |v| + |o|. Logit errors enter with their standard deviation.
void BlockScales::find_worst_case() {
  const auto of_logit = [&](std::int64_t r) {
    return [this, s = block_->s.data() + r * stride_, sd = sd_.data() + r * stride_](std::int64_t k) {
      return sd[k] + model_.u_s * std::abs(s[k]) + model_.exp2_error;
    };
  };
  const auto of_product = [&](std::int64_t r) {
    const auto n = visible(r).size();
    const double truncation = model_.pv.toward_zero ? steps(n, model_.pv) * model_.pv.f_out : 0;
    return model_.u_p + model_.pv.u * std::sqrt(static_cast<double>(n)) + truncation + model_.u_split;
  };
  set_weights([&](std::int64_t r) {
    return [this, p = block_->p.data() + r * stride_, relative = of_product(r), error = of_logit(r),
            weights = p_weights(r)](std::int64_t k) { return p[k] * (relative + error(k)) + model_.u_p * weights.near_zero(p[k]); };
  });
  product(*block_, weights_, block_->head->v_abs, first_);
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto error = of_logit(r);
    const PWeights weights = p_weights(r);
    const double* p = block_->p.data() + r * stride_;
    double of_o = model_.denominator_from_rounded_p ? model_.u_p : 0;
    for (std::int64_t k = visible(r).begin; k < visible(r).end; ++k) {
      of_o += p[k] * error(k) + (model_.denominator_from_rounded_p ? model_.u_p * weights.near_zero(p[k]) : 0);
    }
    for (std::int64_t j = 0; j < columns_; ++j) {
      worst_case_.data()[r * ld_ + j] = first_.data()[r * ld_ + j] + std::abs(o(r, j)) * of_o + model_.eta_split / block_->head->v_unit;
    }
  }
}

void BlockScales::lse_error(std::int64_t row) {
  const double* p = block_->p.data() + row * stride_;
  const double* s = block_->s.data() + row * stride_;
  const float* sd = sd_.data() + row * stride_;
  const auto [begin, end] = visible(row);
  const auto sum_of_squares = [&, first = begin, last = end] {
    double sum = 0;
    for (std::int64_t k = first; k < last; ++k) sum += square(row_weights_.data()[k]);
    return sum;
  };
  const double n = static_cast<double>(end - begin);

  set_row_weights(row, [=](std::int64_t k) { return p[k] * sd[k]; });
  double variance = sum_of_squares() + cell_sums(p_cells(row), row_weights_.data()).excess();
  variance += square(mean_bias_.data()[row]);
  variance += square(u32 * (4 + std::abs(block_->lse.data()[row]) + 2 * std::sqrt(n)));
  if (model_.u_s > 0) {
    find_s_cells(row);
    set_row_weights(row, [=](std::int64_t k) { return p[k] * std::abs(s[k]); });
    const CellSums sums = cell_sums(s_cells_, row_weights_.data());
    variance += kappa_coherent * square(model_.u_s) * std::max(sums.coherent, sums.independent);
  }
  if (model_.exp2_error > 0) {
    find_phases(row);
    set_row_weights(row, [=](std::int64_t k) { return p[k]; });
    variance += square(model_.exp2_error) / 2 * cell_sums(phases_, row_weights_.data()).coherent;
  }
  if (model_.denominator_from_rounded_p) {
    set_row_weights(row, [=, weights = p_weights(row)](std::int64_t k) { return weights.coherent(p[k]); });
    const CellSums sums = cell_sums(p_cells(row), row_weights_.data());
    variance += square(model_.u_p) * (sum_of_squares() - sums.independent + sums.coherent);
  }
  lse_variance_.data()[row] = variance;
}

void BlockScales::use_units_of_v() {
  const double unit = block_->head->v_unit;
  for (auto& part : variance_) {
    for (double& variance : part) variance *= unit * unit;
  }
  for (double& bound : worst_case_) bound *= unit;
}

}  // namespace plumbline
