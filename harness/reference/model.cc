// Derives unit roundoffs, accumulation errors and cell widths from a rounding spec.
#include "harness/reference/model.h"

#include <algorithm>

namespace plumbline {
namespace {

// Cells group values by three bits more than the format has: 1/8 of a rounding interval.
constexpr int cell_extra_bits = 3;
// If P stays in fp32, only keys with equal P share an error. The summation order may change the
// last bits of our fp64 Q K^T, so values of P that agree in this many bits count as equal.
constexpr int exact_tie_bits = 36;

bool is_rounded(DType dtype) {
  return dtype != DType::none && dtype != DType::f32 && dtype != DType::f64;
}

// Formats with the exponent range of fp32 have no absolute rounding error that matters.
double eta(DType dtype) {
  const double absolute = half_smallest_subnormal(dtype);
  return absolute > half_smallest_subnormal(DType::bf16) ? absolute : 0;
}

double roundoff(DType dtype) { return is_rounded(dtype) ? unit_roundoff(dtype) : 0; }

}  // namespace

AccumulationModel::AccumulationModel(const Accumulator& accumulator) {
  if (accumulator.dtype == DType::f16) {
    u = unit_roundoff(DType::f16);
    eta = half_smallest_subnormal(DType::f16);
    return;
  }
  toward_zero = accumulator.toward_zero;
  f = std::ldexp(1.0, -accumulator.fraction_bits);
  f_out = std::ldexp(1.0, -std::min(accumulator.fraction_bits, 23));
  step = std::max(accumulator.products_per_step, 1);
}

Model::Model(const RoundingSpec& spec, double scale)
    : p_max(spec.p_max),
      p_toward_zero(spec.p_toward_zero),
      denominator_from_rounded_p(spec.denominator_from_rounded_p),
      s_rounded(is_rounded(spec.s_rounded) ? spec.s_rounded : DType::none),
      u_s(roundoff(spec.s_rounded)),
      eta_s(eta(spec.s_rounded)),
      u_split(roundoff(spec.split_partial_dtype)),
      eta_split(eta(spec.split_partial_dtype)),
      u_tile(roundoff(spec.o_between_tiles)),
      eta_tile(eta(spec.o_between_tiles)),
      exp2_error(spec.exp2_rel_error),
      tanh_error(spec.tanh_rel_error),
      reciprocal_error(spec.reciprocal_rel_error),
      product_error(spec.product_rel_error),
      skipped_below(spec.skipped_below),
      lse_includes_sink(spec.lse_includes_sink),
      q_prescaled(is_rounded(spec.q_prescaled) ? spec.q_prescaled : DType::none),
      q_base(spec.q_prescaled_without_log2e ? 1 : std::numbers::ln2),
      input_rounding(spec),
      out(spec.out_dtype),
      out_toward_zero(spec.out_toward_zero && is_rounded(spec.out_dtype)),
      lse(is_rounded(spec.lse_dtype) ? spec.lse_dtype : DType::f32),
      qk(spec.qk_accumulator),
      pv(spec.pv_accumulator) {
  lse_without_row_bias = spec.lse_without_row_bias;
  if (spec.lse_base == 2) lse_unit = std::numbers::ln2;
  const bool rounds_p = is_rounded(spec.p_dtype);
  if (rounds_p) p_rounded = spec.p_dtype;
  p_stochastic = rounds_p && spec.p_stochastic;
  p_divided = rounds_p && spec.p_normalized;
  // Even a normalised P has unknown errors if it is rounded stochastically.
  p_normalized = p_divided && !p_stochastic;
  if (p_divided) denominator_from_rounded_p = false;  // the sum is made before the division
  if (rounds_p && p_toward_zero) {
    kappa_p = kappa_truncated, largest_p = 2, max_kappa = 4;
    kappa_shared = 4 * kappa_coherent;
  } else if (p_stochastic) {  // a variance of f (1 - f) ulp^2 for a fraction f, at most ulp^2 / 4
    kappa_p = 2 * kappa, largest_p = 2;
  }
  // Truncation errs by 0 to 1 ulp, or, if the dtype holds o exactly, by 0 or 1: mean square 1/2.
  if (out_toward_zero) out_variance = 1.0 / 2;
  if (spec.out_stochastic && !out_toward_zero && is_rounded(spec.out_dtype)) out_variance = 1.0 / 6;
  p_prescale = spec.p_prescale;
  u_p = rounds_p ? unit_roundoff(spec.p_dtype) : 2 * u32;
  eta_p = eta(spec.p_dtype) / spec.p_prescale;
  p_normal = std::ldexp(eta_p, significand_bits(spec.p_dtype));
  // Logits that agree in more bits than Q K^T keeps have one truncation error.
  const bool few_bits = qk.toward_zero && spec.qk_accumulator.fraction_bits < 23;
  p_cell_bits = rounds_p   ? significand_bits(spec.p_dtype) + cell_extra_bits
                : few_bits ? spec.qk_accumulator.fraction_bits + cell_extra_bits
                           : exact_tie_bits;
  int exponent = 0;
  if (u_s > 0 && spec.s_rounded_twice && std::frexp(std::abs(scale), &exponent) != 0.5)
    s_roundings = 2;
  if (spec.s_rounded_before_bias) s_place = PlaceOfS::before_bias;
  if (spec.s_rounded_before_softcap) s_place = PlaceOfS::before_softcap;
  ring_update = spec.ring_update;
  skipped_logit = std::log(skipped_below);
  p_rounder = {Rounder(p_rounded), p_toward_zero};
  s_rounder = Rounder(s_rounded);
  out_rounder = {Rounder(out), out_toward_zero};
  if (u_s > 0) s_cell_bits = significand_bits(spec.s_rounded) + cell_extra_bits;
}

}  // namespace plumbline
