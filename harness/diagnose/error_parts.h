// Squared errors of parts of an output, such as heads, rows and columns, and when a part counts as
// right or wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <vector>

#include "harness/compare/statistics.h"
#include "harness/reference/reference.h"

namespace plumbline {

// The squared error of a part: the sum of (e / sigma)^2 over its finite elements. Its mean is about
// 1 if only roundings are left.
struct ErrorPart {
  static constexpr double right_up_to = 4, wrong_from = 25;  // limits of the mean
  double squared = 0, elements = 0;

  double mean() const { return elements > 0 ? squared / elements : 0; }
  bool is_wrong() const { return mean() >= wrong_from; }
  // Returns true if the part is neither clearly right nor clearly wrong.
  bool is_unclear() const { return mean() > right_up_to && !is_wrong(); }
  void add(const ErrorPart& other) { squared += other.squared, elements += other.elements; }
};

// Returns the error of a row of the reference.
ErrorPart error_of_row(const Comparison& comparison, std::size_t columns, std::size_t row);
// Returns the error of each column, over the rows with visible keys.
std::map<std::int64_t, ErrorPart> error_by_column(const Reference& reference,
                                                  const Comparison& comparison);

// Returns the errors of the rows with visible keys, added up by what `part_of` returns for a row.
template <class PartOf>
auto error_by(const Reference& reference, const Comparison& comparison, const PartOf& part_of) {
  std::map<std::decay_t<std::invoke_result_t<PartOf, const RowId&>>, ErrorPart> parts;
  const auto columns = static_cast<std::size_t>(reference.columns);
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    parts[part_of(reference.selection.rows[r])].add(error_of_row(comparison, columns, r));
  }
  return parts;
}

// Returns the indices of the parts that are wrong; nullopt if it is unclear which are.
template <class Index>
std::optional<std::vector<Index>> wrong_parts(const std::map<Index, ErrorPart>& parts) {
  std::vector<Index> wrong;
  for (const auto& [index, part] : parts) {
    if (part.is_unclear()) return std::nullopt;
    if (part.is_wrong()) wrong.push_back(index);
  }
  return wrong;
}

}  // namespace plumbline
