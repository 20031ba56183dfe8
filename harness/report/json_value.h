// Helpers that all JSON reports share. Include this only in sources: the JSON library's templates
// are slow to compile. Headers pass documents as text.
#pragma once

#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_fields.h"
#include "harness/outcome/error_statistics.h"

namespace plumbline {

// NaN and infinities become null (docs/json.md), so that a number's place never holds a string.
using Json = nlohmann::ordered_json;

// Rounds to `digits` significant digits, for display; whole numbers become integers.
Json rounded(double x, int digits = 4);
inline Json rounded(const std::optional<double>& x) { return x ? rounded(*x) : Json(nullptr); }
template <class T>
Json json_value(const std::optional<T>& value) {
  return value ? Json(json_value(*value)) : Json();
}
Json json_value(const ElementId& element);
// Returns the shares of sigma^2 by the name of their rounding.
Json json_value(const std::array<double, rounding_count>& share);

// Returns the list of `write(item)` for each item; a null pointer gives an empty list.
template <class Range, class Write>
Json json_list(const Range& range, const Write& write) {
  Json list = Json::array();
  for (const auto& one : range) list.push_back(write(one));
  return list;
}
template <class T, class Write>
Json json_list(const std::vector<T>* range, const Write& write) {
  return range == nullptr ? Json::array() : json_list(*range, write);
}

template <class Write>
auto list_of(const Write& write) {
  return [write](const auto& range) { return json_list(range, write); };
}

struct Finding;
struct NotJudged;
// Returns the texts of the findings.
Json json_value(const std::vector<Finding>& findings);
// Returns the list `not_judged` of check and diff (check_text.cc).
Json json_value(const std::vector<NotJudged>& not_judged);

// Returns a document as text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& root);
// Deleted because a document that is already text would become one JSON string.
template <std::same_as<std::string> Text>
std::string json_text(const Text& document) = delete;

}  // namespace plumbline
