// Sets one field of a rounding spec from its text in a contract, or returns the allowed texts.
#include "harness/contract/spec_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "harness/base/enumeration.h"
#include "harness/base/text.h"
#include "harness/problem/arch.h"
#include "harness/problem/contradictory_flags.h"
#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

using Complaint = std::optional<std::string>;

std::string dtype_words() {
  std::string words = "input, output, tensor_core";
  for (const DType dtype : stored_dtypes)
    words += fmt::format(", {}{}", name(dtype), dtype == DType::f32 ? ", tf32" : "");
  return words;
}
constexpr std::string_view accumulator_words =
    "fma, tensor_core or a table { dtype, toward_zero, fraction_bits, products_per_step }";

constexpr std::string_view tensor_core_word = "tensor_core";

// The case that the meaning of a text may depend on.
struct Context {
  const Problem& problem;
  std::string_view arch;
};

std::string not_allowed(std::string_view text, std::string_view allowed) {
  return fmt::format("\"{}\" is not one of {}", text, allowed);
}

std::optional<DType> parse_dtype_word(std::string_view text, const Problem& problem) {
  if (text == "input") return problem.dtype;
  if (text == "output") return problem.out();
  if (text == tensor_core_word) return problem.dtype == DType::f32 ? DType::tf32 : problem.dtype;
  const auto dtype = parse<DType>(text);
  // A spec rounds to floating-point formats up to the width of fp32.
  if (!dtype || *dtype == DType::none || *dtype == DType::f64 || *dtype == DType::i32)
    return std::nullopt;
  return dtype;
}

std::optional<Accumulator> parse_accumulator_words(std::string_view text, const Context& context) {
  if (text == "fma") return fma_accumulator;
  if (text == tensor_core_word)
    return tensor_core_accumulator_of(context.arch, context.problem.dtype);
  const auto a = parse_accumulator(text);
  const bool allowed = a && (a->dtype == DType::f32 || a->dtype == DType::f16) &&
                       a->fraction_bits >= 1 && a->fraction_bits <= 52 &&
                       a->products_per_step >= 1 && a->products_per_step <= 4096;
  return allowed ? a : std::nullopt;
}

Complaint set(spec_kind::Format, DType& field, std::string_view text, const Context& context) {
  const auto dtype = parse_dtype_word(text, context.problem);
  if (!dtype) return not_allowed(text, dtype_words());
  field = *dtype;
  return std::nullopt;
}

// S, the pre-scaled Q and the like are in fp32 before this rounding, so fp32 means no rounding.
Complaint set(spec_kind::Step, DType& field, std::string_view text, const Context& context) {
  const auto dtype = text == "none" ? DType::none : parse_dtype_word(text, context.problem);
  if (!dtype) return not_allowed(text, fmt::format("none, {}", dtype_words()));
  field = *dtype == DType::f32 ? DType::none : *dtype;
  return std::nullopt;
}

// Tensor cores round fp32 inputs to tf32, and do not round narrower inputs.
Complaint set(spec_kind::StepOfInputs, DType& field, std::string_view text,
              const Context& context) {
  const bool rounds = text != tensor_core_word || context.problem.dtype == DType::f32;
  const auto dtype =
      text == "none" || !rounds ? DType::none : parse_dtype_word(text, context.problem);
  if (!dtype) return not_allowed(text, fmt::format("none, {}", dtype_words()));
  field = *dtype;
  return std::nullopt;
}

Complaint set(spec_kind::Factor, double& field, std::string_view text, const Context&) {
  const auto value = parse_real(text);
  if (!value || !(*value > 0 && std::isfinite(*value)))
    return fmt::format("\"{}\" is not a positive number (1, 256, 448, …)", text);
  field = *value;
  return std::nullopt;
}

Complaint set(spec_kind::Flag, bool& field, std::string_view text, const Context&) {
  if (text != "true" && text != "false") return not_allowed(text, "true, false");
  field = text == "true";
  return std::nullopt;
}

