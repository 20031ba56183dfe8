// Helpers that all JSON reports share: numbers, elements, shares, and text that is not UTF-8.
#pragma once

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/outcome/error_statistics.h"

namespace plumbline {

using Json = nlohmann::ordered_json;

// NaN and the infinities, which JSON lacks, are null (docs/json.md), so that a number's place never
// holds a text.
inline Json json_value(double x) {
  if (std::isfinite(x)) return x;
  return nullptr;
}

inline Json element_json(const ElementId& element) {
  return {{"sample", element.sample},
          {"head", element.head},
          {"row", element.row},
          {"column", element.column}};
}

// Shares of sigma^2 by the roundings' names.
inline Json share_json(const std::array<double, rounding_count>& share) {
  Json object = Json::object();
  for (const Rounding rounding : all<Rounding>())
    object[std::string(name(rounding))] = json_value(share[static_cast<std::size_t>(rounding)]);
  return object;
}

// A document's text; bytes that are not UTF-8 become U+FFFD.
inline std::string json_text(const Json& root) {
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumbline
