// 2^x and log2 without libm: the same bits on every x86-64-v3 machine.
#pragma once

#include <immintrin.h>

#include <cmath>

#include "kernels/cpu/exp2_polynomial.h"
#include "kernels/cpu/log2_series.h"

namespace plumbline::cpu {

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

inline double log2(double x) { return log2_series(x); }

}  // namespace plumbline::cpu
