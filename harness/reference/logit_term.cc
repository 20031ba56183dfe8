// The variance of O from errors of the logits, or a bound of it: TL in docs/judging-formulas.md.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/reference/variance_terms.h"

namespace plumbline {
namespace {

// Like negligible_share, a share of TP, for long rows that have only bounds of n2_k. A bound of
// 1e-3 TP moves spre by at most 5e-4 of its value.
constexpr double negligible_bounded_share = 1e-3;

// Bounds TL by (max_k sd_k sqrt(sum_k p_k^2 v_kj^2) + |o_j| sqrt(sum_k p_k^2 sd_k^2))^2 + excess.
// Returns true if this is far below TP in every column.
bool bound_suffices(const BlockSums& sums, std::int64_t row, const Buffer<double>& p_variance,
                    Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  const LogitSums& of_row = sums.logits.sums.data()[row];
  const double share = of_row.are_bounds ? negligible_bounded_share : negligible_share;
  const std::int64_t first = row * block.head->ld;
  bool is_negligible = true;
  for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
    const double o = std::abs(block.o_of(row, j)),
                 of_v = of_row.largest * std::sqrt(sums.p_squared.data()[first + j]);
    double& bound = result.data()[first + j];
    bound = square(of_v + o * std::sqrt(double{of_row.variance})) +
            of_row.excess * square(block.head->column_max.data()[j] + o);
    is_negligible &= bound <= share * p_variance.data()[first + j];
  }
  return is_negligible;
}

bool needs_exact_sum(BlockSums& sums, std::int64_t row, const Buffer<double>& p_variance,
                     Buffer<double>& result) {
  if (bound_suffices(sums, row, p_variance, result)) return false;
  TiedKeys& tied = sums.tied.data()[row];
  if (sums.logits.sums.data()[row].are_bounds) {
    sums.logits.find(row, tied);
    if (bound_suffices(sums, row, p_variance, result)) return false;
  }
  sums.logits.find_excess(row, tied);
  return !bound_suffices(sums, row, p_variance, result);
}

// Returns true if ties add far less than TP to TL in every column. Uses |v - o| <= max |v| + |o|.
bool excess_is_negligible(const BlockSums& sums, std::int64_t row,
                          const Buffer<double>& p_variance) {
  const RowBlock& block = *sums.block;
  const double excess = sums.logits.sums.data()[row].excess;
  for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
    if (!(excess * square(block.head->column_max.data()[j] + std::abs(block.o_of(row, j))) <=
          negligible_share * p_variance.data()[row * block.head->ld + j]))
      return false;
  }
  return true;
}

// Computes sum_k p_k^2 sd_k^2 (v_kj - o_j)^2 + excess of tied keys for these rows.
void sum_exactly(BlockSums& sums, Moments& moments, std::span<const std::int64_t> rows,
                 const Buffer<double>& p_variance, Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  LogitErrors& logits = sums.logits;
  const auto relative_error = [&](std::int64_t r) {
    return [p = logits.p_of(r), sd = logits.sd_of(r), scale = 1 / logits.sums.data()[r].largest](
               std::int64_t k) { return p[k] * (sd[k] * scale); };
  };
  set_weights(block, rows, logits.weights, [&](std::int64_t r) {
    return [error = relative_error(r)](std::int64_t k) { return error(k) * error(k); };
  });
  moments.centered.compute(block, logits.weights, moments.second);
  std::vector<std::int64_t> tied;
  for (const std::int64_t r : rows) {
    const double unit_squared = square(logits.sums.data()[r].largest);
    const std::int64_t first = r * block.head->ld;
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j)
      result.data()[first + j] = unit_squared * moments.second.data()[first + j];
    TiedKeys& of_row = sums.tied.data()[r];
    if (of_row.cells.empty() || excess_is_negligible(sums, r, p_variance)) continue;
    of_row.weigh(unit_squared, relative_error(r));
    tied.push_back(r);
  }
  moments.add_excess(sums, tied, true, result);
}

// Adds the errors of elements of a pre-scaled Q near a tie, which all keys share.
void add_query_ties(const RowBlock& block, std::int64_t row, Buffer<double>& result) {
  const HeadData& head = *block.head;
  std::vector<double> shift(static_cast<std::size_t>(head.dim_vo));
  for (const QueryTie& tie : block.ties.data()[row]) {
    std::ranges::fill(shift, 0);
    block.for_seen(row, [&](std::int64_t k) {
      const double weight = block.p_of(row)[k] * block.shift_by(tie, row, k);
      const double* v = head.v.data() + (block.first_key + k) * head.dim_vo;
      for (std::int64_t j = 0; j < head.dim_vo; ++j)
        shift.data()[j] += weight * (v[j] / head.v_unit - block.o_of(row, j));
    });
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      result.data()[row * head.ld + j] += square(shift.data()[j]) / shared_slack;
  }
}

// Adds e^2 / 3 sum_k p_k a^2 slope_k^2 n2_k y_k^2 for an error e of each product. An element of Q
// has the same error in the products with all keys, and sum_d (sum_k p_k q_d k_kd y_k)^2 is at most
// sum_k p_k n2_k y_k^2.
void add_product_errors(const BlockSums& sums, std::int64_t row, Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  const HeadData& head = *block.head;
  block.for_seen(row, [&](std::int64_t k) {
    const double weight = block.p_of(row)[k] * sums.logits.product_variance(row, k);
    const double* v = head.v.data() + (block.first_key + k) * head.dim_vo;
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      result.data()[row * head.ld + j] += weight * square(v[j] / head.v_unit - block.o_of(row, j));
  });
}

}  // namespace

void logit_error(BlockSums& sums, Moments& moments, const Buffer<double>& p_variance,
                 Buffer<double>& result) {
  const RowBlock& block = *sums.block;
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (needs_exact_sum(sums, r, p_variance, result)) rows.push_back(r);
  }
  if (!rows.empty()) sum_exactly(sums, moments, rows, p_variance, result);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    add_query_ties(block, r, result);
    if (sums.model.product_error > 0) add_product_errors(sums, r, result);
    if (block.sinks.empty()) continue;
    const double error = block.sink(r)->p * sink_sd(*block.sink(r));  // a sink's v is 0
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j)
      result.data()[r * block.head->ld + j] += square(error * block.o_of(r, j));
  }
}

}  // namespace plumbline
