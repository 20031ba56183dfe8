// tanh in fp32 without libm, for the softcap, with the same bits on CPUs and GPUs. Every step is an
// IEEE operation.
//
//   |x| < 0.625   x + x z (c0 + c1 z + ... + c5 z^5) with z = x^2. The coefficients interpolate
//                 (tanh(x) / x - 1) / z at the six Chebyshev nodes of z in [0, 0.625^2], solved
//                 with 50 digits, then rounded to fp32. The relative error is at most 2^-27.8.
//   otherwise     1 - 2 / (e^(2|x|) + 1), e^(2|x|) = 2^n 2^f. f uses log2(e) in two parts,
//                 so its rounding error stays below the error of exp2_polynomial.h. The reciprocal
//                 takes three Newton steps from a guess within 5.1 %, which leaves 2^-24.
//                 The quotient is below 0.45 and tanh above 0.55, so the relative error shrinks.
// The total error is below 2 ulp (tests/kernels measures it against long double). tanh(0) = 0, NaN
// stays NaN; |x| > 10 gives +-1, like the true value in fp32.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/everywhere.h"
#include "kernels/cpu/exp2_polynomial.h"

namespace plumbline {

namespace tanh_series {
inline constexpr float c0 = -0x1.555556p-2F;
inline constexpr float c1 = 0x1.1110eap-3F;
inline constexpr float c2 = -0x1.ba08c4p-5F;
inline constexpr float c3 = 0x1.64a976p-6F;
inline constexpr float c4 = -0x1.116a16p-7F;
inline constexpr float c5 = 0x1.2c83c0p-9F;

inline constexpr float end_of_polynomial = 0.625F;
inline constexpr float largest = 10.0F;  // 1 - tanh(10) < 2^-27
inline constexpr float log2_e_high = 0x1.715476p+0F;
inline constexpr float log2_e_low = 0x1.4ae0cp-26F;
// bits(1 / y) is about reciprocal_guess - bits(y). The guess minimizes the largest relative error
// (0.0506, by search).
inline constexpr std::uint32_t reciprocal_guess = 0x7ef31200U;
}  // namespace tanh_series

PLUMBLINE_EVERYWHERE inline float tanh_of(float x) {
  using namespace tanh_series;
  const float size = fabsf(x);
  const float z = x * x;
  float series = fmaf(c5, z, c4);
  series = fmaf(series, z, c3);
  series = fmaf(series, z, c2);
  series = fmaf(series, z, c1);
  series = fmaf(series, z, c0);
  series = fmaf(x * z, series, x);

  const float twice = 2.0F * fminf(size, largest);
  const float whole = rintf(twice * log2_e_high);
  const float f = fmaf(twice, log2_e_low, fmaf(twice, log2_e_high, -whole));
  const std::uint32_t scale_bits = static_cast<std::uint32_t>(static_cast<int>(whole) + 127) << 23U;
  float scale = 0;
  memcpy(&scale, &scale_bits, sizeof scale);

  const float y = fmaf(exp2_polynomial::value(f), scale, 1.0F);
  std::uint32_t bits = 0;
  memcpy(&bits, &y, sizeof bits);
  bits = reciprocal_guess - bits;
  float r = 0;
  memcpy(&r, &bits, sizeof r);
  for (int step = 0; step < 3; ++step) r = fmaf(r, fmaf(-y, r, 1.0F), r);
  // NaN takes the series
  return size >= end_of_polynomial ? copysignf(fmaf(-2.0F, r, 1.0F), x) : series;
}

}  // namespace plumbline
