// The bound of O's error: every rounding at its largest, and all of one sign. docs/judging.md,
// "Bound".
#include <cmath>

#include "harness/reference/logit_error.h"
#include "harness/reference/scales.h"

namespace plumbline {

// The logit errors are not needed any more: they take those of S and of the tanh at their largest.
void BlockScales::add_rounding_of_logits() {
  for (std::int64_t r = 0; r < rows_; ++r) {
    LogitSums& sums = logit_sums_.data()[r];
    sums.p_sd = sums.sd = sums.sd_squared = 0;
    for (std::int64_t at = r * stride_ + visible(r).begin; at < r * stride_ + visible(r).end;
         ++at) {
      float& sd = sd_.data()[at];
      if (has_tanh_error())
        sd += static_cast<float>(model_.tanh_error * std::abs(block_->capped.data()[at]));
      sd += static_cast<float>(model_.u_s * std::abs(block_->s.data()[at]));
      sums.p_sd += p_.data()[at] * sd;
      sums.sd += sd;
      sums.sd_squared += sd * sd;
    }
  }
}

// Every rounding at its largest and all of one sign, |v - o| <= |v| + |o|. Logit errors enter with
// their standard deviation.
void BlockScales::find_worst_case() {
  if (model_.u_s > 0 || has_tanh_error()) add_rounding_of_logits();
  std::vector<std::int64_t> short_rows;
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (!is_long(r)) short_rows.push_back(r);
  }
  if (!short_rows.empty()) {
    set_weights(short_rows, [&](std::int64_t r) {
      return
          [this, p = block_->p.data() + r * stride_, sd = sd_.data() + r * stride_,
           of_all = model_.exp2_error + product_error(r), weights = p_weights(r)](std::int64_t k) {
            return p[k] * (sd[k] + of_all) + model_.u_p * weights.near_zero(p[k]);
          };
    });
    product(*block_, weights_, block_->head->v_abs, first_);
  }
  for (std::int64_t r = 0; r < rows_; ++r) {
    const WorstSums sums = worst_sums(r);
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double products = is_long(r) ? bound_of_products(sums, at, j) : first_.data()[at];
      worst_case_.data()[at] =
          products + std::abs(o(r, j)) * sums.of_o + model_.eta_split / block_->head->v_unit;
    }
  }
}

// The relative error that each product of P and V may have, but for the logit's.
double BlockScales::product_error(std::int64_t row) const {
  const double truncation = model_.pv.toward_zero ? step_loss(row) : 0;
  return model_.u_p + model_.pv.u * std::sqrt(static_cast<double>(block_->count(row))) +
         truncation + model_.u_split + (block_->head->scaled_outside ? u32 : 0);
}

BlockScales::WorstSums BlockScales::worst_sums(std::int64_t row) const {
  const LogitSums& of_logits = logit_sums_.data()[row];
  const double of_all = model_.exp2_error + product_error(row),
               keys = static_cast<double>(visible(row).size());
  double near_zero = 0;
  const PWeights weights = p_weights(row);
  for (std::int64_t at = row * stride_ + visible(row).begin;
       at < row * stride_ + visible(row).end && model_.eta_p > 0; ++at) {
    near_zero += weights.near_zero(p_.data()[at]);
  }
  WorstSums sums{of_logits.p_sd + of_all * of_logits.p,
                 of_logits.sd_squared + of_all * (2 * of_logits.sd + of_all * keys),
                 model_.u_p * near_zero, of_logits.p_sd + model_.exp2_error * of_logits.p};
  if (model_.denominator_from_rounded_p) sums.of_o += model_.u_p + sums.near_zero;
  if (const Sink* sink = this->sink(row)) {
    sums.of_o += sink->p * (sink_sd(*sink) + model_.u_s * std::abs(sink->s) + model_.exp2_error);
  }
  return sums;
}

// sum_k p_k e_k |v_kj| is at most the product of the 2-norms of e and of p v_j, and at most max
// |v_j| sum p_k e_k.
double BlockScales::bound_of_products(const WorstSums& sums, std::int64_t at,
                                      std::int64_t column) const {
  const double largest = block_->head->column_max.data()[column];
  const double norms = std::sqrt(sums.squares * p_squared_moment_.data()[at]);
  return (1 + 1e-4) * std::min(norms, sums.weighted * largest) + sums.near_zero * largest;
}

}  // namespace plumbline
