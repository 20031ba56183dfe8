// Gradient and variances that suite statistics need to find a shrunken output or wrong scale. For
// the tests "shrink" and "temperature": the gradient G of O by the logarithm of the softmax scale,
// and the variances of sum_j e_j o_j / sigma_j^2 and sum_j e_j G_j / sigma_j^2 of a row. In long
// rows of a head with v_transposed, P's part of these variances takes o / sigma^2 and G / sigma^2
// rounded to bf16 (docs/judging-formulas.md, "Bounded scales").
//
// With g = O or G and <x, g> = sum_j x_j g_j / sigma_j^2, a row's variance is
//   <g, g> + TP with <x_k, g> in the place of x_kj + (c <g, g>)^2, c: correlated_...()
#pragma once

#include <vector>

#include "harness/reference/bounded_scales.h"

namespace plumbline {

class SuiteScores {
 public:
  // start(), add_row() of each row once its S and P stand, finish() once the scales do;
  // sigma_squared is [R, dim_vo], with output rounding. All rows of a block are long, or none is.
  void start(const BoundedScales& scales);
  void add_row(std::int64_t row);
  void finish(const Buffer<double>& sigma_squared);

  double gradient(std::int64_t row, std::int64_t column) const {
    return gradient_.data()[row * columns_ + column];
  }
  double shrink_variance(std::int64_t row) const { return shrink_.data()[row]; }
  double temperature_variance(std::int64_t row) const { return temperature_.data()[row]; }

 private:
  struct LogitSpread {
    double mean = 0;         // of d s / d log scale, which a sink has 0 of
    double deviation = 0;    // of s, among the keys
    double sensitivity = 0;  // deviation of d s / d log scale
  };
  LogitSpread logit_spread(std::int64_t row) const;
  LogitSpread feature_spread(std::int64_t row) const;
  void weigh_gradient(std::int64_t row);
  void find_gradient();
  void set_directions(const Buffer<double>& sigma_squared, KeyRange rows);
  void set_direction(std::int64_t at, const double* direction, const double* o,
                     const double* sigma_squared);
  void project();
  void set_projection(std::int64_t stride, std::int64_t first_key);
  void project_centered();
  void project_rounded();
  struct BothVariances {
    double of_o = 0, of_gradient = 0;
  };
  BothVariances p_rounding_variances(std::int64_t row, std::int64_t direction);

  const BoundedScales* scales_ = nullptr;
  const RowBlock* block_ = nullptr;
  std::int64_t columns_ = 0;
  Buffer<double> gradient_;                   // [R, dim_vo]
  std::vector<double> shrink_, temperature_;  // [R]
  std::vector<LogitSpread> spread_;           // [R]
  // [R] sum of the weights of G over the keys, 0 without a sink
  std::vector<double> centered_weight_;
  bool rounds_ = false;    // the projections are products in bf16
  Weights weights_;        // [R, stride]
  Buffer<float> product_;  // [R, ld]

  // Of the directions g of some rows: O of every row, then G of every row.
  struct Direction {
    double norm = 0;    // <g, g>_w, w = 1 / sigma^2
    double offset = 0;  // part of <x_k, g>_w that all keys share
  };
  std::vector<Direction> directions_;
  // [directions, ld], [directions, projection_stride_]
  Buffer<float> weighted_direction_, projection_;
  std::vector<Bf16Matrix::Bf16> rounded_direction_;
  std::int64_t projection_stride_ = 0, first_projected_ = 0;  // column of the block's key 0
  std::vector<double> tied_of_o_, tied_of_gradient_;
};

}  // namespace plumbline
