// Errors of the logits of a block's rows, per key and as sums over a row's keys, computed in fp32:
// docs/judging-formulas.md, "Logit error". In long rows bounds may replace n2_k = sum_d
// (q_d k_d)^2.
#pragma once

#include <vector>

#include "harness/reference/cells.h"
#include "harness/reference/moments.h"

namespace plumbline {

// Sums over a row's keys.
struct LogitSums {
  float bias = 0;                                 // sum p_k beta_k
  float variance = 0, largest = 0;                // sum p_k^2 sd_k^2, max sd_k
  float p = 0, p_sd = 0, sd = 0, sd_squared = 0;  // sums of p_k, p_k sd_k, sd_k, sd_k^2

  // True if n2_k and sd_k were not computed. `bias` is then an estimate between its bounds, and
  // sums with sd_k are upper bounds.
  bool are_bounds = false;
  float max_bias = 0, size = 0;  // if are_bounds: upper bound of `bias`; sum p_k x_k (LogitSizes)

  double excess = 0;  // excess of the cells of P over p_k sd_k, or its bound
};

class LogitErrors {
 public:
  explicit LogitErrors(const Model& model) : model_(model) {}

  // Call start(), then add_row() for each row once its S, P and cells of P are known, then finish()
  // after all rows. The weights of a row's tied keys are then p_k.
  void start(const RowBlock& block);
  void add_row(std::int64_t row, TiedKeys& tied);
  void finish(std::vector<TiedKeys>& tied);
  // Computes the exact sums of a row that has bounds.
  void find(std::int64_t row, TiedKeys& tied);
  // Computes the exact excess of a row without bounds.
  void find_excess(std::int64_t row, const TiedKeys& tied);

  const float* p_of(std::int64_t row) const { return p.data() + row * block_->stride; }
  const float* sd_of(std::int64_t row) const { return sd_.data() + row * block_->stride; }
  // Returns product_rel_error^2 / 3 a^2 slope_k^2 n2_k, which sd_k omits, of a row without bounds.
  // A merge multiplies nothing for its logits.
  double product_variance(std::int64_t row, std::int64_t key) const {
    if (model_.product_error == 0 || model_.merges) return 0;
    return square(model_.product_error * block_->scale * block_->slope_of(row, key)) / 3 *
           qk_squared_.data()[row * block_->stride + key];
  }
  float* sd_of(std::int64_t row) { return sd_.data() + row * block_->stride; }
  // Returns sum p_k beta_k with `of_keys` in place of p_k, for a row without bounds.
  double mean_bias(std::int64_t row, const double* of_keys) const;

  Weights p;  // [R, stride] p_k, 0 if negligible
  // [R, stride] p_k^2 after finish(), later the weights of the current sum.
  Weights weights;
  std::vector<LogitSums> sums;  // [R]

 private:
  void find_products();
  void bound(std::int64_t row, TiedKeys& tied);
  void bound_excess(std::int64_t row, TiedKeys& tied);

  const Model& model_;
  const RowBlock* block_ = nullptr;
  Weights sd_;                            // [R, stride] sd_k of rows without bounds
  bool has_products_ = false;             // qk_squared_ is computed
  Buffer<float> q_squared_, qk_squared_;  // q_d^2, [R, dim_qk]; n2_k, [R, stride]
  Buffer<float> tied_errors_;
};

}  // namespace plumbline
