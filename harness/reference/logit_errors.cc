// Finds all logit errors of a row in one pass over its keys. n2_k = sum_d (q_d k_d)^2 comes from a
// matrix product or is bounded by norms.
#include "harness/reference/logit_errors.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "harness/reference/exact_scales.h"
#include "harness/reference/logit_error.h"

namespace plumbline {
namespace {

// bound() keeps its bounds if half the range of bias^2 plus `variance` and `excess` is at most this
// share of the least lse_sigma^2. lse_sigma is then at most 5 % off (evidence/bounded-scales.md).
constexpr double negligible_lse_share = 5e-2;

// LogitSizes of a key as separate numbers, because g++ 12 does not vectorise a struct.
struct PlainSizes {
  const double* s;
  float x(std::int64_t k) const { return static_cast<float>(std::abs(s[k])); }
  float slope(std::int64_t) const { return 1; }
  float magnitude(std::int64_t k) const { return x(k); }
};
// A merge loads its logits s and computes only s - m. The error grows with |s| and |s - m|.
struct SizesOfParts {
  const double* s;
  double m;
  float x(std::int64_t k) const { return static_cast<float>(std::abs(s[k])); }
  float slope(std::int64_t) const { return 1; }
  float magnitude(std::int64_t k) const { return x(k) + static_cast<float>(std::abs(s[k] - m)); }
};
struct ShapedSizes {
  const RowBlock& block;
  std::int64_t first;
  double row_bias;
  LogitSizes at(std::int64_t k) const { return shaped_sizes(block, first + k, row_bias); }
  float x(std::int64_t k) const { return at(k).x; }
  float slope(std::int64_t k) const { return at(k).slope; }
  float magnitude(std::int64_t k) const { return at(k).magnitude; }
};

// ExactErrors returns LogitError's norm() and beta() of a key, from its n2_k. LargestErrors returns
// upper bounds of both and a typical beta, from norms of q and k.
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
  // Norms times scale. q_norm is also divided by sqrt(D), as if q_d^2 and k_d^2 were uncorrelated.
  float q_norm, q_four_norm;
  static constexpr bool are_bounds = true;
  float norm(std::int64_t k) const { return q_four_norm * k_four_norm[k]; }
  float beta(float x, float, float norm) const { return error.max_beta(x, norm); }
  float typical_beta(std::int64_t k, float x, float) const {
    return error.beta(x, 1, q_norm * k_norm[k]);
  }
};

// Computes p, p^2, exact sd_k and all of LogitSums but `excess`, in one pass over the row's keys.
template <class SizesAt, class ErrorsAt>
LogitSums find_row(const SizesAt sizes, const ErrorsAt errors, KeyRange keys, const double* p,
                   float* p32, float* p_squared, float* sd) {
  const LogitError error = errors.error;
  float bias = 0, max_bias = 0, size = 0, variance = 0, largest = 0, p_sum = 0, p_sd = 0,
        sd_sum = 0, sd_squared = 0;
#pragma omp simd reduction(+ : bias, max_bias, size, variance, p_sum, p_sd, sd_sum, sd_squared) \
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
      max_bias += weight * beta;
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
  return {bias,     variance, largest, p_sum, p_sd, sd_sum, sd_squared, ErrorsAt::are_bounds,
          max_bias, size};
}

}  // namespace

// Computes n2_k = sum_d (q_d k_d)^2 of all rows and keys.
void LogitErrors::find_products() {
  const HeadData& head = *block_->head;
  has_products_ = true;
  q_squared_.resize(block_->q.size());
  std::ranges::transform(block_->q, q_squared_.begin(),
                         [](double q) { return static_cast<float>(q * q); });
  const auto rows = static_cast<int>(block_->rows), keys = static_cast<int>(block_->keys),
             dims = static_cast<int>(head.dim_qk), stride = static_cast<int>(block_->stride);
  qk_squared_.resize(block_->s.size());
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dims, 1, q_squared_.data(), dims,
              head.k_squared.data() + block_->first_key * dims, dims, 0, qk_squared_.data(),
              stride);
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    // Matrix products also sum over hidden keys: P is 0 there, but n2_k may be Inf or NaN.
    float* products = qk_squared_.data() + r * block_->stride;
    block_->for_hidden(r, [=](std::int64_t k) { products[k] = 0; });
  }
}

void LogitErrors::start(const RowBlock& block) {
  block_ = &block;
  has_products_ = false;
  for (auto* per_key : {&p, &sd_, &weights}) per_key->resize(block.s.size());
  sums.assign(static_cast<std::size_t>(block.rows), {});
}

