// The logits' error, and what it does to O. docs/judging.md, "logit error" and TL.
#include <cblas.h>

#include <cmath>
#include <numeric>

#include "harness/reference/logit_error.h"
#include "harness/reference/scales.h"

namespace plumbline {
namespace {

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

// Results for the keys of a row.
struct RowErrors {
  float *p, *p_squared, *sd;
};
struct LogitSums {
  float bias = 0, variance = 0, largest = 0;  // sum p_k beta_k, sum p_k^2 sd_k^2, max sd_k
};

// One pass over the row's keys for all that needs no more than P and the logits.
template <class SizesAt>
LogitSums find_row(const LogitError error, const SizesAt sizes, KeyRange keys, const float* products, const double* p,
                   const RowErrors errors) {
  float *p32 = errors.p, *p_squared = errors.p_squared, *sd = errors.sd;
  float bias = 0, variance = 0, largest = 0;
#pragma omp simd reduction(+ : bias, variance) reduction(max : largest)
  for (std::int64_t k = keys.begin; k < keys.end; ++k) {
    const float x = sizes.x(k), slope = sizes.slope(k), norm = error.norm(products[k]);
    const float beta = error.beta(x, slope, norm), total = error.sd(x, slope, sizes.magnitude(k), norm, beta);
    const auto exact = static_cast<float>(p[k]);
    const float weight = exact < negligible_weight ? 0.0F : exact, squared = weight * weight;
    p32[k] = weight;
    p_squared[k] = squared < negligible_weight ? 0.0F : squared;
    sd[k] = total;
    bias += weight * beta;
    variance += (weight * total) * (weight * total);
    largest = std::max(largest, total);
  }
  return {bias, variance, largest};
}

}  // namespace

// Independent (sd_k) and systematic (beta_k) error of the logits from Q K^T and from the argument of exp, in fp32.
void BlockScales::find_logit_errors() {
  const HeadData& head = *block_->head;
  q_squared_.resize(static_cast<std::size_t>(rows_ * head.dim_qk));
  std::transform(block_->q.begin(), block_->q.end(), q_squared_.begin(), [](double q) { return static_cast<float>(q * q); });
  const auto rows = static_cast<int>(rows_), keys = static_cast<int>(block_->keys), dims = static_cast<int>(head.dim_qk);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dims, 1, q_squared_.data(), dims,
              head.k_squared.data() + block_->first_key * dims, dims, 0, qk_squared_.data(), static_cast<int>(stride_));
  for (std::int64_t r = 0; r < rows_; ++r) find_logit_errors(r);
}

void BlockScales::find_logit_errors(std::int64_t row) {
  const auto [begin, end] = visible(row);
  const std::int64_t first = row * stride_;
  const RowErrors errors{p_.data() + first, weights_.data() + first, sd_.data() + first};
  for (float* per_key : {errors.p, errors.p_squared}) {
    std::fill(per_key, per_key + begin, 0.0F);
    std::fill(per_key + end, per_key + stride_, 0.0F);
  }
  hide_products(*block_, row, qk_squared_);

  const LogitError error(model_, *block_);
  const float* products = qk_squared_.data() + first;
  const double* p = block_->p.data() + first;
  LogitSums sums;
  if (block_->shapes.empty()) {
    sums = find_row(error, PlainSizes{block_->s.data() + first}, visible(row), products, p, errors);
  } else {
    sums = find_row(error, ShapedSizes{*block_, first}, visible(row), products, p, errors);
  }
  mean_bias_.data()[row] = sums.bias;
  sd_max_.data()[row] = sums.largest;
  logit_variance_.data()[row] = sums.variance;
}

// TL from its largest sd and |v - o|: false where that is not far below TP.
bool BlockScales::bound_logit_error(std::int64_t row) {
  const auto r = static_cast<std::size_t>(row);
  const double* p_variance = of(Rounding::p).data() + row * ld_;
  double* result = of(Rounding::logit).data() + row * ld_;
  bool is_negligible = true;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double o_j = std::abs(o(row, j)), of_v = sd_max_[r] * std::sqrt(p_squared_moment_.data()[row * ld_ + j]);
    result[j] = square(of_v + o_j * std::sqrt(logit_variance_[r])) + logit_excess_[r] * square(block_->head->column_max.data()[j] + o_j);
    is_negligible &= result[j] <= negligible_share * p_variance[j];
  }
  return is_negligible;
}

// TL
void BlockScales::logit_error() {
  std::vector<std::int64_t> rows;
  of(Rounding::logit).resize(static_cast<std::size_t>(rows_ * ld_));
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (bound_logit_error(r)) continue;
    find_logit_excess(r);
    if (!bound_logit_error(r)) rows.push_back(r);
  }
  if (rows.empty()) return;
  const auto relative_error = [&](std::int64_t r) {
    return [p = p_.data() + r * stride_, sd = sd_.data() + r * stride_, scale = static_cast<float>(1 / sd_max_.data()[r])](std::int64_t k) {
      return p[k] * (sd[k] * scale);
    };
  };
  set_weights([&](std::int64_t r) { return [error = relative_error(r)](std::int64_t k) { return error(k) * error(k); }; });
  centered_moment_.compute(*block_, weights_, moment_);
  std::vector<std::int64_t> tied;
  for (const std::int64_t r : rows) {
    const double unit_squared = square(sd_max_.data()[r]);
    for (std::int64_t j = 0; j < columns_; ++j) of(Rounding::logit).data()[r * ld_ + j] = unit_squared * moment_.data()[r * ld_ + j];
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
    if (!(excess * square(block_->head->column_max.data()[j] + std::abs(o(row, j))) <= negligible_share * p_variance[j])) return false;
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
