// 2^x and log2 without libm: the same bits on every x86-64-v3 machine.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/exp2_polynomial.h"

namespace plumbline::cpu {

inline constexpr double log2_e = 0x1.71547652b82fep+0;  // 1 / ln 2
inline constexpr double ln_2 = 0x1.62e42fefa39efp-1;

// 2^x for x in [-126, 127], within 2 ulp. Below -126, also for -infinity, exactly 0; above 127 it saturates. NaN stays NaN.
inline __m256 exp2(__m256 x) {
  using namespace exp2_polynomial;
  const __m256 lowest = _mm256_set1_ps(-126.0F);
  const __m256 vanishes = _mm256_cmp_ps(x, lowest, _CMP_LT_OQ);
  x = _mm256_max_ps(lowest, x);  // of an unordered pair min and max return the second operand: NaN survives
  x = _mm256_min_ps(_mm256_set1_ps(127.0F), x);
  const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 f = _mm256_sub_ps(x, whole);  // exact

  __m256 power = _mm256_set1_ps(c6);
  for (const float c : {c5, c4, c3, c2, c1, 1.0F}) power = _mm256_fmadd_ps(power, f, _mm256_set1_ps(c));

  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
  power = _mm256_mul_ps(power, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  return _mm256_andnot_ps(vanishes, power);
}

inline float exp2(float x) { return _mm256_cvtss_f32(exp2(_mm256_set1_ps(x))); }

// log2 of a positive normal number, within 1e-15 of max(1, |log2 x|). NaN and infinity stay what they are.
// x = 2^e y with y in [sqrt(1/2), sqrt(2)); ln y = 2 atanh t with t = (y - 1) / (y + 1), |t| < 0.1716, by its Taylor series: the first
// term left out is 2 t^21 / 21 < 1e-17.
inline double log2(double x) {
  if (!(x < HUGE_VAL)) return x;
  constexpr std::uint64_t mantissa_of_sqrt_2 = 0x6a09e667f3bcdU;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t mantissa = bits & 0xfffffffffffffU;
  const int halve = mantissa > mantissa_of_sqrt_2 ? 1 : 0;
  const int exponent = static_cast<int>(bits >> 52U) - 1023 + halve;
  const double y = std::bit_cast<double>(mantissa | static_cast<std::uint64_t>(1023 - halve) << 52U);

  const double t = (y - 1.0) / (y + 1.0);
  const double t2 = t * t;
  double series = 1.0 / 19.0;
  for (int odd = 17; odd >= 1; odd -= 2) series = std::fma(series, t2, 1.0 / odd);
  return std::fma(2.0 * t * series, log2_e, exponent);
}

}  // namespace plumbline::cpu
