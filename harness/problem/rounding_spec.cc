// Derives the strictest spec of a problem, and names the fields in which one spec is looser.
#include "harness/problem/rounding_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/problem/problem.h"

namespace plumbline {
namespace {

// All comparisons are spelled !(declared <= pinned): a NaN from a foreign provider is looser, never
// fine.

// Whether rounding to a dtype changes an fp32 value at all. Unknown dtypes count as doing so.
bool rounds(DType dtype) {
  return dtype != DType::none && dtype != DType::f32 && dtype != DType::f64;
}

// Unit roundoff, and 0 for what keeps fp32 as it is.
double roundoff(DType dtype) { return rounds(dtype) ? unit_roundoff(dtype) : 0; }
// Absolute rounding error near zero of fp32 values rounded to `dtype` after a scaling by
// `prescale`.
double error_near_zero(DType dtype, double prescale) {
  return rounds(dtype) ? half_smallest_subnormal(dtype) / prescale : 0;
}

bool coarser(DType declared, DType pinned) {
  return !(roundoff(declared) <= roundoff(pinned)) ||
         !(error_near_zero(declared, 1) <= error_near_zero(pinned, 1));
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::isfinite(value) && std::frexp(value, &exponent) == 0.5;
}

class Comparison {
 public:
  std::vector<std::string> findings;

  void dtype(std::string_view field, DType declared, DType pinned) {
    if (coarser(declared, pinned))
      findings.push_back(
          fmt::format("{}: {} is coarser than {}", field, name(declared), name(pinned)));
  }

  // A rounding step that the pinned spec may not have at all.
  void step(std::string_view field, DType declared, DType pinned) {
    if (rounds(declared) && !rounds(pinned)) {
      findings.push_back(
          fmt::format("{}: rounded to {}, pinned is no rounding", field, name(declared)));
    } else {
      dtype(field, declared, pinned);
    }
  }

  void p(const RoundingSpec& declared, const RoundingSpec& pinned) {
    if (!(roundoff(declared.p_dtype) <= roundoff(pinned.p_dtype))) {
      findings.push_back(fmt::format("p_dtype: {} is coarser than {}", name(declared.p_dtype),
                                     name(pinned.p_dtype)));
    }
    if (!is_power_of_two(declared.p_prescale)) {
      findings.push_back(fmt::format("p_prescale: {} is not a power of two", declared.p_prescale));
      return;
    }
    const double eta = error_near_zero(declared.p_dtype, declared.p_prescale);
    const double pinned_eta = error_near_zero(pinned.p_dtype, pinned.p_prescale);
    if (!(eta <= pinned_eta)) {
      findings.push_back(fmt::format(
          "p_dtype: {} with prescale {} rounds small values by {:.3g}, pinned is {:.3g}",
          name(declared.p_dtype), declared.p_prescale, eta, pinned_eta));
    }
  }

  void accumulator(std::string_view field, const Accumulator& declared, const Accumulator& pinned) {
    dtype(fmt::format("{} dtype", field), declared.dtype, pinned.dtype);
    if (declared.toward_zero && !pinned.toward_zero) {
      findings.push_back(fmt::format("{}: rounds toward zero, pinned is to nearest", field));
    }
    // Rounding to nearest with the 24 bits of fp32 is never worse than truncating, however many
    // bits that keeps.
    const int bits_needed = declared.toward_zero
                                ? pinned.fraction_bits
                                : std::min(pinned.fraction_bits, fma_accumulator.fraction_bits);
    if (declared.fraction_bits < bits_needed) {
      findings.push_back(fmt::format("{}: {} fraction bits, pinned are {}", field,
                                     declared.fraction_bits, pinned.fraction_bits));
    }
    if (declared.toward_zero && pinned.toward_zero &&
        declared.products_per_step < pinned.products_per_step) {
      findings.push_back(fmt::format("{}: truncates every {} products, pinned is every {}", field,
                                     declared.products_per_step, pinned.products_per_step));
    }
  }

  void relative_error(std::string_view field, double declared, double pinned) {
    if (!(declared <= pinned))
      findings.push_back(fmt::format("{}: {} is larger than {}", field, declared, pinned));
  }

  void meaning(std::string_view field, std::string_view declared, std::string_view pinned) {
    if (declared != pinned)
      findings.push_back(fmt::format("{}: {} differs from {}", field, declared, pinned));
  }
};

std::string lse_base_name(int base) { return base == 0 ? "e" : std::to_string(base); }

}  // namespace

DType inputs_rounded_to(const RoundingSpec& spec) {
  return spec.kv_dequantized_to == DType::tf32 ? DType::tf32 : DType::none;
}

DType dequantized_to(const RoundingSpec& spec, const Problem& problem) {
  const bool rounds_to_16_bits =
      spec.kv_dequantized_to == DType::f16 || spec.kv_dequantized_to == DType::bf16;
  return problem.has_fp8_kv() && rounds_to_16_bits ? spec.kv_dequantized_to : DType::none;
}

RoundingSpec strict_spec(const Problem& problem) {
  RoundingSpec spec;
  const bool fp32 = problem.dtype == DType::f32;
  spec.p_dtype = problem.dtype;
  spec.qk_accumulator = fp32 ? fma_accumulator : tensor_core_accumulator;
  spec.pv_accumulator = spec.qk_accumulator;
  spec.out_dtype = problem.out();
  return spec;
}

std::vector<std::string> looser_fields(const RoundingSpec& declared, const RoundingSpec& pinned) {
  Comparison compare;
  compare.p(declared, pinned);
  if (declared.denominator_from_rounded_p && !pinned.denominator_from_rounded_p) {
    compare.findings.emplace_back(
        "denominator_from_rounded_p: summed after rounding P, pinned is before");
  }
  compare.step("s_rounded", declared.s_rounded, pinned.s_rounded);
  compare.step("q_prescaled", declared.q_prescaled, pinned.q_prescaled);
  compare.dtype("split_partial_dtype", declared.split_partial_dtype, pinned.split_partial_dtype);
  compare.accumulator("qk_accumulator", declared.qk_accumulator, pinned.qk_accumulator);
  compare.accumulator("pv_accumulator", declared.pv_accumulator, pinned.pv_accumulator);
  compare.relative_error("exp2_rel_error", declared.exp2_rel_error, pinned.exp2_rel_error);
  compare.relative_error("tanh_rel_error", declared.tanh_rel_error, pinned.tanh_rel_error);
  compare.step("kv_dequantized_to", declared.kv_dequantized_to, pinned.kv_dequantized_to);
  compare.dtype("out_dtype", declared.out_dtype, pinned.out_dtype);
  compare.meaning("lse_base", lse_base_name(declared.lse_base), lse_base_name(pinned.lse_base));
  compare.meaning("lse_includes_sink", declared.lse_includes_sink ? "true" : "false",
                  pinned.lse_includes_sink ? "true" : "false");
  return std::move(compare.findings);
}

}  // namespace plumbline