Complaint set(spec_kind::Maximum, MaximumOfP& field, std::string_view text, const Context&) {
  const auto maximum = parse<MaximumOfP>(text);
  if (!maximum) return not_allowed(text, fmt::format("{}", fmt::join(names_of<MaximumOfP>, ", ")));
  field = *maximum;
  return std::nullopt;
}

Complaint set(spec_kind::Sums, Accumulator& field, std::string_view text, const Context& context) {
  const auto accumulator = parse_accumulator_words(text, context);
  if (!accumulator) {
    return fmt::format(
        "{} with dtype fp32 or fp16, toward_zero true or false, fraction_bits from 1 to 52, "
        "products_per_step from 1 to 4096",
        not_allowed(text, accumulator_words));
  }
  field = *accumulator;
  return std::nullopt;
}

Complaint set(spec_kind::RelativeError, double& field, std::string_view text, const Context&) {
  const auto value = parse_real(text);
  if (!value || !(*value >= 0 && *value < 1))
    return fmt::format("\"{}\" is not a number in [0, 1)", text);
  field = *value;
  return std::nullopt;
}

Complaint set(spec_kind::LseBase, int& field, std::string_view text, const Context&) {
  if (text != "e" && text != "2") return not_allowed(text, "e, 2");
  field = text == "2" ? 2 : 0;
  return std::nullopt;
}

// Calls visit(name, kind, of) for each field that a contract may pin.
template <class Visit>
constexpr void for_each_pinned_field(Visit&& visit) {
  for_each_spec_field([&]<class Kind>(std::string_view name, Kind kind, auto of) {
    if constexpr (!std::is_same_v<Kind, spec_kind::FormatOfOut>) visit(name, kind, of);
  });
}

constexpr auto pinned_names = [] {
  constexpr std::size_t count = [] {
    std::size_t fields = 0;
    for_each_pinned_field([&](auto...) { ++fields; });
    return fields;
  }();
  std::array<std::string_view, count> result;
  std::size_t next = 0;
  for_each_pinned_field([&](std::string_view name, auto, auto) { result[next++] = name; });
  return result;
}();

}  // namespace

std::span<const std::string_view> spec_field_names() { return pinned_names; }

Complaint set_spec_field(RoundingSpec& spec, std::string_view field, std::string_view text,
                         const Problem& problem, std::string_view arch) {
  auto complaint = Complaint(fmt::format("there is no field \"{}\"", field));
  for_each_pinned_field([&](std::string_view known, auto kind, auto of) {
    if (known != field) return;
    RoundingSpec changed = spec;
    complaint = set(kind, of(changed), text, {problem, arch});
    if (complaint) complaint = fmt::format("{}: {}", field, *complaint);
    if (field == "p_dtype") changed.p_prescale = default_prescale(changed.p_dtype);
    // Refuses only the flag that completes a contradictory pair.
    if (const std::string pair = contradictory_flags(changed);
        !complaint && !pair.empty() && contradictory_flags(spec).empty())
      complaint = pair;
    if (!complaint) spec = changed;
  });
  return complaint;
}

bool needs_proof(std::string_view field, std::string_view text) {
  if (field == "s_rounded" || field == "q_prescaled" || field == "o_between_tiles" ||
      field == "lse_dtype")
    return text != "none";
  if (field == "reciprocal_rel_error" || field == "product_rel_error")
    return std::strtod(std::string(text).c_str(), nullptr) > 0x1p-11;
  if (field == "skipped_below") return std::strtod(std::string(text).c_str(), nullptr) > 0;
  if (field == "p_max") return text == "free" || text == "ceil2" || text == "bf16";
  if (field == "p_toward_zero" || field == "out_toward_zero" || field == "s_rounded_twice" ||
      field == "p_stochastic" || field == "out_stochastic")
    return text == "true";
  if (field == "kv_dequantized_to") return text == tensor_core_word || text == name(DType::tf32);
  const auto accumulator = field.ends_with("_accumulator")
                               ? parse_accumulator_words(text, {Problem{}, ""})
                               : std::nullopt;
  return accumulator && (accumulator->dtype != DType::f32 || accumulator->fraction_bits < 23);
}

}  // namespace plumbline
