// The variance of O that rounding P, accumulating and splitting make. docs/judging.md, TP, TA and
// TR.
#include <cmath>
#include <functional>
#include <numeric>

#include "harness/reference/scales.h"

namespace plumbline {
namespace {

// As negligible_share, for the bounds of R_j in long rows: 0.5 % of spre.
constexpr double negligible_range_share = 1e-2;
// Of the largest |v|, what weights below `negligible_weight` may add up to: no scale is smaller, so
// that a column whose heavy keys all have v = 0 is not judged by an error of 0.
constexpr double least_error = 0x1p-48;

}  // namespace

// TP. With a denominator from the rounded P the weights sum to 1, and only v - o carries error.
void BlockScales::p_rounding() {
  const HeadData& head = *block_->head;
  const bool about_o = model_.denominator_from_rounded_p;
  // p_k^2 of add_row(), or of exact logit errors
  product(*block_, weights_, head.v_squared, p_squared_moment_);

  Buffer<double>& result = of(Rounding::p);
  const double unit_squared = square(model_.u_p);
  if (!about_o && model_.eta_p == 0) {
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = unit_squared * kappa * p_squared_moment_[i];
  } else {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows_));
    std::iota(all.begin(), all.end(), 0);
    set_weights(all, [&](std::int64_t r) {
      return [p = block_->p.data() + r * stride_, weights = p_weights(r)](std::int64_t k) {
        return weights.independent(p[k]);
      };
    });
    if (about_o) {
      centered_moment_.compute(*block_, weights_, result);
      for (double& variance : result) variance *= unit_squared;
    } else {
      product(*block_, weights_, head.v_squared, first_);
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = unit_squared * first_[i];
    }
  }
  std::vector<std::int64_t> tied;
  for (std::int64_t r = 0; r < rows_; ++r) {
    if (p_cells(r).empty()) continue;
    tied.push_back(r);
    if (model_.eta_p == 0) {
      // the weights are P, as bound_logit_excess() left them
      tied_unit_.data()[r] = unit_squared * kappa_coherent;
    } else {
      set_tied_weights(r, unit_squared,
                       [p = p_.data() + r * stride_, weights = p_weights(r)](std::int64_t k) {
                         return weights.coherent(p[k]);
                       });
    }
  }
  add_cell_excess(tied, about_o, Rounding::p);
}

// R_j: exact for the rows that need it. For the others R_j^2 is the mean of those of its bounds.
void BlockScales::find_ranges() {
  range_.assign(static_cast<std::size_t>(rows_ * ld_), 0);
  std::vector<std::int64_t> bounded, exact;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const PrefixBounds& bounds = block_->prefixes;
    for (std::int64_t j = 0; j < columns_; ++j) {
      range_.data()[r * ld_ + j] =
          std::sqrt((square(bounds.range(r, j)) + square(bounds.edge_range(r, j))) / 2);
    }
    (range_bounds_suffice(r, false) ? bounded : exact).push_back(r);
  }
  find_truncation(bounded);
  for (const std::int64_t r : bounded) {
    if (!range_bounds_suffice(r, true)) exact.push_back(r);
  }
  prefix_ranges(*block_, p_, exact, range_);
  find_truncation(exact);
}

void BlockScales::find_truncation(std::span<const std::int64_t> rows) {
  if (!model_.pv.toward_zero) return;
  const auto small_keys_matter = [&](std::int64_t row) { return !small_keys_are_negligible(row); };
  truncation_sums(*block_, p_, range_, static_cast<float>(model_.pv.f), rows, small_keys_matter,
                  truncation_);
}

// Whether TA stays near that of t = f R_j for all keys, with t of small keys anywhere between that
// and 0.
bool BlockScales::small_keys_are_negligible(std::int64_t row) const {
  const double loss = step_loss(row);
  const auto small_keys = static_cast<double>(truncation_.small_keys.data()[row]);
  const double* p_variance = variance_[static_cast<std::size_t>(Rounding::p)].data() + row * ld_;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const std::int64_t at = row * ld_ + j;
    const double largest_t = model_.pv.f * range_.data()[at], shift = small_keys * largest_t / 6;
    const double change =
        shift * (2 * drift(at, loss) + shift) + small_keys * square(largest_t) / 6;
    if (!(change <= negligible_share * p_variance[j])) return false;
  }
  return true;
}

// Whether the variance, with R_j anywhere within its bounds, stays near that with range_.
// `truncation`: with what depends on the sums of truncated products. Of these, t = f R_j but for
// the small keys, so that a signed sum S changes by |S| / R_j + 2 f (small keys) times the change
// of R_j at most.
bool BlockScales::range_bounds_suffice(std::int64_t row, bool truncation) const {
  const double share = block_->count(row) < long_row ? negligible_share : negligible_range_share;
  const AccumulationModel& pv = model_.pv;
  const double n = static_cast<double>(block_->count(row)),
               tied_keys = static_cast<double>(p_cells(row).keys.size());
  const double weight = square(0.3 * pv.u * tied_keys) + kappa * square(model_.u_split),
               loss = step_loss(row);
  const double* p_variance = variance_[static_cast<std::size_t>(Rounding::p)].data() + row * ld_;
  for (std::int64_t j = 0; j < columns_; ++j) {
    const double range = range_.data()[row * ld_ + j], high = block_->prefixes.range(row, j),
                 low = block_->prefixes.edge_range(row, j);
    const double squares = (square(high) - square(low)) / 2;
    double change = weight * squares;
    if (truncation && pv.toward_zero) {
      const double signed_sum = std::abs(truncation_.signed_sum.data()[row * ld_ + j]);
      const double small = 2 * pv.f * static_cast<double>(truncation_.small_keys.data()[row]);
      const double shift =
          std::max(high - range, range - low) * (signed_sum / range + small + loss) / 6;
      change += shift * (2 * drift(row * ld_ + j, loss) + shift) + n * square(pv.f) * squares / 6;
    }
    if (!(change <= share * p_variance[j])) return false;
  }
  return true;
}

// TA
void BlockScales::accumulation() {
  const AccumulationModel& pv = model_.pv;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const auto n = static_cast<double>(block_->count(r));
    const auto tied_keys = static_cast<double>(p_cells(r).keys.size());
    const double loss = step_loss(r);
    double* result = of(Rounding::accumulation).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double range = range_.data()[at];
      result[j] =
          square(pv.u) * (n / 3 + 4) * (0.3 * square(o(r, j)) + p_squared_moment_.data()[at]) +
          square(0.3 * pv.u * tied_keys * range) + square(least_error);
      if (block_->head->scaled_outside) result[j] += square(u32 * o(r, j));
      if (!pv.toward_zero) continue;
      result[j] += square(drift(at, loss)) + truncation_.square_sum.data()[at] / 6.0;
    }
  }
}

// TR
void BlockScales::split_partials() {
  if (model_.u_split == 0) return;
  const double near_zero = square(model_.eta_split / block_->head->v_unit) / 3;
  for (std::int64_t r = 0; r < rows_; ++r) {
    double* result = of(Rounding::split_partials).data() + r * ld_;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t at = r * ld_ + j;
      const double partial =
          std::max(square(range_.data()[at]), square(o(r, j)) + p_squared_moment_.data()[at]);
      result[j] = kappa * square(model_.u_split) * partial + near_zero;
    }
  }
}

}  // namespace plumbline
