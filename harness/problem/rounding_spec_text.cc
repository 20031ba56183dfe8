// Writes, reads and describes rounding specs as text, such as "p_dtype=bf16 p_prescale=1 …".
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "harness/base/text.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

std::string value_text(DType dtype) { return std::string(name(dtype)); }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(MaximumOfP maximum) { return std::string(name(maximum)); }
std::string value_text(int lse_base) { return lse_base == 0 ? "e" : std::to_string(lse_base); }
std::string value_text(const Accumulator& a) {
  return fmt::format("{}/{}/{}/{}", name(a.dtype), a.toward_zero ? "toward_zero" : "nearest",
                     a.fraction_bits, a.products_per_step);
}

template <class T>
bool assign(const std::optional<T>& parsed, T& target) {
  if (parsed) target = *parsed;
  return parsed.has_value();
}

bool parse_value(std::string_view text, DType& dtype) { return assign(parse<DType>(text), dtype); }
bool parse_value(std::string_view text, double& value) { return assign(parse_real(text), value); }
bool parse_value(std::string_view text, bool& value) { return assign(parse_boolean(text), value); }
bool parse_value(std::string_view text, MaximumOfP& maximum) {
  return assign(parse<MaximumOfP>(text), maximum);
}
bool parse_value(std::string_view text, int& lse_base) {
  lse_base = text == "2" ? 2 : 0;
  return text == "2" || text == "e";
}

bool parse_count(std::string_view text, int& count) {
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return false;
  count = static_cast<int>(*number);
  return true;
}

bool parse_value(std::string_view text, Accumulator& accumulator) {
  return assign(parse_accumulator(text), accumulator);
}

// Returns "name=value" of each field for which `shown` returns true, separated by spaces.
template <class Shown>
std::string join_fields(const RoundingSpec& spec, Shown&& shown) {
  std::string text;
  for_each_spec_field([&](std::string_view field, auto, auto of) {
    const std::string value = value_text(of(spec));
    if (shown(of, value)) text += fmt::format("{}{}={}", text.empty() ? "" : " ", field, value);
  });
  return text;
}

}  // namespace

std::optional<Accumulator> parse_accumulator(std::string_view text) {
  const auto parts = split(text, '/');
  Accumulator a;
  if (parts.size() != 4 || (parts[1] != "nearest" && parts[1] != "toward_zero") ||
      !parse_value(parts[0], a.dtype) || !parse_count(parts[2], a.fraction_bits) ||
      !parse_count(parts[3], a.products_per_step))
    return std::nullopt;
  a.toward_zero = parts[1] == "toward_zero";
  return a;
}

std::string spec_text(const RoundingSpec& spec) {
  return join_fields(spec, [](auto, const std::string&) { return true; });
}

std::string describe(const RoundingSpec& spec, const Problem& problem, std::string_view arch) {
  const RoundingSpec strict = strict_spec(problem, arch);
  const std::string text = join_fields(
      spec, [&](auto of, const std::string& value) { return value != value_text(of(strict)); });
  return text.empty() ? "strict" : text;
}

// Later fields that an older text lacks keep their defaults.
Result<RoundingSpec> parse_spec_text(std::string_view text) {
  const auto parts = split(text, ' ');
  RoundingSpec spec;
  Errors errors;
  std::size_t next = 0;
  std::string_view missing;  // the first field that no text may lack
  for_each_spec_field([&](std::string_view field, auto, auto of) {
    const std::string_view part = next < parts.size() ? parts[next] : "";
    const std::size_t equals = part.find('=');
    if (part.substr(0, equals) != field) {
      if (missing.empty() &&
          std::ranges::find(later_spec_fields, field) == std::end(later_spec_fields))
        missing = field;
      return;
    }
    ++next;
    if (equals == std::string_view::npos || !parse_value(part.substr(equals + 1), of(spec)))
      errors.push_back({"", 0, fmt::format("\"{}\" has no valid value of {}", part, field), ""});
  });
  if (next == 0 || next < parts.size()) {
    errors.push_back({"", 0,
                      fmt::format("\"{}\" is not the next field of a rounding spec",
                                  next < parts.size() ? parts[next] : text),
                      ""});
  } else if (!missing.empty()) {
    errors.push_back({"", 0, fmt::format("\"{}\" lacks the field {}", text, missing), ""});
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return spec;
}

}  // namespace plumbline
