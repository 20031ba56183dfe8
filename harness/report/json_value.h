// Helpers that all JSON reports share: numbers, elements, shares, and text that is not UTF-8. A
// source that includes it pays for the JSON library's templates; documents are passed on as text.
#pragma once

#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/outcome/error_statistics.h"

namespace plumbline {

using Json = nlohmann::ordered_json;

// NaN and the infinities, which JSON lacks, are null (docs/json.md), so that a number's place never
// holds a text.
Json json_value(double x);
// The same to so many digits, a whole number where it is one: for what is only looked at.
Json rounded(double x, int digits = 4);
inline Json rounded(const std::optional<double>& x) { return x ? rounded(*x) : Json(nullptr); }
Json element_json(const ElementId& element);
// Shares of sigma^2 by the roundings' names.
Json share_json(const std::array<double, rounding_count>& share);

struct NotJudged;
// The list `not_judged` of check and diff (check_text.cc).
Json not_judged_json(const std::vector<NotJudged>& not_judged);

// A document's text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& root);
// A document that is text already would become one JSON string.
template <std::same_as<std::string> Text>
std::string json_text(const Text& document) = delete;

}  // namespace plumbline
