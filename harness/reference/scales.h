// The variances of legal error of a block of rows: one per kind of rounding and element, and the scale of the LSE.
// Formulas: docs/judging.md, "sigma"; the names there (TP, TL, ...) stand beside each function.
#pragma once

#include <array>
#include <vector>

#include "harness/reference/cells.h"
#include "harness/reference/moments.h"
#include "harness/reference/reference.h"

namespace plumbline {

// All matrices over columns are [R, ld]. Results are in the units of V and of natural logarithms.
class BlockScales {
 public:
  explicit BlockScales(const Model& model) : model_(model) {}

  void compute(const RowBlock& block);

  // Variance of the error of O from one kind of rounding. Output rounding is left to the caller.
  double variance(Rounding rounding, std::int64_t row, std::int64_t column) const {
    return variance_[static_cast<std::size_t>(rounding)].data()[row * block_->head->ld + column];
  }
  // Sum over all kinds but output rounding.
  double variance(std::int64_t row, std::int64_t column) const;
  // Worst case of |error| before output rounding.
  double worst_case(std::int64_t row, std::int64_t column) const { return worst_case_.data()[row * block_->head->ld + column]; }
  double lse_variance(std::int64_t row) const { return lse_variance_.data()[row]; }

  const Model& model() const { return model_; }
  const RowBlock& block() const { return *block_; }
  const Cells& p_cells(std::int64_t row) const { return p_cells_[static_cast<std::size_t>(row)]; }  // of two and more keys
  // e_k = min(eta_P / l, p_k), the absolute rounding error of P near zero.
  double near_zero(std::int64_t row, double p) const;
  // Weight of a key in the errors of P that are independent, and w_k in those that a cell shares; both in units of u_P (squared).
  double independent_p_weight(std::int64_t row, double p) const;
  double coherent_p_weight(std::int64_t row, double p) const;

 private:
  void set_shape(const RowBlock& block);
  void logit_errors();
  void logit_errors(std::int64_t row);
  void find_cells();
  void p_rounding();
  void logit_error();
  void s_rounding();
  void exp2_error();
  void accumulation();
  void split_partials();
  void find_worst_case();
  void lse_error();
  double lse_cells(std::int64_t row);
  double s_error(std::int64_t row, std::int64_t key) const;
  void add_cell_excess(std::int64_t row, double unit_squared, bool about_o, Rounding rounding);
  void cell_columns(const Cells& cells, std::int64_t row, bool about_o);
  void set_row_weights(std::int64_t row, auto weight);
  Buffer<double>& of(Rounding rounding) { return variance_[static_cast<std::size_t>(rounding)]; }
  double o_in_units(std::int64_t row, std::int64_t column) const;

  const Model& model_;
  const RowBlock* block_ = nullptr;
  // Until finish() the variances are in units of v_unit^2.
  std::array<Buffer<double>, rounding_count> variance_;
  Buffer<double> worst_case_;
  std::vector<double> lse_variance_;
  // Per key, [R, stride].
  Weights p_, sd_, weights_;
  Buffer<float> qk_squared_;              // sum_d (q_d k_kd)^2
  std::vector<double> sd_max_, mean_bias_;  // [R]: max sd_k; sum p_k beta_k
  std::vector<Cells> p_cells_;
  Cells other_cells_;
  CellBuilder cell_builder_;
  std::vector<std::uint64_t> labels_;
  std::vector<double> row_doubles_;  // [N]
  std::vector<float> row_floats_;    // [N]
  // Per column.
  Buffer<float> p_squared_moment_;  // sum p_k^2 v_kj^2, [R, ld]
  Buffer<float> range_;             // R_j, [R, ld]
  Buffer<float> scratch_a_, scratch_b_;
  Buffer<float> shift_, zeros_, coherent_, independent_;  // [ld]
  CenteredMoment centered_moment_;
  Buffer<float> q_squared_;
};

}  // namespace plumbline
