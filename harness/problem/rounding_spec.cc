// Derives the strict spec of a problem, and names the fields in which one spec is looser.
#include "harness/problem/rounding_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/enumeration.h"
#include "harness/problem/arch.h"
#include "harness/problem/problem.h"
#include "harness/problem/rounder.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

// Comparisons of reals are written !(declared <= pinned), so that a NaN from a third-party provider
// counts as looser.

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

// Returns true if rounding to a dtype changes fp32 values. Unknown dtypes count as changing them.
bool rounds(DType dtype) {
  return dtype != DType::none && dtype != DType::f32 && dtype != DType::f64;
}

// Unit roundoff, or 0 if the dtype keeps fp32 values.
double roundoff(DType dtype) { return rounds(dtype) ? unit_roundoff(dtype) : 0; }
// Absolute rounding error near zero of fp32 values that are scaled by `prescale` and rounded to
// `dtype`.
double error_near_zero(DType dtype, double prescale) {
  return rounds(dtype) ? half_smallest_subnormal(dtype) / prescale : 0;
}

bool coarser(DType declared, DType pinned) {
  return !(roundoff(declared) <= roundoff(pinned)) ||
         !(error_near_zero(declared, 1) <= error_near_zero(pinned, 1));
}

// Compares two specs field by field; compare() has overloads for the kinds of fields. `findings`
// has one sentence for each field in which the declared spec is looser or has another meaning.
class Comparison {
 public:
  Comparison(const RoundingSpec& declared, const RoundingSpec& pinned)
      : declared_(declared), pinned_(pinned) {}

  std::vector<std::string> findings;

  void compare(std::string_view field, spec_kind::Format, DType declared, DType pinned) {
    if (coarser(declared, pinned)) note_coarser(field, declared, pinned);
  }
  // Compares only relative errors. The error near zero also depends on p_prescale, so compare() of
  // p_prescale (Factor) checks it.
  void compare(std::string_view field, spec_kind::FormatOfP, DType declared, DType pinned) {
    if (!(roundoff(declared) <= roundoff(pinned))) note_coarser(field, declared, pinned);
  }
  void compare(std::string_view field, spec_kind::Factor, double declared, double pinned) {
    if (!(declared > 0 && std::isfinite(declared))) {
      findings.push_back(fmt::format("{}: {} is not a positive number", field, declared));
      return;
    }
    const double eta = error_near_zero(declared_.p_dtype, declared);
    const double pinned_eta = error_near_zero(pinned_.p_dtype, pinned);
    if (!(eta <= pinned_eta)) {
      findings.push_back(fmt::format(
          "p_dtype: {} with prescale {} rounds small values by {:.3g}, pinned is {:.3g}",
          name(declared_.p_dtype), declared, eta, pinned_eta));
    } else if (rounds(declared_.p_dtype) && declared_.p_dtype == pinned_.p_dtype &&
               pinned_.p_max != MaximumOfP::free && !is_power_of_two(declared / pinned)) {
      // P has other significands, and so other roundings.
      findings.push_back(fmt::format("{}: {} differs from {} by a factor that is no power of two",
                                     field, declared, pinned));
    }
  }

  // A rounding step that the pinned spec may lack.
  void compare(std::string_view field, spec_kind::Step, DType declared, DType pinned) {
    if (rounds(declared) && !rounds(pinned)) {
      findings.push_back(
          fmt::format("{}: rounded to {}, pinned is no rounding", field, name(declared)));
    } else {
      compare(field, spec_kind::Format{}, declared, pinned);
    }
  }

  void compare(std::string_view field, spec_kind::Flag, bool declared, bool pinned) {
    if (declared && !pinned) findings.push_back(fmt::format("{}: pinned is false", field));
  }
  void compare(std::string_view field, spec_kind::OtherModel, bool declared, bool pinned) {
    if (declared != pinned)
      findings.push_back(fmt::format("{}: {} differs from {}", field, declared, pinned));
  }
  // The way of rounding does not matter if nothing is rounded.
  void compare(std::string_view field, spec_kind::ModelOfP, bool declared, bool pinned) {
    if (rounds(declared_.p_dtype)) compare(field, spec_kind::OtherModel{}, declared, pinned);
  }
  void compare(std::string_view field, spec_kind::ModelOfQ, bool declared, bool pinned) {
    if (rounds(declared_.q_prescaled)) compare(field, spec_kind::OtherModel{}, declared, pinned);
  }
  void compare(std::string_view field, spec_kind::ModelOfS, bool declared, bool pinned) {
    if (rounds(declared_.s_rounded)) compare(field, spec_kind::OtherModel{}, declared, pinned);
  }
  void compare(std::string_view field, spec_kind::Maximum, MaximumOfP declared, MaximumOfP pinned) {
    const bool is_subset = !rounds(declared_.p_dtype) || declared == pinned ||
                           declared == MaximumOfP::one || pinned == MaximumOfP::free ||
                           (declared == MaximumOfP::running && pinned != MaximumOfP::one);
    if (is_subset) return;
    findings.push_back(
        fmt::format("{}: {} permits maxima that {} does not", field, name(declared), name(pinned)));
  }

