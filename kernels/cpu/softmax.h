// Row operations of softmax on one row of a tile: 8 lanes at a time, sums in a fixed order. `width`
// is a multiple of 8.
#pragma once

#include <limits>

#include "kernels/cpu/elementary.h"
#include "kernels/cpu/numbers.h"
#include "kernels/cpu/sequences.h"

namespace plumbline::cpu {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// s = factor * s
inline void scale_row(float* s, std::int64_t width, float factor) {
  const __m256 factors = _mm256_set1_ps(factor);
  for (std::int64_t i = 0; i < width; i += 8)
    _mm256_storeu_ps(s + i, _mm256_mul_ps(_mm256_loadu_ps(s + i), factors));
}

// Sets s to -infinity outside of `seen`, which counts from the tile's first key.
inline void mask_row(float* s, std::int64_t width, Range seen) {
  std::fill(s, s + seen.begin, minus_infinity);
  std::fill(s + seen.end, s + width, minus_infinity);
}

// Returns the largest of `start` and all of s. NaN is ignored here, but exp2 keeps it.
inline float max_of_row(const float* s, std::int64_t width, float start) {
  __m256 lanes = _mm256_set1_ps(start);
  for (std::int64_t i = 0; i < width; i += 8) lanes = _mm256_max_ps(_mm256_loadu_ps(s + i), lanes);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

// Lane i sums the elements i, i + 8, ...; then ((0+4) + (2+6)) + ((1+5) + (3+7)).
inline float sum_of_row(const float* p, std::int64_t width) {
  __m256 lanes = _mm256_setzero_ps();
  for (std::int64_t i = 0; i < width; i += 8) lanes = _mm256_add_ps(lanes, _mm256_loadu_ps(p + i));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

// p = 2^(factor * (s - m)), in place.
inline void exp2_row(float* s, std::int64_t width, float m, float factor) {
  const __m256 maximum = _mm256_set1_ps(m);
  const __m256 factors = _mm256_set1_ps(factor);
  for (std::int64_t i = 0; i < width; i += 8) {
    const __m256 below = _mm256_sub_ps(_mm256_loadu_ps(s + i), maximum);
    _mm256_storeu_ps(s + i, exp2(_mm256_mul_ps(below, factors)));
  }
}

// Rounds P times `prescale`, a power of two, to p_dtype. `double_round_p` rounds every eighth key
// again, to one significant bit less. Half of the once-rounded values are then halfway and move
// by a whole ulp. So the error variance of these keys grows from ulp^2 / 12 to 7 ulp^2 / 12, and
// the mean variance of all keys by 75 %. With centred V, somewhat more than half of a 16-bit
// output's error variance is P's rounding. So the rms of e / sigma grows by about a fifth.
// tests/kernels asserts 10 to 30 %.
inline void round_p(float* p, std::int64_t width, std::int64_t first_key, std::uint32_t p_dtype,
                    float prescale, bool double_round_p) {
  if (prescale != 1) scale_row(p, width, prescale);
  round_to(p_dtype, p, width);
  if (prescale != 1) scale_row(p, width, 1 / prescale);
  if (!double_round_p || p_dtype == PLUMBLINE_F32) return;
  Grid coarse = grid_of(p_dtype);
  coarse.bits -= 1;
  coarse.quantum *= 2;
  for (std::int64_t i = 0; i < width; ++i) {
    if ((first_key + i) % 8 == 0)
      p[i] = _mm256_cvtss_f32(round_to_grid(_mm256_set1_ps(p[i]), coarse));
  }
}

}  // namespace plumbline::cpu
