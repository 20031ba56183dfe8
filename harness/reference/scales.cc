#include "harness/reference/scales.h"

#include <cblas.h>

#include <cmath>

#include "harness/reference/logit_error.h"

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

// Nothing of a hidden key's product may reach the error of its logit.
void hide_products(const RowBlock& block, std::int64_t row, Weights& products) {
  if (block.seen.empty()) return;
  const auto r = static_cast<std::size_t>(row);
  float* of_row = products.data() + row * block.stride;
  std::int64_t next = block.visible[r].begin;
  for (const std::int32_t k : block.seen[r]) {
    std::fill(of_row + next, of_row + k, 0.0F);
    next = k + 1;
  }
}

}  // namespace

void BlockScales::compute(const RowBlock& block) {
  set_shape(block);
  find_logit_errors();
  find_p_cells();
  prefix_ranges(block, p_, range_);
  p_rounding();
  logit_error();
  sink_error();
  s_rounding();
  tanh_error();
  exp2_error();
  accumulation();
  split_partials();
  for (std::int64_t r = 0; r < rows_; ++r) lse_error(r);
  find_worst_case();
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
  // Parts that are no rounding of the spec stay 0; the others are written whole.
  for (auto& part : variance_) part.resize(static_cast<std::size_t>(rows_ * ld_));
  worst_case_.resize(static_cast<std::size_t>(rows_ * ld_));
  for (auto* per_key : {&p_, &sd_, &weights_, &qk_squared_}) per_key->resize(static_cast<std::size_t>(rows_ * stride_));
  for (auto* per_row : {&lse_variance_, &sd_max_, &mean_bias_}) per_row->assign(static_cast<std::size_t>(rows_), 0);
  p_cells_.resize(static_cast<std::size_t>(rows_));
  row_weights_.resize(static_cast<std::size_t>(stride_ + 1));
  row_weights32_.resize(static_cast<std::size_t>(stride_ + 1));
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

void BlockScales::set_sink_weight(double weight) {
  row_weights_[static_cast<std::size_t>(sink_key())] = weight;
  row_weights32_[static_cast<std::size_t>(sink_key())] = static_cast<float>(weight);
}

double BlockScales::sum_of_squares(std::int64_t row) const {
  const auto [begin, end] = visible(row);
  double sum = 0;
  for (std::int64_t k = begin; k < end; ++k) sum += square(row_weights_.data()[k]);
  return sum;
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
  const std::int64_t begin = visible(row).begin, end = visible(row).end;
  const double* s = block_->s.data() + row * stride_;
  const double* p = block_->p.data() + row * stride_;
  float* p32 = p_.data() + row * stride_;
  float* sd = sd_.data() + row * stride_;
  std::fill(p32, p32 + begin, 0.0F);
  std::fill(p32 + end, p32 + stride_, 0.0F);
  hide_products(*block_, row, qk_squared_);

  const LogitError error(model_, *block_);
  const float* qk_squared = qk_squared_.data() + row * stride_;
  double bias = 0;
  float largest = 0;
  const auto find = [&](auto at) {
#pragma omp simd reduction(+ : bias) reduction(max : largest)
    for (std::int64_t k = begin; k < end; ++k) {
      const LogitSizes sizes = at(k);
      const float beta = error.beta(sizes, qk_squared[k]), total = error.sd(sizes, qk_squared[k], beta);
      const auto weight = static_cast<float>(p[k]);
      p32[k] = weight < negligible ? 0.0F : weight;
      sd[k] = total;
      bias += p[k] * beta;
      largest = std::max(largest, total);
    }
  };
  if (block_->shapes.empty()) {
    find([=](std::int64_t k) { return plain_sizes(s[k]); });
  } else {
    find([this, at = row * stride_](std::int64_t k) { return shaped_sizes(*block_, at + k); });
  }
  mean_bias_.data()[row] = bias;
  sd_max_.data()[row] = largest;
}

template <class Label>
void BlockScales::build_cells(std::int64_t row, KeepCells keep, Cells& cells, Label label, std::optional<std::uint64_t> of_sink) {
  const auto [begin, end] = visible(row);
  if (block_->seen.empty()) {
    labels_.resize(static_cast<std::size_t>(end - begin));
    for (std::int64_t k = begin; k < end; ++k) labels_.data()[k - begin] = label(k);
    if (!of_sink) return cell_builder_.build(labels_, begin, keep, cells);
  } else {
    labels_.clear();
    for (const std::int32_t k : block_->seen[static_cast<std::size_t>(row)]) labels_.push_back(label(k));
  }
  const std::size_t keys = labels_.size();
  if (of_sink) labels_.push_back(*of_sink);
  cell_builder_.build(labels_, 0, keep, cells);
  for (std::int32_t& key : cells.keys) {
    const auto at = static_cast<std::size_t>(key);
    if (at == keys) {
      key = static_cast<std::int32_t>(sink_key());
    } else {
      key = block_->seen.empty() ? key + static_cast<std::int32_t>(begin) : block_->seen[static_cast<std::size_t>(row)][at];
    }
  }
}

void BlockScales::find_p_cells() {
  for (std::int64_t r = 0; r < rows_; ++r) {
    Cells& cells = p_cells_[static_cast<std::size_t>(r)];
    if (model_.u_s > 0) {
      const double* s = block_->s.data() + r * stride_;
      const double m = block_->row_max.data()[r];
      build_cells(r, KeepCells::multi_key, cells, [&](std::int64_t k) { return p_cell(t_of_rounded(s[k], m, model_), model_); });
      continue;
    }
    const double* p = block_->p.data() + r * stride_;
    const double total = block_->total.data()[r];
    build_cells(r, KeepCells::multi_key, cells, [&](std::int64_t k) { return p_cell(p[k] * total, model_); });
  }
}

void BlockScales::find_s_cells(std::int64_t row, const Sink* sink) {
  const double* s = block_->s.data() + row * stride_;
  const auto of_sink = sink != nullptr ? std::optional(s_cell(sink->s, model_)) : std::nullopt;
  build_cells(
      row, KeepCells::all, s_cells_, [&](std::int64_t k) { return s_cell(s[k], model_); }, of_sink);
}

void BlockScales::find_tanh_cells(std::int64_t row) {
  const double* x = block_->x.data() + row * stride_;
  const double cap = block_->shapes[static_cast<std::size_t>(row)].cap;
  build_cells(row, KeepCells::all, tanh_cells_, [&](std::int64_t k) { return tanh_cell(x[k] / cap); });
}

void BlockScales::find_phases(std::int64_t row, const Sink* sink) {
  const double* s = block_->s.data() + row * stride_;
  const double m = block_->row_max.data()[row];
  const auto of_sink = sink != nullptr ? std::optional(exp2_phase(sink->s - m)) : std::nullopt;
  build_cells(
      row, KeepCells::all, phases_, [&](std::int64_t k) { return exp2_phase(s[k] - m); }, of_sink);
}

// coherent_ and independent_ of the row's weights over V, or over V - O.
void BlockScales::cell_columns(const Cells& cells, std::int64_t row, bool about_o) {
  const HeadData& head = *block_->head;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double shift = about_o ? o(row, j) : 0;
    shift_.high.data()[j] = static_cast<float>(shift);
    shift_.low.data()[j] = static_cast<float>(shift - shift_.high.data()[j]);
  }
  cell_moments(cells, row_weights32_.data(), head.v32.data() + block_->first_key * ld_, ld_, sink_key(), shift_, coherent_.data(),
               independent_.data());
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

// TL of the sink, whose v is 0.
void BlockScales::sink_error() {
  for (std::int64_t r = 0; r < rows_ && !block_->sinks.empty(); ++r) {
    const double error = sink(r)->p * sink_sd(*sink(r));
    double* result = of(Rounding::logit).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) result[j] += square(error * o(r, j));
  }
}

