// Writes numbers, elements and shares as JSON, and a document as text.
#include "harness/report/json_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "harness/judge/judgement.h"

namespace plumbline {

Json rounded(double x, int digits) {
  if (!std::isfinite(x)) return nullptr;
  constexpr double most = 1e15;  // a double holds smaller whole numbers exactly
  const double value = std::strtod(fmt::format("{:.{}g}", x, digits).c_str(), nullptr);
  if (value == std::trunc(value) && std::abs(value) < most) return static_cast<std::int64_t>(value);
  return value;
}

Json json_value(const ElementId& element) {
  return {JSON_FIELDS(element, sample, head, row, column)};
}

Json json_value(const std::array<double, rounding_count>& share) {
  Json object = Json::object();
  for (const Rounding rounding : all<Rounding>())
    object[std::string(name(rounding))] = share[static_cast<std::size_t>(rounding)];
  return object;
}

Json json_value(const std::vector<Finding>& findings) {
  return json_list(findings, [](const Finding& finding) { return finding.text; });
}

std::string json_text(const Json& root) {
  return root.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plumbline
