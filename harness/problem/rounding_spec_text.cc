// Writes, reads and describes the canonical text of a rounding spec, by one table of fields. For
// example "p_dtype=bf16 p_prescale=1 …".
#include <fmt/format.h>

#include <array>
#include <limits>

#include "harness/base/text.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {
namespace {

std::string value_text(DType dtype) { return std::string(name(dtype)); }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
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
  const auto parts = split(text, '/');
  if (parts.size() != 4 || (parts[1] != "nearest" && parts[1] != "toward_zero")) return false;
  accumulator.toward_zero = parts[1] == "toward_zero";
  return parse_value(parts[0], accumulator.dtype) &&
         parse_count(parts[2], accumulator.fraction_bits) &&
         parse_count(parts[3], accumulator.products_per_step);
}

struct Field {
  std::string_view name;
  std::string (*text)(const RoundingSpec& spec);
  bool (*parse)(std::string_view text, RoundingSpec& spec);
};

template <auto member>
constexpr Field field(std::string_view field_name) {
  return {
      field_name, [](const RoundingSpec& spec) { return value_text(spec.*member); },
      [](std::string_view text, RoundingSpec& spec) { return parse_value(text, spec.*member); }};
}

constexpr std::array fields{
    field<&RoundingSpec::p_dtype>("p_dtype"),
    field<&RoundingSpec::p_prescale>("p_prescale"),
    field<&RoundingSpec::denominator_from_rounded_p>("denominator_from_rounded_p"),
    field<&RoundingSpec::s_rounded>("s_rounded"),
    field<&RoundingSpec::q_prescaled>("q_prescaled"),
    field<&RoundingSpec::split_partial_dtype>("split_partial_dtype"),
    field<&RoundingSpec::qk_accumulator>("qk_accumulator"),
    field<&RoundingSpec::pv_accumulator>("pv_accumulator"),
    field<&RoundingSpec::exp2_rel_error>("exp2_rel_error"),
    field<&RoundingSpec::tanh_rel_error>("tanh_rel_error"),
    field<&RoundingSpec::kv_dequantized_to>("kv_dequantized_to"),
    field<&RoundingSpec::out_dtype>("out_dtype"),
    field<&RoundingSpec::lse_base>("lse_base"),
    field<&RoundingSpec::lse_includes_sink>("lse_includes_sink"),
};

}  // namespace

std::string spec_text(const RoundingSpec& spec) {
  std::string text;
  for (const Field& f : fields)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", f.name, f.text(spec));
  return text;
}

std::string describe(const RoundingSpec& spec, const Problem& problem) {
  const RoundingSpec strict = strict_spec(problem);
  std::string text;
  for (const Field& f : fields) {
    const std::string value = f.text(spec);
    if (value != f.text(strict))
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", f.name, value);
  }
  return text.empty() ? "strict" : text;
}

Result<RoundingSpec> parse_spec_text(std::string_view text) {
  const auto parts = split(text, ' ');
  RoundingSpec spec;
  Errors errors;
  if (parts.size() != fields.size()) {
    errors.push_back({"", 0,
                      fmt::format("\"{}\" has {} fields, a rounding spec has {}", text,
                                  parts.size(), fields.size()),
                      ""});
  }
  for (std::size_t i = 0; i < std::min(parts.size(), fields.size()); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (parts[i].substr(0, equals) != fields[i].name) {
      errors.push_back(
          {"", 0, fmt::format("\"{}\" stands where {} belongs", parts[i], fields[i].name), ""});
    } else if (equals == std::string_view::npos ||
               !fields[i].parse(parts[i].substr(equals + 1), spec)) {
      errors.push_back(
          {"", 0, fmt::format("\"{}\" has no value that {} can have", parts[i], fields[i].name),
           ""});
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return spec;
}

}  // namespace plumbline