// TS
void BlockScales::s_rounding() {
  if (model_.u_s == 0) return;
  const double unit_squared = kappa_coherent * square(model_.u_s);
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_s_cells(r, sink(r));
    set_row_weights(
        r, [p = block_->p.data() + r * stride_, s = block_->s.data() + r * stride_](std::int64_t k) { return p[k] * std::abs(s[k]); });
    if (sink(r) != nullptr) set_sink_weight(sink(r)->p * std::abs(sink(r)->s));
    cell_columns(s_cells_, r, true);
    double* result = of(Rounding::s).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      result[j] = unit_squared * std::max<double>(coherent_.data()[j], independent_.data()[j]);
    }
  }
}

// TS of the softcap's tanh.
void BlockScales::tanh_error() {
  if (!has_tanh_error()) return;
  const double unit_squared = kappa_coherent * square(model_.tanh_error);
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_tanh_cells(r);
    set_row_weights(r, [p = block_->p.data() + r * stride_, capped = block_->capped.data() + r * stride_](std::int64_t k) {
      return p[k] * std::abs(capped[k]);
    });
    cell_columns(tanh_cells_, r, true);
    double* result = of(Rounding::s).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double of_s = model_.u_s == 0 ? 0 : result[j];
      result[j] = of_s + unit_squared * std::max<double>(coherent_.data()[j], independent_.data()[j]);
    }
  }
}

