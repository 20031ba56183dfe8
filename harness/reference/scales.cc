// Computes a block's variances row by row, with keys that round alike added up linearly.
#include "harness/reference/scales.h"

#include <cmath>

namespace plumbline {

void BlockScales::start(const RowBlock& block) {
  set_shape(block);
  has_products_ = false;
}

void BlockScales::add_row(std::int64_t row) {
  const auto [begin, end] = visible(row);
  for (float* per_key : {p_.data() + row * stride_, weights_.data() + row * stride_}) {
    std::fill(per_key, per_key + begin, 0.0F);
    std::fill(per_key + end, per_key + stride_, 0.0F);
  }
  find_p_cells(row);
  if (block_->is_plain() && model_.u_s == 0 && is_long(row)) bound_logit_errors(row);
}

void BlockScales::finish() {
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (!logit_sums_.data()[r].are_bounds) find_exact_logit_errors(r);
  }
  p_rounding();
  logit_error();
  sink_error();
  s_rounding();
  tanh_error();
  exp2_error();
  find_ranges();
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
  for (auto* per_key : {&p_, &sd_, &weights_})
    per_key->resize(static_cast<std::size_t>(rows_ * stride_));
  for (auto* per_row : {&lse_variance_, &logit_excess_, &tied_unit_})
    per_row->assign(static_cast<std::size_t>(rows_), 0);
  logit_sums_.assign(static_cast<std::size_t>(rows_), {});
  p_cells_.resize(static_cast<std::size_t>(rows_));
  tied_.resize(static_cast<std::size_t>(rows_));
  row_weights_.resize(static_cast<std::size_t>(stride_ + 1));
  row_weights32_.resize(static_cast<std::size_t>(stride_ + 1));
  for (auto* per_column : {&coherent_, &independent_})
    per_column->assign(static_cast<std::size_t>(ld_), 0);
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

template <class Label>
void BlockScales::build_cells(std::int64_t row, KeepCells keep, Cells& cells, Label label,
                              std::optional<std::uint64_t> of_sink) {
  const auto [begin, end] = visible(row);
  if (block_->seen.empty()) {
    labels_.resize(static_cast<std::size_t>(end - begin));
    std::uint64_t* labels = labels_.data() - begin;
    for (std::int64_t k = begin; k < end; ++k) labels[k] = label(k);
    if (!of_sink) return cell_builder_.build(labels_, begin, keep, cells);
  } else {
    labels_.clear();
    for (const std::int32_t k : block_->seen[static_cast<std::size_t>(row)])
      labels_.push_back(label(k));
  }
  const std::size_t keys = labels_.size();
  if (of_sink) labels_.push_back(*of_sink);
  cell_builder_.build(labels_, 0, keep, cells);
  for (std::int32_t& key : cells.keys) {
    const auto at = static_cast<std::size_t>(key);
    if (at == keys) {
      key = static_cast<std::int32_t>(sink_key());
    } else {
      key = block_->seen.empty() ? key + static_cast<std::int32_t>(begin)
                                 : block_->seen[static_cast<std::size_t>(row)][at];
    }
  }
}

void BlockScales::find_p_cells(std::int64_t row) {
  const double* s = block_->s.data() + row * stride_;
  const double* p = block_->p.data() + row * stride_;
  const double total = block_->total.data()[row], m = block_->row_max.data()[row];
  Cells& cells = p_cells_[static_cast<std::size_t>(row)];
  if (model_.u_s > 0) {
    build_cells(row, KeepCells::multi_key, cells,
                [&](std::int64_t k) { return p_cell(t_of_rounded(s[k], m, model_), model_); });
  } else if (model_.eta_p > 0) {
    build_cells(row, KeepCells::multi_key, cells,
                [&](std::int64_t k) { return p_cell(p[k] * total, model_); });
  } else {
    const int dropped = 53 - model_.p_cell_bits;
    build_cells(row, KeepCells::multi_key, cells,
                [=](std::int64_t k) { return normal_p_cell(p[k] * total, dropped); });
  }
}

// Gathers P of the tied keys, which serves TP, too, and bounds the excess of the logit errors by
// the largest sd.
void BlockScales::bound_logit_excess(std::int64_t row) {
  set_tied_weights(row, 1, [p = p_.data() + row * stride_](std::int64_t k) { return p[k]; });
  const double pairs = pairs_in_cells(p_cells(row), tied_[static_cast<std::size_t>(row)].data());
  logit_excess_.data()[row] = 2 * square(logit_sums_.data()[row].largest) * pairs;
}

void BlockScales::find_logit_excess(std::int64_t row) {
  const float *p = p_.data() + row * stride_, *sd = sd_.data() + row * stride_;
  float* weight = row_weights32_.data();
  for (const std::int32_t key : p_cells(row).keys) *weight++ = p[key] * sd[key];
  logit_excess_.data()[row] = 2 * pairs_in_cells(p_cells(row), row_weights32_.data());
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
  build_cells(row, KeepCells::all, tanh_cells_,
              [&](std::int64_t k) { return tanh_cell(x[k] / cap); });
}

void BlockScales::find_phases(std::int64_t row, const Sink* sink) {
  const double* s = block_->s.data() + row * stride_;
  const double m = block_->row_max.data()[row];
  const auto of_sink = sink != nullptr ? std::optional(exp2_phase(sink->s - m)) : std::nullopt;
  build_cells(
      row, KeepCells::all, phases_, [&](std::int64_t k) { return exp2_phase(s[k] - m); }, of_sink);
}

void BlockScales::shift_by_o(std::int64_t row, std::int64_t to) {
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double shift = o(row, j);
    shift_.high.data()[to + j] = static_cast<float>(shift);
    shift_.low.data()[to + j] = static_cast<float>(shift - shift_.high.data()[to + j]);
  }
}

