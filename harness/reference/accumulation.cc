// The variance of O from accumulating P V (TA) and from storing partial sums (TR), as in
// docs/judging-formulas.md. Bounds may replace R_j and the losses of small products ("Bounded
// scales" there).
#include <cmath>

#include "harness/reference/variance_terms.h"

namespace plumbline {
namespace {

// Like negligible_share, for bounds of R_j in long rows: 0.5 % of spre.
constexpr double negligible_range_share = 1e-2;

// Counts the addends of a column's sum, and of l, that repeat one rounding error.
class Repeated {
 public:
  Repeated(const BlockSums& sums, std::int64_t row)
      : n_(static_cast<double>(sums.block->count(row))),
        share_(sums.repeated_p.data()[row]),
        of_columns_(sums.repeated_v.data()[row].empty() ? nullptr
                                                        : sums.repeated_v.data()[row].data()) {}
  double in_column(std::int64_t column) const {
    return repeated_addends(n_, share_ * of_v(column));
  }
  // Returns S_vj, or 0 if it is not needed.
  double of_v(std::int64_t column) const {
    return of_columns_ == nullptr ? 0 : of_columns_[column];
  }
  double in_l() const { return repeated_addends(n_, share_); }

 private:
  double n_, share_;
  const double* of_columns_;
};

// Returns true if t_k, the truncation loss of a product, may be set to f R_j for all keys
// (column_passes.h). TA must hardly depend on the t_k of small keys, which lie between 0 and f R_j.
// counted_loss() makes at most 2.8 f R_j of such a t_k.
bool small_keys_are_negligible(const BlockSums& sums, const Buffer<double>& p_variance,
                               std::int64_t row) {
  const RowBlock& block = *sums.block;
  const AccumulationModel& pv = sums.model.pv;
  const double loss = step_loss(pv, block.count(row));
  const auto small_keys = static_cast<double>(sums.truncation.small_keys.data()[row]);
  for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
    const std::int64_t at = row * block.head->ld + j;
    const double range = sums.range.data()[at], largest_t = pv.f * range,
                 shift = small_keys * 1.8 * largest_t / 6;
    const double drift = truncation_drift(sums.truncation.signed_sum.data()[at], range, loss);
    const double change = shift * (2 * drift + shift) + small_keys * square(largest_t) / 6;
    if (!(change <= negligible_share * p_variance.data()[at])) return false;
  }
  return true;
}

void find_truncation(BlockSums& sums, std::span<const std::int64_t> rows,
                     const Buffer<double>& p_variance) {
  if (!sums.model.pv.toward_zero) return;
  const auto small_keys_matter = [&](std::int64_t row) {
    return !small_keys_are_negligible(sums, p_variance, row);
  };
  truncation_sums(*sums.block, sums.logits.p, sums.range, static_cast<float>(sums.model.pv.f), rows,
                  small_keys_matter, sums.truncation);
}

// Returns true if every R_j within its bounds gives nearly the same variance as sums.range. With
// `truncation`, this includes the terms of truncated products, in which t_k = f R_j except for
// small keys. If R_j changes by d, the signed sum S changes by at most (|S| / R_j + 10 f n) d for n
// small keys.
bool range_bounds_suffice(const BlockSums& sums, const Buffer<double>& p_variance, std::int64_t row,
                          bool truncation) {
  const RowBlock& block = *sums.block;
  const AccumulationModel& pv = sums.model.pv;
  const double share = block.count(row) < long_row ? negligible_share : negligible_range_share;
  const auto n = static_cast<double>(block.count(row));
  const double loss = step_loss(pv, block.count(row)),
               of_partials = kappa * square(sums.model.u_split) +
                             std::ceil(n / smallest_tile) * kappa / 2 * square(sums.model.u_tile);
  const Repeated repeated(sums, row);
  for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
    const std::int64_t at = row * block.head->ld + j;
    const double range = sums.range.data()[at], high = block.prefixes.range(row, j),
                 low = block.prefixes.edge_range(row, j);
    const double squares = (square(high) - square(low)) / 2;
    double change = (square(0.3 * pv.u * repeated.in_column(j)) + of_partials) * squares;
    if (truncation && pv.toward_zero) {
      const double signed_sum = std::abs(sums.truncation.signed_sum.data()[at]);
      const double small = 10 * pv.f * static_cast<double>(sums.truncation.small_keys.data()[row]);
      const double shift =
          std::max(high - range, range - low) * (signed_sum / range + small + loss) / 6;
      change += shift * (2 * truncation_drift(signed_sum, range, loss) + shift) +
                n * square(pv.f) * squares / 6;
    }
    if (!(change <= share * p_variance.data()[at])) return false;
  }
  return true;
}

}  // namespace

