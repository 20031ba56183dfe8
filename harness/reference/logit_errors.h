// The errors of the logits of a block's rows in fp32: of each key, and as sums over a row's keys.
// docs/judging-formulas.md, "Logit error". In long rows bounds of the sizes n2_k of the products
// q_d k_d may stand for them.
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

  // No n2_k were formed, and sd_k is not at hand: `bias` is a guess between its bounds, and what
  // contains sd_k an upper bound.
  bool are_bounds = false;
  float most_bias = 0, size = 0;  // then: the upper bound of `bias`, sum p_k x_k

  double excess = 0;  // of the cells of P over p_k sd_k, or a bound of it
};

class LogitErrors {
 public:
  explicit LogitErrors(const Model& model) : model_(model) {}

  // start(), add_row() of each row once its S and P and the cells of P stand, finish() once all
  // rows do. Each leaves P of the row's tied keys as their weights.
  void start(const RowBlock& block);
  void add_row(std::int64_t row, TiedKeys& tied);
  void finish(std::vector<TiedKeys>& tied);
  // Of a row with bounds: the sums themselves.
  void find(std::int64_t row, TiedKeys& tied);
  // The excess itself, of a row without bounds.
  void find_excess(std::int64_t row, const TiedKeys& tied);

  const float* p_of(std::int64_t row) const { return p.data() + row * block_->stride; }
  const float* sd_of(std::int64_t row) const { return sd_.data() + row * block_->stride; }
  float* sd_of(std::int64_t row) { return sd_.data() + row * block_->stride; }
  // sum p_k beta_k for other weights p, of a row without bounds.
  double mean_bias(std::int64_t row, const double* of_keys) const;

  Weights p;  // [R, stride] p_k, 0 where negligible
  // [R, stride] p_k^2 after finish(); then of the sum at hand, whatever that is.
  Weights weights;
  std::vector<LogitSums> sums;  // [R]

 private:
  void find_products();
  void bound(std::int64_t row, TiedKeys& tied);
  void bound_excess(std::int64_t row, TiedKeys& tied);

  const Model& model_;
  const RowBlock* block_ = nullptr;
  Weights sd_;                            // [R, stride] sd_k, of rows without bounds
  bool has_products_ = false;             // qk_squared_ is
  Buffer<float> q_squared_, qk_squared_;  // [R, dim_qk]; n2_k, [R, stride]
  Buffer<float> tied_errors_;
};

}  // namespace plumbline
