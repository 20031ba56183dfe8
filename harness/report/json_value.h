// Helpers that all JSON reports share: elements, shares, lists, and text that is not UTF-8. A
// source that includes it pays for the JSON library's templates; documents are passed on as text.
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

// NaN and the infinities, which JSON lacks, are null in its text (docs/json.md), so that a number's
// place never holds a text.
using Json = nlohmann::ordered_json;

// To so many digits, a whole number where it is one: for what is only looked at.
Json rounded(double x, int digits = 4);
inline Json rounded(const std::optional<double>& x) { return x ? rounded(*x) : Json(nullptr); }
template <class T>
Json json_value(const std::optional<T>& value) {
  return value ? Json(json_value(*value)) : Json();
}
Json json_value(const ElementId& element);
// Shares of sigma^2 by the roundings' names.
Json json_value(const std::array<double, rounding_count>& share);

// What `write` makes of each; null pointers stand for no list.
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
// The texts of findings.
Json json_value(const std::vector<Finding>& findings);
// The list `not_judged` of check and diff (check_text.cc).
Json json_value(const std::vector<NotJudged>& not_judged);

// A document's text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& root);
// A document that is text already would become one JSON string.
template <std::same_as<std::string> Text>
std::string json_text(const Text& document) = delete;

}  // namespace plumbline
