// The variance of O that errors of the logits make. docs/judging.md, "logit error" and TL.
#include <cblas.h>

#include <cmath>
#include <numeric>

#include "harness/reference/logit_error.h"
#include "harness/reference/scales.h"

namespace plumbline {
namespace {

// As negligible_share, where the sizes of the products are bounds, in long rows: 5e-4 of spre.
constexpr double negligible_bounded_share = 1e-3;
// Likewise of lse_sigma^2 at its least, (B1^2 - B0^2) / 2 and what else is bounded
// (docs/judging.md, "What is computed"): 5 % of lse_sigma.
constexpr double negligible_lse_share = 5e-2;

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

// LogitSizes of a key, one number at a time: g++ 12 makes no vector code of a struct.
struct PlainSizes {
  const double* s;
  float x(std::int64_t k) const { return static_cast<float>(std::abs(s[k])); }
  float slope(std::int64_t) const { return 1; }
  float magnitude(std::int64_t k) const { return x(k); }
};
struct ShapedSizes {
  const RowBlock& block;
  std::int64_t first;
  float x(std::int64_t k) const { return shaped_sizes(block, first + k).x; }
  float slope(std::int64_t k) const { return shaped_sizes(block, first + k).slope; }
  float magnitude(std::int64_t k) const { return shaped_sizes(block, first + k).magnitude; }
};

// The norm of a key's products, LogitError::norm(), and its beta; or the largest that they may be,
// and what stands for its beta.
struct ExactErrors {
  LogitError error;
  const float* products;
  static constexpr bool are_bounds = false;
  float norm(std::int64_t k) const { return error.norm(products[k]); }
  float beta(float x, float slope, float norm) const { return error.beta(x, slope, norm); }
  float typical_beta(std::int64_t, float, float beta) const { return beta; }
};
struct LargestErrors {
  LogitError error;
  const float *k_norm, *k_four_norm;
  // times scale; the first over sqrt(d), too: as if q_d^2 and k_d^2 had nothing to do with each
  // other
  float q_norm, q_four_norm;
  static constexpr bool are_bounds = true;
  float norm(std::int64_t k) const { return q_four_norm * k_four_norm[k]; }
  float beta(float x, float, float norm) const { return error.most_beta(x, norm); }
  float typical_beta(std::int64_t k, float x, float) const {
    return error.beta(x, 1, q_norm * k_norm[k]);
  }
};

// One pass over the row's keys for all that needs no more than P and the logits.
template <class SizesAt, class ErrorsAt>
LogitSums find_row(const SizesAt sizes, const ErrorsAt errors, KeyRange keys, const double* p,
                   float* p32, float* p_squared, float* sd) {
  const LogitError error = errors.error;
  float bias = 0, most_bias = 0, size = 0, variance = 0, largest = 0, p_sum = 0, p_sd = 0,
        sd_sum = 0, sd_squared = 0;
#pragma omp simd reduction(+ : bias, most_bias, size, variance, p_sum, p_sd, sd_sum, sd_squared) \
    reduction(max : largest)
  for (std::int64_t k = keys.begin; k < keys.end; ++k) {
    const float x = sizes.x(k), slope = sizes.slope(k), norm = errors.norm(k);
    const float beta = errors.beta(x, slope, norm),
                total = error.sd(x, slope, sizes.magnitude(k), norm, beta);
    const auto exact = static_cast<float>(p[k]);
    const float weight = exact < negligible_weight ? 0.0F : exact, squared = weight * weight;
    p32[k] = weight;
    p_squared[k] = squared < negligible_weight ? 0.0F : squared;
    if constexpr (!ErrorsAt::are_bounds) sd[k] = total;
    bias += weight * errors.typical_beta(k, x, beta);
    if constexpr (ErrorsAt::are_bounds) {
      most_bias += weight * beta;
      size += weight * x;
    }
    const float weighted = weight * total;
    variance += weighted * weighted;
    largest = std::max(largest, total);
    p_sum += weight;
    p_sd += weighted;
    sd_sum += total;
    sd_squared += total * total;
  }
  return {bias,      variance, largest, p_sum, p_sd, sd_sum, sd_squared, ErrorsAt::are_bounds,
          most_bias, size};
}

}  // namespace

// sum_d (q_d k_d)^2 of all rows and keys.
void BlockScales::find_products() {
  const HeadData& head = *block_->head;
  has_products_ = true;
  q_squared_.resize(static_cast<std::size_t>(rows_ * head.dim_qk));
  std::transform(block_->q.begin(), block_->q.end(), q_squared_.begin(),
                 [](double q) { return static_cast<float>(q * q); });
  const auto rows = static_cast<int>(rows_), keys = static_cast<int>(block_->keys),
             dims = static_cast<int>(head.dim_qk);
  qk_squared_.resize(static_cast<std::size_t>(rows_ * stride_));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dims, 1, q_squared_.data(), dims,
              head.k_squared.data() + block_->first_key * dims, dims, 0, qk_squared_.data(),
              static_cast<int>(stride_));
  for (std::int64_t r = 0; r < rows_; ++r) hide_products(*block_, r, qk_squared_);
}

