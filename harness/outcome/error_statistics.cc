// Describes an element's position in words, for messages.
#include "harness/outcome/error_statistics.h"

#include <fmt/format.h>

namespace plumbline {

std::string at(const ElementId& element) {
  const std::string row =
      fmt::format("sample {} head {} row {}", element.sample, element.head, element.row);
  if (const auto output = row_output_at(element.column))
    return fmt::format("the {} of {}", table_row(*output).words, row);
  return fmt::format("{} column {}", row, element.column);
}

}  // namespace plumbline