// coherent_ and independent_ of the row's weights over V - O.
void BlockScales::cell_columns(const Cells& cells, std::int64_t row) {
  for (auto* part : {&shift_.high, &shift_.low}) part->assign(static_cast<std::size_t>(ld_), 0);
  shift_by_o(row, 0);
  cell_moments(cells, row_weights32_.data(), *block_, sink_key(), shift_, coherent_.data(),
               independent_.data());
}

// Negative sums (errors that cancel) are not relied on.
void BlockScales::add_cell_excess(std::span<const std::int64_t> rows, bool about_o,
                                  Rounding rounding) {
  std::vector<TiedKeys> tied;
  for (auto* part : {&shift_.high, &shift_.low})
    part->assign(about_o ? rows.size() * static_cast<std::size_t>(ld_) : 0, 0);
  for (const std::int64_t r : rows) {
    if (about_o) shift_by_o(r, static_cast<std::int64_t>(tied.size()) * ld_);
    tied.push_back({&p_cells(r), tied_[static_cast<std::size_t>(r)].data()});
  }
  cell_pairs(*block_, tied, shift_, pairs_);
  const float* pairs = pairs_.data();
  for (const std::int64_t r : rows) {
    double* result = of(rounding).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double excess = 2 * tied_unit_.data()[r] * pairs[j];
      if (!(excess <= 0)) result[j] += excess;
    }
    pairs += ld_;
  }
}

// TS
void BlockScales::s_rounding() {
  if (model_.u_s == 0) return;
  const double unit_squared = kappa_coherent * square(model_.u_s);
  for (std::int64_t r = 0; r < rows_; ++r) {
    find_s_cells(r, sink(r));
    set_row_weights(r, [p = block_->p.data() + r * stride_, s = block_->s.data() + r * stride_](
                           std::int64_t k) { return p[k] * std::abs(s[k]); });
    if (sink(r) != nullptr) set_sink_weight(sink(r)->p * std::abs(sink(r)->s));
    cell_columns(s_cells_, r);
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
    set_row_weights(
        r, [p = block_->p.data() + r * stride_, capped = block_->capped.data() + r * stride_](
               std::int64_t k) { return p[k] * std::abs(capped[k]); });
    cell_columns(tanh_cells_, r);
    double* result = of(Rounding::s).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double of_s = model_.u_s == 0 ? 0 : result[j];
      result[j] =
          of_s + unit_squared * std::max<double>(coherent_.data()[j], independent_.data()[j]);
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
    cell_columns(phases_, r);
    double* result = of(Rounding::exp2).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j)
      result[j] = square(model_.exp2_error) / 2 * coherent_.data()[j];
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
