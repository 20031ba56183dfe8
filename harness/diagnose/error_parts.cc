// Sums the squared errors of rows and columns.
#include "harness/diagnose/error_parts.h"

#include <cmath>

namespace plumbline {

ErrorPart error_of_row(const Comparison& comparison, std::size_t columns, std::size_t row) {
  ErrorPart part;
  for (std::size_t j = 0; j < columns; ++j) {
    const double z = comparison.z[row * columns + j];
    if (std::isfinite(z)) part.add({z * z, 1});
  }
  return part;
}

std::map<std::int64_t, ErrorPart> error_by_column(const Reference& reference,
                                                  const Comparison& comparison) {
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::vector<ErrorPart> of_columns(columns);
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    for (std::size_t j = 0; j < columns; ++j) {
      const double z = comparison.z[r * columns + j];
      if (std::isfinite(z)) of_columns[j].add({z * z, 1});
    }
  }
  std::map<std::int64_t, ErrorPart> parts;
  for (std::size_t j = 0; j < columns; ++j) {
    if (of_columns[j].elements > 0) parts[static_cast<std::int64_t>(j)] = of_columns[j];
  }
  return parts;
}

}  // namespace plumbline
