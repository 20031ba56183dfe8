// Looks at single elements and rows of the compared output.
#include "harness/diagnose/single_places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace plumbline {
namespace {

constexpr std::size_t max_elements = 8, max_rows = 8;

}  // namespace

std::string few_elements(const FailingOutput& failing) {
  const Comparison& comparison = *failing.comparison;
  const Reference& reference = *failing.reference;
  ErrorStatistics others = comparison.statistics;
  if (others.elements == 0 || failing.faults->nan > 0 || failing.faults->inf > 0) return "";
  std::vector<std::size_t> wrong;
  double squares = 0;
  for (std::size_t i = 0; i < comparison.z.size(); ++i) {
    const double z = std::abs(double{comparison.z[i]});
    if (z <= failing.limits.peak) {
      squares += z * z;
      continue;
    }
    wrong.push_back(i);
    if (wrong.size() > max_elements) return "";
  }
  const auto right = static_cast<double>(comparison.z.size() - wrong.size());
  if (wrong.empty() || right == 0 || std::sqrt(squares / right) > failing.limits.rms) return "";
  if (others.has_lse && others.lse_z > failing.limits.lse) return "";
  std::vector<std::string> places;
  for (const std::size_t i : wrong) {
    const auto columns = static_cast<std::size_t>(reference.columns);
    const RowId& id = reference.selection.rows[i / columns];
    places.push_back(fmt::format("column {} of row {}, head {}, sample {}", i % columns, id.row,
                                 id.head, id.sample));
  }
  const std::string count =
      wrong.size() == 1 ? "one element is" : fmt::format("{} elements are", wrong.size());
  return fmt::format("{} wrong, all others are right: {}", count, fmt::join(places, "; "));
}

std::string rows_without_answer(const FailingOutput& failing) {
  if (failing.outputs.lse == nullptr) return "";
  const Reference& reference = *failing.reference;
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, reference);
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::map<std::int64_t, std::vector<std::int64_t>> rows;  // by sample
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    const RowId& id = reference.selection.rows[r];
    const double lse = lse_at(*failing.geometry, failing.outputs, id);
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(r * columns);
    const bool zeros = std::all_of(begin, begin + static_cast<std::ptrdiff_t>(columns),
                                   [](double x) { return x == 0; });
    if (!zeros || !std::isinf(lse) || lse > 0) continue;
    std::vector<std::int64_t>& of_sample = rows[id.sample];
    if (std::ranges::find(of_sample, id.row) == of_sample.end()) of_sample.push_back(id.row);
  }
  if (rows.empty()) return "";
  auto& [sample, first] = *rows.begin();
  std::ranges::sort(first);
  const bool is_cut = first.size() > max_rows;
  if (is_cut) first.resize(max_rows);
  return fmt::format(
      "row{} {}{} of sample {}{} answer{} as if {} saw no key: O is 0 and the LSE "
      "-infinity, but keys are visible",
      first.size() == 1 ? "" : "s", fmt::join(first, ", "), is_cut ? " …" : "", sample,
      rows.size() > 1 ? " and of other samples" : "", first.size() == 1 ? "s" : "",
      first.size() == 1 ? "it" : "they");
}

}  // namespace plumbline