// TE
void BlockScales::exp2_error() {
  if (model_.exp2_error == 0) return;
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_phases(r, sink(r));
    set_row_weights(r, [p = block_->p.data() + r * stride_](std::int64_t k) { return p[k]; });
    if (sink(r) != nullptr) set_sink_weight(sink(r)->p);
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
    const auto n = static_cast<double>(block_->count(r));
    const auto tied_keys = static_cast<double>(p_cells(r).keys.size());
    const double step_loss = steps(block_->count(r), pv) * pv.f_out / 2;
    double* result = of(Rounding::accumulation).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double range = range_.data()[at];
      result[j] = square(pv.u) * (n / 3 + 4) * (0.3 * square(o(r, j)) + p_squared_moment_.data()[at]) +
                  square(0.3 * pv.u * tied_keys * range) + square(least_error);
      if (block_->head->scaled_outside) result[j] += square(u32 * o(r, j));
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

// The logit errors are not needed any more: they take that of the tanh at its largest.
void BlockScales::add_tanh_error() {
  if (!has_tanh_error()) return;
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t at = r * stride_ + visible(r).begin; at < r * stride_ + visible(r).end; ++at) {
      sd_.data()[at] += static_cast<float>(model_.tanh_error * std::abs(block_->capped.data()[at]));
    }
  }
}

// Every rounding at its largest and all of one sign, |v - o| <= |v| + |o|. Logit errors enter with their standard deviation.
void BlockScales::find_worst_case() {
  add_tanh_error();
  const auto of_logit = [&](std::int64_t r) {
    return [this, s = block_->s.data() + r * stride_, sd = sd_.data() + r * stride_](std::int64_t k) {
      return sd[k] + model_.u_s * std::abs(s[k]) + model_.exp2_error;
    };
  };
  const auto of_product = [&](std::int64_t r) {
    const auto n = block_->count(r);
    const double truncation = model_.pv.toward_zero ? steps(n, model_.pv) * model_.pv.f_out : 0;
    return model_.u_p + model_.pv.u * std::sqrt(static_cast<double>(n)) + truncation + model_.u_split +
           (block_->head->scaled_outside ? u32 : 0);
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
    if (const Sink* sink = this->sink(r)) {
      of_o += sink->p * (sink_sd(*sink) + model_.u_s * std::abs(sink->s) + model_.exp2_error);
    }
    for (std::int64_t j = 0; j < columns_; ++j) {
      worst_case_.data()[r * ld_ + j] = first_.data()[r * ld_ + j] + std::abs(o(r, j)) * of_o + model_.eta_split / block_->head->v_unit;
    }
  }
}

void BlockScales::use_units_of_v() {
  const double unit = block_->head->v_unit;
  for (auto& part : variance_) {
    for (double& variance : part) variance *= unit * unit;
  }
  for (double& bound : worst_case_) bound *= unit;
}

}  // namespace plumbline
