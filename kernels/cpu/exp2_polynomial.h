// 2^f on [-1/2, 1/2] by a polynomial, for kernels that must give the same bits everywhere. They
// cannot call libm. 2^f is 1 + f (c1 + c2 f + ... + c6 f^5).
//
// The coefficients interpolate (2^f - 1) / f at the six Chebyshev nodes of [-1/2, 1/2], solved with
// 50 digits, then rounded to fp32. The constant term is exactly 1, so 2^0 == 1 and a row's largest
// key has P == 1. The rounded polynomial's relative error is at most 2^-26.7; with fp32 fma it
// stays below 2 ulp (tests/kernels measures it against long double).
#pragma once

#include <math.h>

#include "kernels/cpu/everywhere.h"

namespace plumbline::exp2_polynomial {

inline constexpr float c1 = 0x1.62e43p-1F;
inline constexpr float c2 = 0x1.ebfbep-3F;
inline constexpr float c3 = 0x1.c6af6cp-5F;
inline constexpr float c4 = 0x1.3b2a54p-7F;
inline constexpr float c5 = 0x1.5f089p-10F;
inline constexpr float c6 = 0x1.44138ap-13F;

// Returns 2^f for f in [-1/2, 1/2].
PLUMBLINE_EVERYWHERE inline float value(float f) {
  float power = fmaf(c6, f, c5);
  power = fmaf(power, f, c4);
  power = fmaf(power, f, c3);
  power = fmaf(power, f, c2);
  power = fmaf(power, f, c1);
  return fmaf(power, f, 1.0F);
}

}  // namespace plumbline::exp2_polynomial
