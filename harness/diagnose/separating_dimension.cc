// Compares the squared errors of heads, columns and rows.
#include "harness/diagnose/separating_dimension.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/base/text.h"
#include "harness/diagnose/error_parts.h"

namespace plumbline {
namespace {

// Share of the squared error above which a head or column is named.
constexpr double concentrated = 0.9;

// Returns "heads 1, 3 of 4 are wrong, the others right" if every part is clearly right or wrong;
// otherwise "".
std::string separated(const Reference& reference, LocationKind kind,
                      const std::map<std::int64_t, ErrorPart>& parts) {
  const auto wrong = wrong_parts(parts);
  if (!wrong || wrong->empty() || wrong->size() == parts.size()) return "";
  const bool is_one = wrong->size() == 1;
  // A sample has rows of every head, but not every row.
  const bool is_sample = kind == LocationKind::row && reference.selection.sampled;
  return fmt::format("{}{} {} of {}{} {} wrong, the others right", name(kind), is_one ? "" : "s",
                     in_ranges(*wrong), parts.size(), is_sample ? " compared" : "",
                     is_one ? "is" : "are");
}

}  // namespace

Location separating_dimension(const Reference& reference, const Comparison& comparison) {
  const auto heads = error_by(reference, comparison,
                              [](const RowId&id) { return std::int64_t{id.head}; }),
             columns = error_by_column(reference, comparison),
             positions = error_by(reference, comparison,
                                  [](const RowId&id) { return std::int64_t{id.row}; });
  for (const auto& [kind, parts] : {std::pair{LocationKind::head, &heads},
                                    {LocationKind::column, &columns},
                                    {LocationKind::row, &positions}}) {
    if (const std::string text = separated(reference, kind, *parts); !text.empty())
      return {.kind = kind, .description = fmt::format("{}: {}", name(kind), text), .text = text};
  }
  return {};
}

std::string concentration(const Reference& reference, const Comparison& comparison) {
  const auto& rows = reference.selection.rows;
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::map<std::pair<std::int32_t, std::int32_t>, double> heads;
  std::vector<double> column_energy(columns, 0.0);
  double total = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double energy = error_of_row(comparison, columns, r).squared;
    total += energy;
    heads[{rows[r].sample, rows[r].head}] += energy;
    for (std::size_t j = 0; j < columns; ++j) {
      const double z = comparison.z[r * columns + j];
      if (std::isfinite(z)) column_energy[j] += z * z;
    }
  }
  std::string text;
  const auto head = std::ranges::max_element(
      heads, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (heads.size() > 1 && head->second > concentrated * total) {
    text += fmt::format(", {:.0f} % of the squared error in head {} of sample {}",
                        100 * head->second / total, head->first.second, head->first.first);
  }
  const auto column = std::ranges::max_element(column_energy);
  if (columns > 1 && *column > concentrated * total) {
    text += fmt::format(", {:.0f} % of the squared error in column {}", 100 * *column / total,
                        column - column_energy.begin());
  }
  return text;
}

}  // namespace plumbline
