// Numbers, elements and shares as JSON, and the text of a document.
#include "harness/report/json_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace plumbline {

Json json_value(double x) {
  if (std::isfinite(x)) return x;
  return nullptr;
}

Json rounded(double x, int digits) {
  if (!std::isfinite(x)) return nullptr;
  constexpr double most = 1e15;  // whole numbers that a double holds
  const double value = std::strtod(fmt::format("{:.{}g}", x, digits).c_str(), nullptr);
  if (value == std::trunc(value) && std::abs(value) < most) return static_cast<std::int64_t>(value);
  return value;
}

Json element_json(const ElementId& element) {
  return {{"sample", element.sample},
          {"head", element.head},
          {"row", element.row},
          {"column", element.column}};
}

Json share_json(const std::array<double, rounding_count>& share) {
  Json object = Json::object();
  for (const Rounding rounding : all<Rounding>())
    object[std::string(name(rounding))] = json_value(share[static_cast<std::size_t>(rounding)]);
  return object;
}

std::string json_text(const Json& root) {
  return root.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plumbline
