// The variances of the error that a block of rows may have, one for each kind of rounding. They are
// kept for each element, and for the LSE. Formulas: docs/judging.md, "sigma"; their names there
// (TP, TL, ...) stand beside each function.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "harness/reference/column_passes.h"
#include "harness/reference/moments.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Rounding of one row's P in units of u_P: e_k = min(eta_P / l, p_k) near zero, and the weight of a
// key among independent errors (squared) and among those that a cell shares (w_k).
struct PWeights {
  double near_zero_limit = 0;  // eta_P / l / u_P
  double one = 1;              // 1 / u_P

  double near_zero(double p) const { return std::min(near_zero_limit, p * one); }
  double independent(double p) const { return kappa * p * p + near_zero(p) * near_zero(p) / 3; }
  double coherent(double p) const { return root_kappa_coherent * std::max(p, near_zero(p)); }

  static constexpr double root_kappa_coherent = 0.7416198487095663;  // sqrt(kappa_coherent)
};

// Smaller weights could only slow the products down, by becoming subnormal numbers.
inline constexpr float negligible_weight = 1e-30F;
// Of a variance: 2.5e-5 of sigma. A bound that adds no more than this to TP stands for the term
// that it bounds.
inline constexpr double negligible_share = 5e-5;
// From this number of visible keys on a row is long: the worst case and the sizes of the products
// q_d k_d may be bounds, those of R_j may move spre by more, and suite scores may multiply in bf16.
inline constexpr std::int64_t long_row = 1024;

// Of one row's logit errors, in fp32: sums over its keys.
struct LogitSums {
  float bias = 0;                                 // sum p_k beta_k
  float variance = 0, largest = 0;                // sum p_k^2 sd_k^2, max sd_k
  float p = 0, p_sd = 0, sd = 0, sd_squared = 0;  // sums of p_k, p_k sd_k, sd_k, sd_k^2

  // No products were formed, and sd_ is not at hand: `bias` is a guess between its bounds, and what
  // contains sd_k an upper bound.
  bool are_bounds = false;
  float most_bias = 0, size = 0;  // then: the upper bound of `bias`, sum p_k x_k
};

// Per-row and per-element results, in the units of V and of natural logarithms. Reused for many
// blocks, to keep its memory.
class BlockScales {
 public:
  explicit BlockScales(const Model& model) : model_(model) {}

  // start(), add_row() of each row once its S and P stand, finish() once O does: rows are taken
  // while they lie in the cache.
  void start(const RowBlock& block);
  void add_row(std::int64_t row);
  void finish();

  // Variance of O's error from one kind of rounding, and from all of them but that of the output,
  // which is the caller's.
  double variance(Rounding rounding, std::int64_t row, std::int64_t column) const;
  double variance(std::int64_t row, std::int64_t column) const;
  // Worst case of |error| before output rounding.
  double worst_case(std::int64_t row, std::int64_t column) const {
    return worst_case_.data()[row * ld_ + column];
  }
  double lse_variance(std::int64_t row) const { return lse_variance_.data()[row]; }

  const Model& model() const { return model_; }
  const RowBlock& block() const { return *block_; }
  // only those of several keys
  const Cells& p_cells(std::int64_t row) const { return p_cells_[static_cast<std::size_t>(row)]; }
  PWeights p_weights(std::int64_t row) const;
  bool is_long(std::int64_t row) const {
    return block_->count(row) >= long_row && block_->head->finite;
  }

 private:
  void set_shape(const RowBlock& block);
  void find_products();
  void find_exact_logit_errors(std::int64_t row);
  void bound_logit_errors(std::int64_t row);
  void find_p_cells(std::int64_t row);
  void bound_logit_excess(std::int64_t row);
  void find_s_cells(std::int64_t row, const Sink* sink);
  void find_tanh_cells(std::int64_t row);
  void find_phases(std::int64_t row, const Sink* sink);
  void p_rounding();
  bool bound_logit_error(std::int64_t row);
  bool needs_logit_error(std::int64_t row);
  void logit_error();
  bool cell_excess_is_negligible(std::int64_t row) const;
  void find_logit_excess(std::int64_t row);
  void s_rounding();
  void tanh_error();
  void sink_error();
  void exp2_error();
  void find_ranges();
  void find_truncation(std::span<const std::int64_t> rows);
  bool small_keys_are_negligible(std::int64_t row) const;
  // What truncated sums lose in a row, of R_j: f_out for every step; and TA's systematic part at an
  // element, from it and truncation_.
  double step_loss(std::int64_t row) const {
    return model_.pv.steps(block_->count(row)) * model_.pv.f_out;
  }
  double drift(std::int64_t at, double step_loss) const {
    return (std::abs(truncation_.signed_sum.data()[at]) + step_loss * range_.data()[at]) / 6;
  }
  bool range_bounds_suffice(std::int64_t row, bool truncation) const;
  void accumulation();
  void split_partials();
  void find_worst_case();
  struct WorstSums {
    // over keys: sum p_k e_k, sum e_k^2, u_P sum of the errors near zero
    double weighted, squares, near_zero;
    double of_o;  // relative error of the denominator
  };
  WorstSums worst_sums(std::int64_t row) const;
  double product_error(std::int64_t row) const;
  double bound_of_products(const WorstSums& sums, std::int64_t at, std::int64_t column) const;
  void add_rounding_of_logits();
  struct LseParts;
  LseParts lse_parts(std::int64_t row);
  double shift_by_s(std::int64_t row, const LseParts& parts) const;
  double lse_floor(std::int64_t row) const;
  void lse_error(std::int64_t row);
  void use_units_of_v();

