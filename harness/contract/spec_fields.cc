// Sets one field of a rounding spec from its text in a contract, or says which texts are allowed.
#include "harness/contract/spec_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/text.h"
#include "harness/problem/arch.h"
#include "harness/problem/problem.h"

namespace plumbline {
namespace {

using Complaint = std::optional<std::string>;

constexpr std::string_view dtype_words =
    "input, output, tensor_core, fp32, tf32, fp16, bf16, e4m3, e5m2";
constexpr std::string_view accumulator_words =
    "fma, tensor_core or a table { dtype, toward_zero, fraction_bits, products_per_step }";

constexpr std::string_view tensor_core_word = "tensor_core";

// What a field's text may depend on.
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
  const auto dtype = parse_dtype(text);
  // A spec rounds to floating-point formats that are no wider than fp32.
  if (!dtype || *dtype == DType::none || *dtype == DType::f64 || *dtype == DType::i32)
    return std::nullopt;
  return dtype;
}

template <DType RoundingSpec::*field>
Complaint set_dtype(RoundingSpec& spec, std::string_view text, const Context& context) {
  const auto dtype = parse_dtype_word(text, context.problem);
  if (!dtype) return not_allowed(text, dtype_words);
  spec.*field = *dtype;
  return std::nullopt;
}

template <DType RoundingSpec::*field>
Complaint set_optional_dtype(RoundingSpec& spec, std::string_view text, const Context& context) {
  if (text != "none") {
    if (set_dtype<field>(spec, text, context))
      return not_allowed(text, fmt::format("none, {}", dtype_words));
  } else {
    spec.*field = DType::none;
  }
  return std::nullopt;
}

// A rounding step of what is held in fp32 anyway (S, the pre-scaled Q): to fp32 it is no step.
template <DType RoundingSpec::*field>
Complaint set_rounding_step(RoundingSpec& spec, std::string_view text, const Context& context) {
  auto complaint = set_optional_dtype<field>(spec, text, context);
  if (spec.*field == DType::f32) spec.*field = DType::none;
  return complaint;
}

template <bool RoundingSpec::*field>
Complaint set_bool(RoundingSpec& spec, std::string_view text, const Context&) {
  if (text != "true" && text != "false") return not_allowed(text, "true, false");
  spec.*field = text == "true";
  return std::nullopt;
}

template <double RoundingSpec::*field>
Complaint set_relative_error(RoundingSpec& spec, std::string_view text, const Context&) {
  const auto value = parse_real(text);
  if (!value || !(*value >= 0 && *value < 1))
    return fmt::format("\"{}\" is not a number in [0, 1)", text);
  spec.*field = *value;
  return std::nullopt;
}

Complaint set_prescale(RoundingSpec& spec, std::string_view text, const Context&) {
  const auto value = parse_real(text);
  int exponent = 0;
  if (!value || std::frexp(*value, &exponent) != 0.5) {
    return fmt::format("\"{}\" is not a power of two (1, 2, 256, …)", text);
  }
  spec.p_prescale = *value;
  return std::nullopt;
}

Complaint set_lse_base(RoundingSpec& spec, std::string_view text, const Context&) {
  if (text != "e" && text != "2") return not_allowed(text, "e, 2");
  spec.lse_base = text == "2" ? 2 : 0;
  return std::nullopt;
}

// Inputs in fp32 go to tensor cores as tf32; other widths are no rounding.
Complaint set_widened(RoundingSpec& spec, std::string_view text, const Context& context) {
  const bool rounds = text != tensor_core_word || context.problem.dtype == DType::f32;
  return set_optional_dtype<&RoundingSpec::kv_dequantized_to>(spec, rounds ? text : "none",
                                                              context);
}

std::optional<Accumulator> parse_accumulator(std::string_view text, const Context& context) {
  if (text == "fma") return fma_accumulator;
  if (text == tensor_core_word)
    return tensor_core_accumulator_of(context.arch, context.problem.dtype);
  const auto parts = split(text, '/');
  if (parts.size() != 4) return std::nullopt;
  const auto dtype = parse_dtype(parts[0]);
  const auto fraction_bits = parse_integer(parts[2]), products = parse_integer(parts[3]);
  const bool known_dtype = dtype == DType::f32 || dtype == DType::f16;
  const bool known_direction = parts[1] == "nearest" || parts[1] == "toward_zero";
  const bool in_range = fraction_bits && *fraction_bits >= 1 && *fraction_bits <= 52 && products &&
                        *products >= 1 && *products <= 4096;
  if (!known_dtype || !known_direction || !in_range) return std::nullopt;
  return Accumulator{*dtype, parts[1] == "toward_zero", static_cast<int>(*fraction_bits),
                     static_cast<int>(*products)};
}

template <Accumulator RoundingSpec::*field>
Complaint set_accumulator(RoundingSpec& spec, std::string_view text, const Context& context) {
  const auto accumulator = parse_accumulator(text, context);
  if (!accumulator) {
    return fmt::format(
        "{} with dtype fp32 or fp16, toward_zero true or false, fraction_bits from 1 to 52, "
        "products_per_step from 1 to 4096",
        not_allowed(text, accumulator_words));
  }
  spec.*field = *accumulator;
  return std::nullopt;
}

struct Field {
  std::string_view name;
  Complaint (*set)(RoundingSpec&, std::string_view, const Context&);
};
constexpr std::array fields{
    Field{"p_dtype", set_dtype<&RoundingSpec::p_dtype>},
    Field{"p_prescale", set_prescale},
    Field{"denominator_from_rounded_p", set_bool<&RoundingSpec::denominator_from_rounded_p>},
    Field{"s_rounded", set_rounding_step<&RoundingSpec::s_rounded>},
    Field{"q_prescaled", set_rounding_step<&RoundingSpec::q_prescaled>},
    Field{"split_partial_dtype", set_dtype<&RoundingSpec::split_partial_dtype>},
    Field{"qk_accumulator", set_accumulator<&RoundingSpec::qk_accumulator>},
    Field{"pv_accumulator", set_accumulator<&RoundingSpec::pv_accumulator>},
    Field{"exp2_rel_error", set_relative_error<&RoundingSpec::exp2_rel_error>},
    Field{"tanh_rel_error", set_relative_error<&RoundingSpec::tanh_rel_error>},
    Field{"kv_dequantized_to", set_widened},
    Field{"lse_base", set_lse_base},
    Field{"lse_includes_sink", set_bool<&RoundingSpec::lse_includes_sink>},
};

constexpr auto names = [] {
  std::array<std::string_view, fields.size()> result;
  for (std::size_t i = 0; i < fields.size(); ++i) result[i] = fields[i].name;
  return result;
}();

}  // namespace

std::span<const std::string_view> spec_field_names() { return names; }

Complaint set_spec_field(RoundingSpec& spec, std::string_view field, std::string_view text,
                         const Problem& problem, std::string_view arch) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field; });
  if (found == fields.end()) return fmt::format("there is no field \"{}\"", field);
  auto complaint = found->set(spec, text, {problem, arch});
  if (complaint) return fmt::format("{}: {}", field, *complaint);
  return std::nullopt;
}

bool needs_proof(std::string_view field, std::string_view text) {
  if (field == "s_rounded" || field == "q_prescaled") return text != "none";
  if (field == "kv_dequantized_to") return text == tensor_core_word || text == name(DType::tf32);
  const auto accumulator =
      field.ends_with("_accumulator") ? parse_accumulator(text, {Problem{}, ""}) : std::nullopt;
  return accumulator && (accumulator->dtype != DType::f32 || accumulator->fraction_bits < 23);
}

}  // namespace plumbline
