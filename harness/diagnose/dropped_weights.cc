// Compares the errors of some rows with those of independent errors of the weights.
#include "harness/diagnose/dropped_weights.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "harness/reference/key_values.h"
#include "harness/reference/reference.h"

namespace plumbline {
namespace {

constexpr double dropped_cost_limit = 4e6;  // multiply-adds
constexpr std::size_t dropped_worst_rows = 16, fewest_rows = 8;
constexpr double min_variance = 0.01;  // variance of the weights' factors
// A row of one large weight has the variance 1 if that is dropped, otherwise (r / (1 - r))^2.
constexpr double min_row_variance = 1e-3, max_row_variance = 2;
constexpr double max_common_error = 0.4;  // |common factor - 1|

// The squared error of a row, what factors of variance 1 would give, and how the output lies along
// the expected one.
struct RowEnergy {
  double squared = 0, of_factors = 0, along = 0, expected = 0;
};

RowEnergy energy_of(const FailingOutput& failing, const std::vector<double>& got, std::size_t r) {
  const Geometry& geometry = *failing.geometry;
  const RowId& id = failing.reference->selection.rows[r];
  const RowDetail detail = reference_row(geometry, failing.inputs, *failing.spec, id);
  const KeyValues key_values(geometry, failing.inputs.k, failing.inputs.v,
                             InputRounding(*failing.spec));
  const auto columns = static_cast<std::size_t>(failing.reference->columns);
  RowEnergy energy;
  for (std::size_t j = 0; j < columns; ++j) {
    const double o = failing.reference->o[r * columns + j], of_row = got[r * columns + j];
    energy.squared += (of_row - o) * (of_row - o);
    energy.along += of_row * o;
    energy.expected += o * o;
  }
  std::vector<double> value(columns);
  for (std::size_t n = 0; n < detail.p.size(); ++n) {
    if (!(detail.p[n] > 0)) continue;
    key_values.value(id.sample, detail.keys.begin + static_cast<std::int64_t>(n),
                     id.head / geometry.problem().group(), value);
    for (const double v : value) energy.of_factors += detail.p[n] * detail.p[n] * v * v;
  }
  return energy;
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
  RowEnergy all;
  std::vector<double> variances;
  for (const std::size_t r : informative_rows(failing, dropped_worst_rows, dropped_cost_limit)) {
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
  return fmt::format("each weight has an error of its own{}: dropout",
                     failing.outputs.lse == nullptr ? "" : ", and the LSE is right");
}

}  // namespace plumbline