// Independent (sd_k) and systematic (beta_k) error of the logits from Q K^T and from the argument
// of exp, in fp32.
void BlockScales::find_exact_logit_errors(std::int64_t row) {
  if (!has_products_) find_products();
  const std::int64_t first = row * stride_;
  const ExactErrors errors{LogitError(model_, *block_), qk_squared_.data() + first};
  const auto find = [&](const auto& sizes) {
    return find_row(sizes, errors, visible(row), block_->p.data() + first, p_.data() + first,
                    weights_.data() + first, sd_.data() + first);
  };
  logit_sums_.data()[row] = block_->shapes.empty() ? find(PlainSizes{block_->s.data() + first})
                                                   : find(ShapedSizes{*block_, first});
  bound_logit_excess(row);
}

// Without the products: upper bounds of sd_k and of what is made of them, and the mean bias from
// what the norms of q and k let expect. No bounds where any products that have these norms would
// move lse_sigma.
void BlockScales::bound_logit_errors(std::int64_t row) {
  const HeadData& head = *block_->head;
  const std::int64_t first = row * stride_;
  const auto dims = static_cast<std::size_t>(head.dim_qk);
  const Norms of_q =
      norms(std::span(block_->q).subspan(static_cast<std::size_t>(row) * dims, dims));
  const auto scale = static_cast<float>(block_->scale), root = std::sqrt(static_cast<float>(dims));
  const LargestErrors errors{LogitError(model_, *block_), head.k_norm.data() + block_->first_key,
                             head.k_four_norm.data() + block_->first_key, scale * of_q.two / root,
                             scale * of_q.four};
  LogitSums& sums = logit_sums_.data()[row];
  sums = find_row(PlainSizes{block_->s.data() + first}, errors, visible(row),
                  block_->p.data() + first, p_.data() + first, weights_.data() + first, nullptr);
  const float most = sums.most_bias, least = errors.error.least_beta(sums.size);
  sums.bias = std::max(least, std::min(sums.bias, most));  // as it is but for rounding
  bound_logit_excess(row);
  const double sure = lse_floor(row) + square(least);
  sums.are_bounds =
      (square(most) - square(least)) / 2 + sums.variance + logit_excess_.data()[row] <=
      negligible_lse_share * sure;
}

// TL from its largest sd and |v - o|: false where that is not far below TP.
bool BlockScales::bound_logit_error(std::int64_t row) {
  const LogitSums& sums = logit_sums_.data()[row];
  const double excess = logit_excess_.data()[row],
               share = sums.are_bounds ? negligible_bounded_share : negligible_share;
  const double* p_variance = of(Rounding::p).data() + row * ld_;
  double* result = of(Rounding::logit).data() + row * ld_;
  bool is_negligible = true;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double o_j = std::abs(o(row, j)),
                 of_v = sums.largest * std::sqrt(p_squared_moment_.data()[row * ld_ + j]);
    result[j] = square(of_v + o_j * std::sqrt(double{sums.variance})) +
                excess * square(block_->head->column_max.data()[j] + o_j);
    is_negligible &= result[j] <= share * p_variance[j];
  }
  return is_negligible;
}

// Whether no bound replaces TL.
bool BlockScales::needs_logit_error(std::int64_t row) {
  if (bound_logit_error(row)) return false;
  if (logit_sums_.data()[row].are_bounds) {
    find_exact_logit_errors(row);
    if (bound_logit_error(row)) return false;
  }
  find_logit_excess(row);
  return !bound_logit_error(row);
}

// TL
void BlockScales::logit_error() {
  of(Rounding::logit).resize(static_cast<std::size_t>(rows_ * ld_));
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (needs_logit_error(r)) rows.push_back(r);
  }
  if (rows.empty()) return;
  const auto relative_error = [&](std::int64_t r) {
    return [p = p_.data() + r * stride_, sd = sd_.data() + r * stride_,
            scale = 1 / logit_sums_.data()[r].largest](std::int64_t k) {
      return p[k] * (sd[k] * scale);
    };
  };
  set_weights(rows, [&](std::int64_t r) {
    return [error = relative_error(r)](std::int64_t k) { return error(k) * error(k); };
  });
  centered_moment_.compute(*block_, weights_, moment_);
  std::vector<std::int64_t> tied;
  for (const std::int64_t r : rows) {
    const double unit_squared = square(logit_sums_.data()[r].largest);
    for (std::int64_t j = 0; j < columns_; ++j)
      of(Rounding::logit).data()[r * ld_ + j] = unit_squared * moment_.data()[r * ld_ + j];
    if (p_cells(r).empty() || cell_excess_is_negligible(r)) continue;
    set_tied_weights(r, unit_squared, relative_error(r));
    tied.push_back(r);
  }
  add_cell_excess(tied, true, Rounding::logit);
}

// Whether what ties add to TL is far below TP in every column, |v - o| <= max |v| + |o|.
bool BlockScales::cell_excess_is_negligible(std::int64_t row) const {
  const double excess = logit_excess_[static_cast<std::size_t>(row)];
  const double* p_variance = variance_[static_cast<std::size_t>(Rounding::p)].data() + row * ld_;
  for (std::int64_t j = 0; j < columns_; ++j) {
    if (!(excess * square(block_->head->column_max.data()[j] + std::abs(o(row, j))) <=
          negligible_share * p_variance[j]))
      return false;
  }
  return true;
}

// TL of the sink, whose v is 0.
void BlockScales::sink_error() {
  for (std::int64_t r = 0; r < rows_ && !block_->sinks.empty(); ++r) {
    const double error = sink(r)->p * sink_sd(*sink(r));
    double* result = of(Rounding::logit).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) result[j] += square(error * o(r, j));
  }
}

}  // namespace plumbline
