// Compares the errors of some rows with those that independent errors of the weights cause, and
// finds out which weights of a row are dropped.
#include "harness/diagnose/dropped_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "harness/reference/row_replay.h"

namespace plumbline {
namespace {

constexpr double dropped_cost_limit = 4e6;  // multiply-adds
constexpr std::size_t dropped_worst_rows = 16, fewest_rows = 8;
constexpr double min_variance = 0.01;  // variance of the weights' factors
// The variance of a row of one large weight is 1 if it loses that weight, otherwise (r / (1 -
// r))^2.
constexpr double min_row_variance = 1e-3, max_row_variance = 2;
constexpr double max_common_error = 0.4;  // |common factor - 1|

// Rows whose weights are fitted. Factors of 0 and one other number are unique if a row has fewer
// keys than twice its columns.
constexpr std::size_t max_fitted_rows = 4, min_fitted_rows = 2, min_fitted_keys = 4;
constexpr std::size_t max_fitted_elements = 20'000;  // keys times columns of a row
constexpr int factor_passes = 6, descent_sweeps = 30;
constexpr double fit_lenience = 2;      // factor of the limits, as for other recomputed rows
constexpr double min_telling_size = 6;  // norm of a weight times V, in sigma
constexpr double max_share_error = 4;   // standard deviations of the share of dropped weights

// A row's squared error and its mean under factors of variance 1; <output, expected> and <expected,
// expected>.
struct RowEnergy {
  double squared = 0, of_factors = 0, along = 0, expected = 0;
};

RowEnergy energy_of(const FailingOutput& failing, const std::vector<double>& got, std::size_t r) {
  const Geometry& geometry = *failing.geometry;
  const RowId& id = failing.reference->selection.rows[r];
  const ReferenceContext context(geometry, failing.inputs, *failing.spec);
  RowReplay replay(context, id);
  const RowDetail detail = replay.row(id);
  const auto columns = static_cast<std::size_t>(failing.reference->columns);
  RowEnergy energy;
  for (std::size_t j = 0; j < columns; ++j) {
    const double o = failing.reference->o[r * columns + j], of_row = got[r * columns + j];
    energy.squared += (of_row - o) * (of_row - o);
    energy.along += of_row * o;
    energy.expected += o * o;
  }
  for (std::size_t n = 0; n < detail.p.size(); ++n) {
    if (!(detail.p[n] > 0)) continue;
    for (const double v : replay.value(detail.keys.begin + static_cast<std::int64_t>(n)))
      energy.of_factors += detail.p[n] * detail.p[n] * v * v;
  }
  return energy;
}

// A row's output, and the part of it that each key adds (weight times V), in units of sigma.
class FittedRow {
 public:
  FittedRow(const FailingOutput& failing, const std::vector<double>& got, std::size_t r)
      : columns_(static_cast<std::size_t>(failing.reference->columns)) {
    const Geometry& geometry = *failing.geometry;
    const RowId& id = failing.reference->selection.rows[r];
    const ReferenceContext context(geometry, failing.inputs, *failing.spec);
    RowReplay replay(context, id);
    const RowDetail detail = replay.row(id);
    const float* sigma = &failing.reference->sigma[r * columns_];
    for (std::size_t j = 0; j < columns_; ++j) got_.push_back(got[r * columns_ + j] / sigma[j]);
    for (std::size_t n = 0; n < detail.p.size(); ++n) {
      if (!(detail.p[n] > 0)) continue;
      const auto value = replay.value(detail.keys.begin + static_cast<std::int64_t>(n));
      for (std::size_t j = 0; j < columns_; ++j)
        parts_.push_back(detail.p[n] * value[j] / sigma[j]);
      const auto part = part_of(squares_.size());
      squares_.push_back(std::inner_product(part.begin(), part.end(), part.begin(), 0.0));
    }
    kept_.assign(squares_.size(), true);
  }

  // Returns true if the fit of a row with this number of keys is unique and costs little.
  static bool is_unique(std::size_t keys, std::size_t columns) {
    return keys >= min_fitted_keys && keys < 2 * columns && keys * columns <= max_fitted_elements;
  }

  // Decides which weights are dropped if the others are multiplied by `factor`.
  void fit(double factor) {
    descend(factor);
    flip(factor);
  }
  // Adds <output, kept> and <kept, kept>, in which `kept` is the sum of the kept parts. Their ratio
  // is the factor that fits best.
  void add_factor(double& along, double& squared) const {
    const std::vector<double> left = residual(1);
    for (std::size_t j = 0; j < columns_; ++j) {
      const double kept = got_[j] - left[j];
      along += kept * got_[j], squared += kept * kept;
    }
  }
  bool is_explained(double factor, const Limits& limits) const {
    double largest = 0, squared = 0;
    for (const double z : residual(factor)) {
      largest = std::max(largest, std::abs(z)), squared += z * z;
    }
    const double lenient = fit_lenience * factor;
    return largest <= lenient * limits.peak &&
           squared <= std::pow(lenient * limits.rms, 2) * static_cast<double>(columns_);
  }
  // Counts the weights that are large enough to show if they are dropped.
  void count_telling(double& all, double& dropped) const {
    for (std::size_t n = 0; n < keys(); ++n) {
      if (squares_[n] < min_telling_size * min_telling_size) continue;
      ++all;
      dropped += kept_[n] ? 0 : 1;
    }
  }