// If the bounds of R_j are close enough, R_j^2 is the mean of their squares.
void find_ranges(BlockSums& sums, const Buffer<double>& p_variance) {
  const RowBlock& block = *sums.block;
  sums.range.assign(sums.elements(), 0);
  std::vector<std::int64_t> bounded, exact;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
      sums.range.data()[r * block.head->ld + j] = std::sqrt(
          (square(block.prefixes.range(r, j)) + square(block.prefixes.edge_range(r, j))) / 2);
    }
    (range_bounds_suffice(sums, p_variance, r, false) ? bounded : exact).push_back(r);
  }
  find_truncation(sums, bounded, p_variance);
  for (const std::int64_t r : bounded) {
    if (!range_bounds_suffice(sums, p_variance, r, true)) exact.push_back(r);
  }
  prefix_ranges(block, sums.logits.p, exact, sums.range);
  find_truncation(sums, exact, p_variance);
}

void find_seen_max(const RowBlock& block, std::int64_t row, std::vector<double>& seen_max) {
  const HeadData& head = *block.head;
  seen_max.assign(static_cast<std::size_t>(head.dim_vo), 0);
  block.for_seen(row, [&](std::int64_t k) {
    const float* v = head.v_abs.data() + (block.first_key + k) * head.ld;
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      seen_max.data()[j] = std::max(seen_max.data()[j], double{v[j]});
  });
}

void accumulation(const BlockSums& sums, Buffer<double>& result, Buffer<double>& partials) {
  const RowBlock& block = *sums.block;
  const Model& model = sums.model;
  const bool stores_partials = model.u_split > 0 || model.u_tile > 0;
  const bool scaled_outside = block.head->scaled_outside;
  std::vector<double> seen_max;  // max |v_kj| / v_unit over the row's keys, for ring updates
  for (std::int64_t r = 0; r < block.rows; ++r) {
    if (model.ring_update) find_seen_max(block, r, seen_max);
    const double of_sums = error_of_sums(model, scaled_outside, block.lse.data()[r]);
    const Repeated repeated(sums, r);
    const Accumulation of_pv(
        model.pv, block.count(r), repeated.in_l(),
        smallest_sum(model, block.total.data()[r], block.head->v_unit / block.head->factor_of_sums),
        model.reciprocal_error, model.product_error, of_sums);
    for (std::int64_t j = 0; j < block.head->dim_vo; ++j) {
      const std::int64_t at = r * block.head->ld + j;
      ColumnSums of_column{block.o_of(r, j), sums.p_squared.data()[at], sums.range.data()[at]};
      of_column.repeated = repeated.in_column(j);
      of_column.repeated_v = repeated.of_v(j);
      if (stores_partials) {
        partials.data()[at] = stored_partials(model, block.head->v_unit, block.count(r), of_column);
      }
      if (of_pv.toward_zero) {
        of_column.truncated = sums.truncation.signed_sum.data()[at];
        of_column.truncated_squares = sums.truncation.square_sum.data()[at];
      }
      // Ring attention's O -= w (O - O_i) rounds at the size of the previous O.
      const double largest = model.ring_update ? seen_max.data()[j]
                             : model.merges    ? block.head->column_max.data()[j]
                                               : 0;
      const double least = std::max(min_error, u32 * largest);
      result.data()[at] = of_pv.variance(of_column, least);
    }
  }
}

}  // namespace plumbline
