// The size of a logit's error, from the rounding spec and the sizes of q and k.
// docs/judging-formulas.md, "Logit error", has the formulas.
#pragma once

#include <algorithm>
#include <cmath>

#include "harness/reference/row_block.h"

namespace plumbline {

// The sizes that a logit's error is relative to: |x|, d s / d x, and the largest of |s|, |b| and
// |c tanh(x / c)|. If the kernel's logits leave out the part of the bias that a row's keys share,
// `magnitude` also covers this part.
struct LogitSizes {
  float x, slope, magnitude;
};
inline LogitSizes plain_sizes(double s) {
  const auto magnitude = static_cast<float>(std::abs(s));
  return {magnitude, 1, magnitude};
}
// `at` is an index into the block's logits, `row_bias` the row's RowBlock::row_bias().
inline LogitSizes shaped_sizes(const RowBlock& block, std::int64_t at, double row_bias) {
  const double s = block.s.data()[at], capped = block.capped.data()[at];
  const double bias = std::max(std::abs(s - capped), std::abs(row_bias)),
               largest = std::max({std::abs(capped), bias, std::abs(s)});
  return {static_cast<float>(std::abs(block.x.data()[at])),
          static_cast<float>(block.slope.data()[at]), static_cast<float>(largest)};
}

class LogitError {
 public:
  LogitError(const Model& model, const RowBlock& block)
      : scale_(static_cast<float>(block.scale)), of_s_(static_cast<float>(4 * model.qk.u)) {
    if (model.merges) {
      of_s_ = static_cast<float>(u32);
      return;
    }
    const AccumulationModel& qk = model.qk;
    const auto dims = static_cast<double>(block.head->dim_qk);
    nearest_ = static_cast<float>(0.5 * std::sqrt(dims) * qk.u);
    if (!qk.toward_zero) return;
    drift_ = static_cast<float>(qk.f * std::sqrt(dims) / 6);
    drift_out_ = static_cast<float>(std::ceil(dims / qk.step) * qk.f_out / 12);
    spread_ = static_cast<float>(qk.f * qk.f * dims / 6);
    const double root = std::sqrt(dims);
    min_beta_ =
        static_cast<float>(square(std::sqrt(double{drift_}) + std::sqrt(double{drift_out_})));
    max_beta_ = static_cast<float>((1 + 1 / root) * (drift_ * root + drift_out_));
  }

  // Returns the size of a logit's products: a times the root of n2 = sum_d (q_d k_d)^2.
  float norm(float n2) const { return scale_ * std::sqrt(n2); }
  // Returns the systematic part. Has no branch, so that loops over keys become vector code.
  float beta(float x, float slope, float norm) const {
    const float ratio = x / (norm > 0 ? norm : 1.0F),
                beta = slope * (x + norm) * (drift_ * ratio + drift_out_);
    return norm > 0 ? beta : 0.0F;
  }
  float beta(LogitSizes s, float n2) const { return beta(s.x, s.slope, norm(n2)); }
  // Bounds of beta at slope 1 for any norm from x / sqrt(d), the least possible with this x, to
  // `most`. beta = drift x^2 / norm + drift_out norm + (drift + drift_out) x is convex in the norm.
  // The inequality of arithmetic and geometric means, for beta's first two terms, gives min_beta().
  float min_beta(float x) const { return x * min_beta_; }
  float max_beta(float x, float most) const { return std::max(x * max_beta_, beta(x, 1, most)); }
  // Returns the standard deviation, including the systematic part. Grows with norm and beta.
  float sd(float x, float slope, float magnitude, float norm, float beta) const {
    const float m = slope * (x + norm),
                e0 = nearest_ * (slope * norm) + of_s_ * magnitude + rounding_of_exp;
    return std::sqrt(e0 * e0 + beta * beta + m * m * spread_);
  }

 private:
  static constexpr auto rounding_of_exp = static_cast<float>(u32);

  float scale_, nearest_ = 0, of_s_;
  float drift_ = 0, drift_out_ = 0, spread_ = 0;  // 0 unless products are truncated
  float min_beta_ = 0, max_beta_ = 0;
};

}  // namespace plumbline
