// 2^x, tanh and log2 without libm: the same bits on every x86-64-v3 machine.
#pragma once

#include <immintrin.h>

#include <cmath>

#include "kernels/cpu/exp2_polynomial.h"
#include "kernels/cpu/log2_series.h"
#include "kernels/cpu/tanh_series.h"

namespace plumbline::cpu {

// Returns 2^x for x in [-126, 127], within 2 ulp. Exactly 0 below -126, also for -infinity;
// saturates above 127. NaN stays NaN.
inline __m256 exp2(__m256 x) {
  using namespace exp2_polynomial;
  const __m256 lowest = _mm256_set1_ps(-126.0F);
  const __m256 vanishes = _mm256_cmp_ps(x, lowest, _CMP_LT_OQ);
  // for unordered pairs, min and max return the second operand, so NaN survives
  x = _mm256_max_ps(lowest, x);
  x = _mm256_min_ps(_mm256_set1_ps(127.0F), x);
  const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 f = _mm256_sub_ps(x, whole);  // exact

  __m256 power = _mm256_set1_ps(c6);
  for (const float c : {c5, c4, c3, c2, c1, 1.0F})
    power = _mm256_fmadd_ps(power, f, _mm256_set1_ps(c));

  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
  power = _mm256_mul_ps(power, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  return _mm256_andnot_ps(vanishes, power);
}

inline float exp2(float x) { return _mm256_cvtss_f32(exp2(_mm256_set1_ps(x))); }

// Computes the same bits as tanh_of, eight values at a time.
inline __m256 tanh(__m256 x) {
  using namespace tanh_series;
  const auto all = [](float value) { return _mm256_set1_ps(value); };
  const __m256 sign = _mm256_and_ps(all(-0.0F), x), size = _mm256_xor_ps(sign, x);

  const __m256 z = _mm256_mul_ps(x, x);
  __m256 series = all(c5);
  for (const float c : {c4, c3, c2, c1, c0}) series = _mm256_fmadd_ps(series, z, all(c));
  series = _mm256_fmadd_ps(_mm256_mul_ps(x, z), series, x);

  const __m256 twice = _mm256_mul_ps(all(2.0F), _mm256_min_ps(size, all(largest)));
  const __m256 whole = _mm256_round_ps(_mm256_mul_ps(twice, all(log2_e_high)),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256 f =
      _mm256_fmadd_ps(twice, all(log2_e_low), _mm256_fmsub_ps(twice, all(log2_e_high), whole));
  __m256 power = all(exp2_polynomial::c6);
  for (const float c : {exp2_polynomial::c5, exp2_polynomial::c4, exp2_polynomial::c3,
                        exp2_polynomial::c2, exp2_polynomial::c1, 1.0F}) {
    power = _mm256_fmadd_ps(power, f, all(c));
  }
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
  const __m256 y =
      _mm256_fmadd_ps(power, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)), all(1.0F));
  __m256 r = _mm256_castsi256_ps(_mm256_sub_epi32(
      _mm256_set1_epi32(static_cast<int>(reciprocal_guess)), _mm256_castps_si256(y)));
  for (int step = 0; step < 3; ++step) r = _mm256_fmadd_ps(r, _mm256_fnmadd_ps(y, r, all(1.0F)), r);
  const __m256 quotient = _mm256_or_ps(sign, _mm256_fnmadd_ps(all(2.0F), r, all(1.0F)));

  return _mm256_blendv_ps(series, quotient,
                          _mm256_cmp_ps(size, all(end_of_polynomial), _CMP_GE_OQ));
}

inline double log2(double x) { return log2_series(x); }

}  // namespace plumbline::cpu