  // Of the visible keys, by label(key), and of the sink where it has a label.
  template <class Label>
  void build_cells(std::int64_t row, KeepCells keep, Cells& cells, Label label,
                   std::optional<std::uint64_t> of_sink = std::nullopt);

  // weights_[r, k] = weight(r)(k) for visible keys of those rows, else 0
  template <class Weight>
  void set_weights(std::span<const std::int64_t> rows, Weight weight) {
    std::fill_n(weights_.begin(), rows_ * stride_, 0.0F);
    for (const std::int64_t r : rows) {
      const auto [begin, end] = visible(r);
      float* row = weights_.data() + r * stride_;
      const auto of_key = weight(r);
      for (std::int64_t k = begin; k < end; ++k) {
        const auto w = static_cast<float>(of_key(k));
        row[k] = w < negligible_weight ? 0.0F : w;
      }
    }
  }
  // row_weights_[k] = weight(k) for visible keys.
  template <class Weight>
  void set_row_weights(std::int64_t row, Weight weight) {
    const auto [begin, end] = visible(row);
    for (std::int64_t k = begin; k < end; ++k) {
      row_weights_.data()[k] = weight(k);
      row_weights32_.data()[k] = static_cast<float>(row_weights_.data()[k]);
    }
  }
  void set_sink_weight(double weight);            // of the sink, in cells with it
  double sum_of_squares(std::int64_t row) const;  // of the row's weights
  void cell_columns(const Cells& cells, std::int64_t row);
  void shift_by_o(std::int64_t row, std::int64_t to);  // shift_ from element `to` on
  // Of the row's keys that share a cell: their weight(k), in units of the square root of
  // `unit_squared`.
  template <class Weight>
  void set_tied_weights(std::int64_t row, double unit_squared, Weight weight) {
    const auto r = static_cast<std::size_t>(row);
    const auto& keys = p_cells_[r].keys;
    tied_unit_[r] = unit_squared;
    tied_[r].resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      tied_[r].data()[i] = static_cast<float>(weight(keys.data()[i]));
  }
  // What sharing a cell adds to the sum of the squares of those weights times V, or V - O.
  void add_cell_excess(std::span<const std::int64_t> rows, bool about_o, Rounding rounding);
  Buffer<double>& of(Rounding rounding) { return variance_[static_cast<std::size_t>(rounding)]; }
  KeyRange visible(std::int64_t row) const { return block_->keys_of(row); }
  bool has_tanh_error() const {
    return model_.tanh_error > 0 && !block_->shapes.empty() && block_->shapes.front().cap > 0;
  }
  const Sink* sink(std::int64_t row) const {
    return block_->sinks.empty() ? nullptr : &block_->sinks[static_cast<std::size_t>(row)];
  }
  // its index among the row's weights
  std::int64_t sink_key() const { return block_->sinks.empty() ? -1 : stride_; }
  double o(std::int64_t row, std::int64_t column) const;  // in units of v_unit

  const Model& model_;
  const RowBlock* block_ = nullptr;
  std::int64_t rows_ = 0, columns_ = 0, stride_ = 0, ld_ = 0;

  // Results, matrices [R, ld]. Until use_units_of_v() they count in v_unit.
  std::array<Buffer<double>, rounding_count> variance_;
  Buffer<double> worst_case_;
  std::vector<double> lse_variance_;

  // Per row and key, [R, stride]: p_k, the standard deviation sd_k of the logit, weights of the sum
  // at hand.
  Weights p_, sd_, weights_;
  bool has_products_ = false;             // qk_squared_ is
  Buffer<float> q_squared_, qk_squared_;  // [R, dim_qk]; sum_d (q_d k_kd)^2, [R, stride]
  std::vector<LogitSums> logit_sums_;     // [R]
  std::vector<double>
      logit_excess_;                 // [R] excess of the cells of P over p_k sd_k, or a bound of it
  std::vector<Cells> p_cells_;       // [R]
  std::vector<Buffer<float>> tied_;  // [R], beside p_cells_' keys: weights of the sum at hand
  std::vector<double> tied_unit_;    // [R] and the unit in which they count
  Cells s_cells_, tanh_cells_, phases_;
  CellBuilder cell_builder_;
  std::vector<std::uint64_t> labels_;  // [N]
  std::vector<double> row_weights_;    // [stride + 1], the last that of the sink
  Buffer<float> row_weights32_;        // likewise
  std::vector<double> p_of_keys_;      // [N] P of one row without the sink

  // Per row and column, [R, ld]: sum p_k^2 v_kj^2, R_j, and scratch.
  Buffer<float> p_squared_moment_, range_, first_, pairs_;
  TruncationSums truncation_;
  Buffer<double> moment_;
  Shift shift_;
  Buffer<float> coherent_, independent_;  // [ld]
  CenteredMoment centered_moment_;
};

}  // namespace plumbline
