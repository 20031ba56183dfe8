// log2 in fp64 without libm, with the same bits on CPUs and GPUs. Every step is an IEEE operation.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>

#include "kernels/cpu/everywhere.h"

namespace plumbline {

inline constexpr double log2_e = 0x1.71547652b82fep+0;  // 1 / ln 2
inline constexpr double ln_2 = 0x1.62e42fefa39efp-1;

// Returns log2 of a positive normal number, within 1e-15 of max(1, |log2 x|). NaN and infinity are
// returned unchanged. x = 2^e y with y in [sqrt(1/2), sqrt(2)); ln y = 2 atanh t with t = (y - 1) /
// (y + 1), |t| < 0.1716, by its Taylor series. The first omitted term is 2 t^21 / 21 < 1e-17.
PLUMBLINE_EVERYWHERE inline double log2_series(double x) {
  if (!(x < HUGE_VAL)) return x;
  constexpr std::uint64_t mantissa_of_sqrt_2 = 0x6a09e667f3bcdU;
  std::uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  const std::uint64_t mantissa = bits & 0xfffffffffffffU;
  const int halve = mantissa > mantissa_of_sqrt_2 ? 1 : 0;
  const int exponent = static_cast<int>(bits >> 52U) - 1023 + halve;
  const std::uint64_t y_bits = mantissa | static_cast<std::uint64_t>(1023 - halve) << 52U;
  double y = 0;
  memcpy(&y, &y_bits, sizeof y);

  const double t = (y - 1.0) / (y + 1.0);
  const double t2 = t * t;
  double series = 1.0 / 19.0;
  for (int odd = 17; odd >= 1; odd -= 2) series = fma(series, t2, 1.0 / odd);
  return fma(2.0 * t * series, log2_e, exponent);
}

}  // namespace plumbline
