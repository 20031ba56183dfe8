// Default limits of the error statistics, and their growth with the number of compared elements.
// docs/judging.md, "Statistics and limits", and evidence/judging.md have the numbers, their
// evidence and the formula.
#include <algorithm>
#include <cmath>

#include "harness/contract/contract.h"
#include "harness/problem/problem.h"

namespace plumbline {
namespace {

constexpr std::int64_t elements_without_growth = 10'000'000;
// legal maximum seen: 1.54 (constant V, fp32 output)
constexpr double rms_of_accumulation_noise = 1.8;
constexpr double rms_of_tf32 = 1.8;  // legal maximum seen: 1.50
constexpr std::int64_t rows_without_widening = 16;
constexpr Limits naive_tier{.peak = 8,
                            .beyond_output = 8,
                            .rms = 2.0,
                            .lse = 8,
                            .max_logit = 8,
                            .suite = 3.5,
                            .suite_judged = false,
                            .elsewhere = Limits::elsewhere_in_peaks * 8};

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// Returns true if an accumulator keeps fewer bits than fp32: Hopper's fp8 accumulator (13), fp16.
bool is_short(const Accumulator& accumulator) {
  return accumulator.dtype != DType::f32 || accumulator.fraction_bits < 23;
}

// The elements of one query row share the errors of its P. If V has one sign, these errors move all
// columns alike and, with near-equal keys, all heads. R query rows may then give only R
// independent draws. Legal maxima of the rms with one-signed V, over 3456 runs of CPU kernels each:
// 3.19, 1.66, 1.354, 1.243 at R = 1, 4, 16, 40 (decode over 200 keys, fp32 output; 2026-11-21).
double widened_for_few_rows(double limit, const Problem& problem) {
  const std::int64_t rows = std::max<std::int64_t>(1, problem.batch * problem.seq_q);
  return rows >= rows_without_widening
             ? limit
             : limit * std::sqrt(static_cast<double>(rows_without_widening) /
                                 static_cast<double>(rows));
}

// The variance of shrink and temperature has no term for the roundings excluded here. Also missing
// are the shared errors of P next to a sink, and P multiplied by per-token scales of V.
bool suite_is_judged(const RoundingSpec& spec, const Problem& problem) {
  return is_16_bit(spec.p_dtype) && problem.out() == problem.dtype && problem.scale_tokens() == 0 &&
         spec.s_rounded == DType::none && spec.q_prescaled == DType::none && !spec.p_toward_zero &&
         !spec.out_toward_zero && !spec.out_stochastic && !spec.p_stochastic &&
         spec.o_between_tiles == DType::none && spec.reciprocal_rel_error == 0 &&
         spec.product_rel_error == 0 && spec.skipped_below == 0 &&
         (spec.p_max == MaximumOfP::running || spec.p_max == MaximumOfP::one) &&
         !is_short(spec.qk_accumulator) && !is_short(spec.pv_accumulator) &&
         problem.sinks == Sinks::none && (problem.softcap == 0 || spec.tanh_rel_error == 0);
}

}  // namespace

double grown_limit(double limit, std::int64_t elements) {
  if (elements <= elements_without_growth) return limit;
  return std::sqrt(limit * limit + 2 * std::log(static_cast<double>(elements) /
                                                static_cast<double>(elements_without_growth)));
}

Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements) {
  Limits limits;
  if (spec.s_rounded != DType::none) {
    limits = naive_tier;
  } else {
    limits.suite_judged = suite_is_judged(spec, problem);
    // With fp32 output the error is mostly accumulation noise, which sigma models most coarsely.
    if (problem.out() == DType::f32 &&
        (spec.p_dtype == DType::f32 || spec.denominator_from_rounded_p)) {
      limits.rms = rms_of_accumulation_noise;
    }
    if (spec.p_dtype == DType::tf32) limits.rms = rms_of_tf32;
  }
  limits.rms = widened_for_few_rows(limits.rms, problem);
  for (const Statistic& statistic : deciding_statistics) {
    double& limit = limits.*statistic.limit;
    if (statistic.limit_grows) limit = grown_limit(limit, elements);
  }
  limits.elsewhere = Limits::elsewhere_in_peaks * limits.peak;
  return limits;
}

bool excludes_suite_scores(const Problem& problem) {
  // A needle with V off zero: o differs from the needle's v by less than half an ulp, so output
  // rounding returns v. In every row the error v - o then has the direction of `temperature` (z
  // about +9 in one legal bf16 case).
  if (problem.law == Law::needle &&
      (problem.v_law == VLaw::large_mean || problem.v_law == VLaw::band))
    return true;
  return problem.law == Law::near_uniform || problem.law == Law::near_ties ||
         problem.law == Law::sink || problem.law == Law::exact || problem.v_law == VLaw::constant ||
         problem.k_scale == 0;
}

}  // namespace plumbline