  void compare(std::string_view field, spec_kind::DenominatorOfRoundedP, bool declared,
               bool pinned) {
    if (declared && !pinned)
      findings.push_back(fmt::format("{}: summed after rounding P, pinned is before", field));
  }

  void compare(std::string_view field, spec_kind::Sums, const Accumulator& declared,
               const Accumulator& pinned) {
    compare(fmt::format("{} dtype", field), spec_kind::Format{}, declared.dtype, pinned.dtype);
    if (declared.toward_zero && !pinned.toward_zero) {
      findings.push_back(fmt::format("{}: rounds toward zero, pinned is to nearest", field));
    }
    // Sums that truncate also truncate their result to fp32, however many bits their steps keep.
    // Rounding to nearest with 24 bits, as in fp32 FMA, is never worse, so 24 bits suffice for sums
    // that round to nearest.
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

  void compare(std::string_view field, spec_kind::RelativeError, double declared, double pinned) {
    if (!(declared <= pinned))
      findings.push_back(fmt::format("{}: {} is larger than {}", field, declared, pinned));
  }

  void compare(std::string_view field, spec_kind::LseBase, int declared, int pinned) {
    if (declared != pinned)
      findings.push_back(fmt::format("{}: {} differs from {}", field, lse_base_name(declared),
                                     lse_base_name(pinned)));
  }
  void compare(std::string_view field, spec_kind::LseIncludesSink, bool declared, bool pinned) {
    if (declared != pinned)
      findings.push_back(fmt::format("{}: {} differs from {}", field, declared, pinned));
  }

 private:
  void note_coarser(std::string_view field, DType declared, DType pinned) {
    findings.push_back(
        fmt::format("{}: {} is coarser than {}", field, name(declared), name(pinned)));
  }
  static std::string lse_base_name(int base) { return base == 0 ? "e" : std::to_string(base); }

  const RoundingSpec& declared_;
  const RoundingSpec& pinned_;
};

}  // namespace

DType inputs_rounded_to(const RoundingSpec& spec) {
  return spec.kv_dequantized_to == DType::tf32 ? DType::tf32 : DType::none;
}

double InputRounding::rounded(double value) const {
  return dtype == DType::tf32 ? DirectedRounder{Rounder(dtype), toward_zero}(value) : value;
}

DType dequantized_to(const RoundingSpec& spec, const Problem& problem) {
  const bool rounds_to_16_bits =
      spec.kv_dequantized_to == DType::f16 || spec.kv_dequantized_to == DType::bf16;
  return problem.has_fp8_kv() && rounds_to_16_bits ? spec.kv_dequantized_to : DType::none;
}

double default_prescale(DType p_dtype) { return p_dtype == DType::e4m3 ? 256 : 1; }

RoundingSpec strict_spec(const Problem& problem, std::string_view arch) {
  RoundingSpec spec;
  const bool fp32 = problem.dtype == DType::f32 || problem.is_merge();
  spec.p_dtype = fp32 ? DType::f32 : problem.dtype;
  spec.p_prescale = default_prescale(spec.p_dtype);
  spec.lse_base = problem.merge == Merge::base_2 ? 2 : 0;
  spec.qk_accumulator = fp32                  ? fma_accumulator
                        : problem.has_fp8_q() ? tensor_core_accumulator_of(arch, problem.dtype)
                                              : tensor_core_accumulator;
  spec.pv_accumulator = spec.qk_accumulator;
  spec.out_dtype = problem.out();
  return spec;
}

std::vector<std::string> looser_fields(const RoundingSpec& declared, const RoundingSpec& pinned) {
  Comparison comparison(declared, pinned);
  for_each_spec_field([&](std::string_view field, auto kind, auto of) {
    comparison.compare(field, kind, of(declared), of(pinned));
  });
  return std::move(comparison.findings);
}

}  // namespace plumbline
