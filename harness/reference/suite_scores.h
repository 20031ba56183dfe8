// Gradient and variances for the suite statistics "shrink" and "temperature", which find a shrunken
// output or a wrong softmax scale. The gradient G is the derivative of O by the logarithm of the
// softmax scale. Each row has the variances of sum_j e_j o_j / sigma_j^2 and of
// sum_j e_j G_j / sigma_j^2. In long rows of a head with v_transposed, P's part of the variances
// uses o / sigma^2 and G / sigma^2 rounded to bf16 (evidence/bounded-scales.md).
//
// With g = O or G and <x, g> = sum_j x_j g_j / sigma_j^2, a row's variance is
//   <g, g> + (TP with <x_k, g> in the place of x_kj) + (c <g, g>)^2
// with c from correlated_shrink() or correlated_temperature().
#pragma once

#include <vector>

#include "harness/reference/bounded_scales.h"

namespace plumbline {

class SuiteScores {
 public:
  // Call start(), then add_row() for each row after its S and P, then finish() after the scales.
  // sigma_squared is [R, dim_vo], with output rounding. The rows of a block are either all long or
  // all short.
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
    double mean = 0;         // mean of d s / d log scale, which is 0 for a sink
    double deviation = 0;    // standard deviation of s over the keys
    double sensitivity = 0;  // standard deviation of d s / d log scale
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
  // [R] sum of G's weights over the keys, 0 without a sink
  std::vector<double> centered_weight_;
  bool rounds_ = false;    // the projections are bf16 products
  Weights weights_;        // [R, stride]
  Buffer<float> product_;  // [R, ld]

  // The directions g of some rows: O of every row, then G of every row.
  struct Direction {
    double norm = 0;    // <g, g>
    double offset = 0;  // part of <x_k, g> that all keys share
  };
  std::vector<Direction> directions_;
  // [directions, ld], [directions, projection_stride_]
  Buffer<float> weighted_direction_, projection_;
  std::vector<Bf16Matrix::Bf16> rounded_direction_;
  std::int64_t projection_stride_ = 0, first_projected_ = 0;  // column of the block's key 0
  std::vector<double> tied_of_o_, tied_of_gradient_;
};

}  // namespace plumbline