void LogitErrors::add_row(std::int64_t row, TiedKeys& tied) {
  const auto [begin, end] = block_->keys_of(row);
  for (auto* per_key : {&p, &weights}) {
    float* of_row = per_key->data() + row * block_->stride;
    std::fill(of_row, of_row + begin, 0.0F);
    std::fill(of_row + end, of_row + block_->stride, 0.0F);
  }
  if (block_->is_plain() && model_.u_s == 0 && model_.product_error == 0 && block_->is_long(row) &&
      !model_.merges)
    bound(row, tied);
}

void LogitErrors::finish(std::vector<TiedKeys>& tied) {
  for (std::int64_t r = 0; r < block_->rows; ++r) {
    if (!sums.data()[r].are_bounds) find(r, tied.data()[r]);
  }
}

// Computes sd_k and the row's sums from n2_k, and bounds `excess`, the variance that ties add.
void LogitErrors::find(std::int64_t row, TiedKeys& tied) {
  if (!has_products_) find_products();
  const std::int64_t first = row * block_->stride;
  const ExactErrors errors{LogitError(model_, *block_), qk_squared_.data() + first};
  const auto find_sums = [&](const auto& sizes) {
    return find_row(sizes, errors, block_->keys_of(row), block_->p_of(row), p.data() + first,
                    weights.data() + first, sd_.data() + first);
  };
  sums.data()[row] = model_.merges
                         ? find_sums(SizesOfParts{block_->s_of(row), block_->row_max.data()[row]})
                     : block_->shapes.empty()
                         ? find_sums(PlainSizes{block_->s_of(row)})
                         : find_sums(ShapedSizes{*block_, first, block_->row_bias(model_, row)});
  bound_excess(row, tied);
}

// Bounds sd_k and its sums, and estimates `bias`, from the norms of q and k instead of n2_k. Keeps
// the results (are_bounds) if lse_sigma is nearly the same for every n2_k that these norms allow.
// Otherwise finish() computes n2_k.
void LogitErrors::bound(std::int64_t row, TiedKeys& tied) {
  const HeadData& head = *block_->head;
  const std::int64_t first = row * block_->stride;
  const auto dims = static_cast<std::size_t>(head.dim_qk);
  const Norms of_q =
      norms(std::span(block_->q).subspan(static_cast<std::size_t>(row) * dims, dims));
  const auto scale = static_cast<float>(block_->scale), root = std::sqrt(static_cast<float>(dims));
  const LargestErrors errors{LogitError(model_, *block_), head.k_norm.data() + block_->first_key,
                             head.k_four_norm.data() + block_->first_key, scale * of_q.two / root,
                             scale * of_q.four};
  LogitSums& of_row = sums.data()[row];
  of_row = find_row(PlainSizes{block_->s_of(row)}, errors, block_->keys_of(row), block_->p_of(row),
                    p.data() + first, weights.data() + first, nullptr);
  const float most = of_row.max_bias, least = errors.error.min_beta(of_row.size);
  of_row.bias = std::max(least, std::min(of_row.bias, most));  // corrects only rounding errors
  bound_excess(row, tied);
  const double sure = lse_floor(block_->lse.data()[row], block_->count(row)) + square(least);
  of_row.are_bounds = (square(most) - square(least)) / 2 + of_row.variance + of_row.excess <=
                      negligible_lse_share * sure;
}

// Sets the tied keys' weights to p_k, also for p_rounding(). Bounds `excess` by the largest sd_k.
void LogitErrors::bound_excess(std::int64_t row, TiedKeys& tied) {
  tied.weigh(1, [of_row = p_of(row)](std::int64_t k) { return of_row[k]; });
  LogitSums& of_row = sums.data()[row];
  of_row.excess = 2 * square(of_row.largest) * pairs_in_cells(tied.cells, tied.weights.data());
}

void LogitErrors::find_excess(std::int64_t row, const TiedKeys& tied) {
  const float *of_p = p_of(row), *sd = sd_of(row);
  tied_errors_.resize(tied.cells.keys.size());
  float* error = tied_errors_.data();
  for (const std::int32_t key : tied.cells.keys) *error++ = of_p[key] * sd[key];
  sums.data()[row].excess = 2 * pairs_in_cells(tied.cells, tied_errors_.data());
}

double LogitErrors::mean_bias(std::int64_t row, const double* of_keys) const {
  const LogitError error(model_, *block_);
  const double row_bias = block_->row_bias(model_, row);
  double sum = 0;
  block_->for_seen(row, [&](std::int64_t k) {
    const std::int64_t at = row * block_->stride + k;
    const LogitSizes sizes = block_->shapes.empty() ? plain_sizes(block_->s.data()[at])
                                                    : shaped_sizes(*block_, at, row_bias);
    sum += of_keys[k] * error.beta(sizes, qk_squared_.data()[at]);
  });
  return sum;
}

}  // namespace plumbline
