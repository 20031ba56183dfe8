// Number formats of the CPU kernels: conversion from and to fp32, and rounding to a format. Rows in
// memory are fp32, fp16, bf16 or fp8. All conversions round to nearest, ties to even.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/dtype.h"

namespace plumbline::cpu {

// The numbers of a binary format: `bits` significant bits; below `smallest_normal` evenly spaced by
// `quantum`.
struct Grid {
  int bits;
  float smallest_normal;
  float quantum;
};
inline constexpr Grid f16_grid{11, 0x1p-14F, 0x1p-24F};
inline constexpr Grid bf16_grid{8, 0x1p-126F, 0x1p-133F};
inline constexpr Grid tf32_grid{11, 0x1p-126F, 0x1p-136F};
inline constexpr Grid e4m3_grid{4, 0x1p-6F, 0x1p-9F};
inline constexpr Grid e5m2_grid{3, 0x1p-14F, 0x1p-16F};
inline constexpr Grid grid_of(std::uint32_t dtype) {
  switch (dtype) {
    case PLUMBLINE_F16:
      return f16_grid;
    case PLUMBLINE_BF16:
      return bf16_grid;
    case PLUMBLINE_E4M3:
      return e4m3_grid;
    case PLUMBLINE_E5M2:
      return e5m2_grid;
    default:
      return tf32_grid;
  }
}

// Returns the nearest number of the grid, for |x| that does not overflow the format. NaN stays NaN.
inline __m256 round_to_grid(__m256 x, const Grid& grid) {
  const int dropped = 24 - grid.bits;
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, dropped), _mm256_set1_epi32(1));
  const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32((1 << (dropped - 1)) - 1));
  const __m256i kept =
      _mm256_and_si256(_mm256_add_epi32(bits, half), _mm256_set1_epi32(-(1 << dropped)));
  // Below the smallest normal number: adding 1.5 * 2^23 quanta leaves no room for bits below the
  // quantum.
  const __m256 shift = _mm256_set1_ps(0x1.8p23F * grid.quantum);
  const __m256 even_spacing = _mm256_sub_ps(_mm256_add_ps(x, shift), shift);
  const __m256 sign = _mm256_and_ps(_mm256_set1_ps(-0.0F), x);
  const __m256 size = _mm256_xor_ps(sign, x);
  const __m256 is_small = _mm256_cmp_ps(size, _mm256_set1_ps(grid.smallest_normal), _CMP_LT_OQ);
  const __m256 rounded = _mm256_blendv_ps(_mm256_castsi256_ps(kept), even_spacing, is_small);
  return _mm256_blendv_ps(_mm256_or_ps(sign, rounded), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

// Rounds `count` values in place; `count` must be a multiple of 8. fp16 and bf16 overflow to
// infinity; for the fp8 formats, values must be in range.
inline void round_to(std::uint32_t dtype, float* values, std::int64_t count) {
  if (dtype == PLUMBLINE_F32) return;
  const Grid grid = grid_of(dtype);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256 x = _mm256_loadu_ps(values + i);
    const bool f16 = dtype == PLUMBLINE_F16;
    _mm256_storeu_ps(values + i,
                     f16 ? _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
                         : round_to_grid(x, grid));
  }
}

// Decodes eight e4m3 numbers, each in the low byte of its lane. Exponent and mantissa, moved to
// fp32's fields, give the value times 2^-120, also for subnormal numbers.
inline __m256 decode_e4m3(__m256i bytes) {
  const __m256i size = _mm256_and_si256(bytes, _mm256_set1_epi32(0x7f));
  const __m256 value =
      _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(size, 20)), _mm256_set1_ps(0x1p120F));
  const __m256 sign = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(bytes, 7), 31));
  const __m256 is_nan = _mm256_castsi256_ps(_mm256_cmpeq_epi32(size, _mm256_set1_epi32(0x7f)));
  return _mm256_or_ps(
      sign,
      _mm256_blendv_ps(value, _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN()), is_nan));
}

// e5m2 is the upper half of fp16.
inline __m256 decode_fp8(std::uint32_t dtype, __m128i bytes) {
  if (dtype == PLUMBLINE_E4M3) return decode_e4m3(_mm256_cvtepu8_epi32(bytes));
  return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes), 8));
}

inline float decode_one(std::uint32_t dtype, const std::byte* from) {
  if (dtype == PLUMBLINE_F32) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (is_fp8(dtype))
    return _mm256_cvtss_f32(decode_fp8(dtype, _mm_cvtsi32_si128(static_cast<int>(*from))));
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return dtype == PLUMBLINE_F16 ? _cvtsh_ss(bits)
                                : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

// Saturates at the largest number of the format. NaN becomes 0x7f, a NaN in both formats.
inline std::byte encode_fp8(std::uint32_t dtype, float value) {
  const bool e4m3 = dtype == PLUMBLINE_E4M3;
  const float largest = e4m3 ? 448.0F : 57344.0F;
  if (value != value) return std::byte{0x7f};
  const float saturated = std::clamp(value, -largest, largest);
  const float rounded = _mm256_cvtss_f32(round_to_grid(_mm256_set1_ps(saturated), grid_of(dtype)));
  const int significand = e4m3 ? 3 : 2;  // stored bits
  const auto bits = std::bit_cast<std::uint32_t>(
      std::abs(rounded) * (e4m3 ? 0x1p-120F : 0x1p-112F));  // moves the bias to that of the format
  const std::uint32_t sign = (std::bit_cast<std::uint32_t>(value) >> 31U) != 0 ? 0x80U : 0U;
  return static_cast<std::byte>(sign | (bits >> static_cast<unsigned>(23 - significand)));
}

inline void encode_one(std::uint32_t dtype, float value, std::byte* to) {
  if (dtype == PLUMBLINE_F32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  if (is_fp8(dtype)) {
    *to = encode_fp8(dtype, value);
    return;
  }
  std::uint16_t bits = 0;
  if (dtype == PLUMBLINE_F16) {
    bits = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
  } else {
    const float rounded = _mm256_cvtss_f32(round_to_grid(_mm256_set1_ps(value), bf16_grid));
    bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16U);
    // a NaN whose payload is in the dropped bits must not become infinity
    if (value != value) bits |= 0x40U;
  }
  std::memcpy(to, &bits, sizeof bits);
}

inline __m256 decode_eight(std::uint32_t dtype, const std::byte* from) {
  if (dtype == PLUMBLINE_F32) return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  if (is_fp8(dtype))
    return decode_fp8(dtype, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if (dtype == PLUMBLINE_F16) return _mm256_cvtph_ps(packed);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(packed), 16));
}

// Converts `count` elements, `stride` elements apart, to fp32, and adds zeros up to the next
// multiple of 8.
inline void decode_row(std::uint32_t dtype, const std::byte* from, std::int64_t stride,
                       std::int64_t count, float* to) {
  const std::int64_t size = size_in_bytes(dtype);
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, decode_eight(dtype, from + i * size));
  }
  for (; i < count; ++i) to[i] = decode_one(dtype, from + i * stride * size);
  for (; i % 8 != 0; ++i) to[i] = 0;
}

inline void encode_row(std::uint32_t dtype, const float* from, std::int64_t count, std::byte* to,
                       std::int64_t stride) {
  const std::int64_t size = size_in_bytes(dtype);
  for (std::int64_t i = 0; i < count; ++i) encode_one(dtype, from[i], to + i * stride * size);
}

}  // namespace plumbline::cpu
