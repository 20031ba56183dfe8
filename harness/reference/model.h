// The numbers that the error formulas take from a rounding spec. Names follow
// docs/judging-formulas.md, "Symbols": u is a unit roundoff, eta half the smallest subnormal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "harness/problem/rounder.h"
#include "harness/problem/rounding_spec.h"
#include "harness/reference/rms_limit.h"

namespace plumbline {

inline constexpr double u32 = 0x1p-24;
inline double square(double x) { return x * x; }
// Mean of (relative rounding error / u)^2 over log-uniform significands.
inline constexpr double kappa = 0.18;
// Like kappa, if many terms share one rounding: 1 / rms_limit^2 to two digits, so that the rms
// stays below its limit even if the shared error is u. Another value needs another
// reference_version.
inline constexpr double kappa_coherent = 0.55;
static_assert(kappa_coherent * rms_limit * rms_limit > 0.99 &&
              kappa_coherent * rms_limit * rms_limit < 1.01);

// Truncation of log-uniform significands s, in units of u: the mean relative error is -E(1/s) = -1
// / (2 ln 2), the variance about it (4/3) E(1/s^2) minus the square of that mean.
inline constexpr double truncation_mean = 0.7213475204444817;
inline constexpr double kappa_truncated = 0.7213475204444817 - 0.5203422450526448;
// Number of keys after which 16-bit O is rounded: the smallest tile that kernels have.
inline constexpr std::int64_t smallest_tile = 16;

// Returns t, the truncation loss of a product, as TA's systematic part counts it, before the factor
// 1/6. If the sum already is near R_j, a product far below q = f R_j is lost whole, so
// 1 / sqrt(slack) of t counts instead of 1/6.
inline constexpr double swamped = 4.477;  // 6 / sqrt(1.2) - 1
inline double counted_loss(double t, double q) {
  return q > 0 ? t * (1 + swamped * std::min(1.0, 2 - 2 * t / q)) : 0;
}

// Accumulation of one matrix product.
struct AccumulationModel {
  explicit AccumulationModel(const Accumulator& accumulator);

  // unit roundoff of one addition: of fp32, or of fp16 for fp16 accumulators, which round to
  // nearest
  double u = u32;
  double eta = 0;  // half the smallest subnormal of an fp16 accumulator
  bool toward_zero = false;
  // weight of the last bit kept inside a step, and of the step's fp32 result
  double f = 0, f_out = 0;
  double step = 1;  // products per step

  double steps(std::int64_t terms) const { return std::ceil(static_cast<double>(terms) / step); }
};

struct Model {
  // `scale` multiplies q . k. If it is a power of two, a second rounding of S changes nothing.
  Model(const RoundingSpec& spec, double scale);

  // Returns P as a kernel rounds it after p_prescale, divided by p_prescale again.
  double rounded_p(double p) const { return p_rounder(p * p_prescale) / p_prescale; }
  // Returns the standard deviation of a P that a kernel rounds up or down at random.
  double random_error(double p) const {
    const double held = p * p_prescale, low = p_rounder.rounder.toward_zero(held),
                 high = low + ulp(held, p_rounded);
    return std::sqrt(std::max(0.0, (held - low) * (high - held))) / p_prescale;
  }
  double rounded_out(double o) const { return out_rounder(o); }
  // Returns the largest error of the output's rounding in ulps.
  double output_units() const { return out_variance > 1.0 / 12 ? 1 : 0.5; }
  bool truncates_p() const { return p_toward_zero && p_rounded != DType::none; }

  double u_p = 0, eta_p = 0;      // P; eta in units of the unnormalised exp(s - m)
  DType p_rounded = DType::none;  // none = P is kept in fp32
  double p_prescale = 1;
  int p_cell_bits = 0;        // significand bits by which P values share a cell
  double p_normal = 0;        // smallest normal P, in the same units as eta_p
  bool p_divided = false;     // P / l is rounded, and eta_p is in its units
  bool p_normalized = false;  // and not stochastically, so that P's errors are known; t = p
  MaximumOfP p_max = MaximumOfP::running;
  bool p_toward_zero = false, p_stochastic = false;
  double kappa_p = kappa;                // of log-uniform significands, in u_P^2
  double kappa_shared = kappa_coherent;  // the same for keys that share a cell
  double largest_p = 1;                  // largest relative error, in u_P
  double max_kappa = 1;                  // largest kappa of keys with one significand
  bool denominator_from_rounded_p = false;
  DType s_rounded = DType::none;
  double u_s = 0, eta_s = 0;  // 0 = S is not rounded
  enum class PlaceOfS { logit, before_bias, before_softcap } s_place = PlaceOfS::logit;
  double s_roundings = 1;  // successive roundings of S
  int s_cell_bits = 0;
  double u_split = 0, eta_split = 0;
  double u_tile = 0, eta_tile = 0;  // O between tiles; 0 = fp32
  bool ring_update = false;
  double exp2_error = 0, tanh_error = 0, reciprocal_error = 0, product_error = 0;
  double skipped_below = 0, skipped_logit = 0;  // skipped_logit = ln(skipped_below)
  bool lse_includes_sink = true, lse_without_row_bias = false;
  bool merges = false;  // merge of states: logits come from memory
  DType q_prescaled = DType::none;
  double q_base = std::numbers::ln2;  // scale of logits made from a prescaled Q
  InputRounding input_rounding;
  DType out = DType::f32;
  bool out_toward_zero = false;
  double out_variance = 1.0 / 12;  // variance of the output's rounding, in squared ulps
  DType lse = DType::f32;
  double lse_unit = 1;  // the stored LSE's unit in natural units: ln 2 for base 2
  AccumulationModel qk, pv;
  DirectedRounder p_rounder, out_rounder;
  Rounder s_rounder{DType::none};
};

}  // namespace plumbline
