// Default limits. Numbers, their evidence and the formula of growth: docs/judging.md, "Statistics and limits".
#include <cmath>

#include "harness/judge/contract.h"

namespace plumbline {
namespace {

constexpr std::int64_t elements_without_growth = 10'000'000;
constexpr double rms_of_accumulation_noise = 1.8;  // legal maximum seen: 1.54 (constant V, fp32 output)
constexpr double rms_of_tf32 = 1.8;                // legal maximum seen: 1.50
constexpr Limits naive_tier{.peak = 8, .beyond_output = 8, .rms = 2.0, .lse = 8, .suite = 3.5, .suite_judged = false};

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// Keeps fewer bits than fp32 has: Hopper's fp8 accumulator (13), fp16 accumulation.
bool is_short(const Accumulator& accumulator) { return accumulator.dtype != DType::f32 || accumulator.fraction_bits < 23; }

// The variance of shrink and temperature has no term for the roundings excluded here.
bool suite_is_judged(const RoundingSpec& spec, const Problem& problem) {
  return is_16_bit(spec.p_dtype) && problem.out() == problem.dtype && spec.s_rounded == DType::none && spec.q_prescaled == DType::none &&
         !is_short(spec.qk_accumulator) && !is_short(spec.pv_accumulator);
}

}  // namespace

double grown_limit(double limit, std::int64_t elements) {
  if (elements <= elements_without_growth) return limit;
  return std::sqrt(limit * limit + 2 * std::log(static_cast<double>(elements) / static_cast<double>(elements_without_growth)));
}

Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements) {
  Limits limits;
  if (spec.s_rounded != DType::none) {
    limits = naive_tier;
  } else {
    limits.suite_judged = suite_is_judged(spec, problem);
    // With fp32 output little but accumulation noise is left in the error, whose model is the coarsest part of sigma.
    if (problem.out() == DType::f32 && (spec.p_dtype == DType::f32 || spec.denominator_from_rounded_p)) {
      limits.rms = rms_of_accumulation_noise;
    }
    if (spec.p_dtype == DType::tf32) limits.rms = rms_of_tf32;
  }
  limits.peak = grown_limit(limits.peak, elements);
  limits.beyond_output = grown_limit(limits.beyond_output, elements);
  return limits;
}

bool has_tie_law(const Problem& problem) {
  return problem.law == Law::near_uniform || problem.law == Law::sink || problem.law == Law::exact || problem.v_law == VLaw::constant ||
         problem.k_scale == 0;
}

}  // namespace plumbline