 private:
  std::size_t keys() const { return squares_.size(); }
  std::span<const double> part_of(std::size_t n) const {
    return std::span(parts_).subspan(n * columns_, columns_);
  }
  static void subtract(std::span<const double> part, double by, std::vector<double>& from) {
    for (std::size_t j = 0; j < from.size(); ++j) from[j] -= by * part[j];
  }
  double along(std::size_t n, const std::vector<double>& left) const {
    const auto part = part_of(n);
    return std::inner_product(part.begin(), part.end(), left.begin(), 0.0);
  }
  std::vector<double> residual(double factor) const {
    std::vector<double> left = got_;
    for (std::size_t n = 0; n < keys(); ++n) {
      if (kept_[n]) subtract(part_of(n), factor, left);
    }
    return left;
  }

  // Minimises the squared error over factors between 0 and `factor`, then rounds them to the ends.
  void descend(double factor) {
    std::vector<double> factors(keys(), 1.0), left = got_;
    for (std::size_t n = 0; n < keys(); ++n) subtract(part_of(n), 1, left);
    for (int sweep = 0; sweep < descent_sweeps; ++sweep) {
      for (std::size_t n = 0; n < keys(); ++n) {
        if (!(squares_[n] > 0)) continue;
        const double better = std::clamp(factors[n] + along(n, left) / squares_[n], 0.0, factor);
        subtract(part_of(n), better - factors[n], left);
        factors[n] = better;
      }
    }
    for (std::size_t n = 0; n < keys(); ++n) kept_[n] = factors[n] > factor / 2;
  }

  // Drops or keeps one weight at a time while the squared error falls.
  void flip(double factor) {
    std::vector<double> left = residual(factor);
    for (std::size_t count = 0; count < 2 * keys(); ++count) {
      double least = 0;
      std::size_t best = keys();
      for (std::size_t n = 0; n < keys(); ++n) {
        const double change = kept_[n] ? -factor : factor,
                     squared = change * change * squares_[n] - 2 * change * along(n, left);
        if (squared < least) least = squared, best = n;
      }
      if (best == keys()) return;
      subtract(part_of(best), kept_[best] ? -factor : factor, left);
      kept_[best] = !kept_[best];
    }
  }

  const std::size_t columns_;
  std::vector<double> got_, parts_;  // [columns], [keys, columns]
  std::vector<double> squares_;      // of the parts, [keys]
  std::vector<bool> kept_;           // [keys]
};

// Returns true if factors of 0 and 1 / (1 - p) explain some rows, and about p of their weights are
// dropped. `variance` is that of the factors, p / (1 - p).
bool has_two_factors(const FailingOutput& failing, const std::vector<double>& got,
                     const std::vector<std::size_t>& indices, double variance) {
  std::vector<FittedRow> rows;
  for (const std::size_t r : indices) {
    if (rows.size() == max_fitted_rows || failing.late()) break;
    const Reference& reference = *failing.reference;
    if (FittedRow::is_unique(static_cast<std::size_t>(reference.visible[r]),
                             static_cast<std::size_t>(reference.columns)))
      rows.emplace_back(failing, got, r);
  }
  if (rows.size() < min_fitted_rows) return false;
  double factor = 1 + variance;
  for (int pass = 0; pass < factor_passes; ++pass) {
    if (failing.late()) return false;
    double along = 0, squared = 0;
    for (FittedRow& row : rows) {
      row.fit(factor);
      row.add_factor(along, squared);
    }
    if (!(squared > 0) || !(along > squared)) return false;
    factor = along / squared;
  }
  double all = 0, dropped = 0;
  for (FittedRow& row : rows) {
    if (!row.is_explained(factor, failing.limits)) return false;
    row.count_telling(all, dropped);
  }
  const double p = 1 - 1 / factor;
  return dropped > 0 &&
         std::abs(dropped - p * all) <= max_share_error * std::sqrt(p * (1 - p) * all);
}

}  // namespace

std::string dropped_weights(const FailingOutput& failing) {
  const ErrorStatistics& statistics = failing.comparison->statistics;
  const bool lse_is_right = failing.outputs.lse == nullptr || !statistics.has_lse ||
                            within(statistics.lse_z, failing.limits.lse);
  if (!lse_is_right || failing.location->kind != LocationKind::none ||
      failing.geometry->problem().is_merge())
    return "";
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, *failing.reference);
  const auto indices = informative_rows(failing, dropped_worst_rows, dropped_cost_limit);
  RowEnergy all;
  std::vector<double> variances;
  for (const std::size_t r : indices) {
    const RowEnergy row = energy_of(failing, got, r);
    if (!(row.of_factors > 0) || !std::isfinite(row.squared)) return "";
    variances.push_back(row.squared / row.of_factors);
    all.squared += row.squared, all.of_factors += row.of_factors;
    all.along += row.along, all.expected += row.expected;
  }
  if (variances.size() < fewest_rows || !(all.expected > 0)) return "";
  const double variance = all.squared / all.of_factors;
  if (!(variance >= min_variance) || std::abs(all.along / all.expected - 1) > max_common_error)
    return "";
  for (const double of_row : variances) {
    if (!(of_row >= min_row_variance && of_row <= max_row_variance)) return "";
  }
  if (!has_two_factors(failing, got, indices, variance)) return "";
  return fmt::format("each weight is dropped or multiplied by one number{}: dropout",
                     failing.outputs.lse == nullptr ? "" : ", and the LSE is right");
}

}  // namespace plumbline
