// The numbers that the error formulas take from a rounding spec. Names follow
// docs/judging-formulas.md, "Symbols"; u is a unit roundoff, eta half the smallest subnormal.
#pragma once

#include <cmath>
#include <cstdint>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

inline constexpr double u32 = 0x1p-24;
inline double square(double x) { return x * x; }
// Mean of (relative rounding error / u)^2 over log-uniform significands.
inline constexpr double kappa = 0.18;
// The same where one rounding is shared by many terms: 1 / 1.35^2, so that the rms stays below its
// limit even at the worst draw.
inline constexpr double kappa_coherent = 0.55;

// One matrix product's accumulation.
struct AccumulationModel {
  explicit AccumulationModel(const Accumulator& accumulator);

  // unit roundoff of one addition: fp32's, or fp16's for fp16 accumulators, which round to nearest
  double u = u32;
  bool toward_zero = false;
  // weight of the last bit kept inside a step, and of the step's fp32 result
  double f = 0, f_out = 0;
  double step = 1;  // products per step

  double steps(std::int64_t terms) const { return std::ceil(static_cast<double>(terms) / step); }
};

struct Model {
  explicit Model(const RoundingSpec& spec);

  double u_p = 0, eta_p = 0;      // P; eta in units of the unnormalised exp(s - m)
  DType p_rounded = DType::none;  // none = P is kept in fp32
  double p_prescale = 1;
  int p_cell_bits = 0;  // significand bits by which P values share a cell
  double p_normal = 0;  // smallest normal P, in the units of eta_p
  bool denominator_from_rounded_p = false;
  DType s_rounded = DType::none;
  double u_s = 0, eta_s = 0;  // 0 = S is not rounded
  int s_cell_bits = 0;
  double u_split = 0, eta_split = 0;
  double exp2_error = 0, tanh_error = 0;
  bool lse_includes_sink = true;
  DType q_prescaled = DType::none;
  DType inputs_rounded = DType::none;
  DType out = DType::f32;
  AccumulationModel qk, pv;
};

}  // namespace plumbline
