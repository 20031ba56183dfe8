// Number formats: sizes, names, unit roundoffs, exact rounding and conversion.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/base/enumeration.h"

namespace plumbline {

// Values equal plumbline_dtype of the provider ABI.
enum class DType : std::uint32_t {
  none = 0,
  f32 = 1,
  f16 = 2,
  bf16 = 3,
  e4m3 = 4,
  e5m2 = 5,
  tf32 = 6,
  f64 = 7,
  i32 = 8
};

template <>
inline constexpr std::array<std::string_view, 9> names_of<DType>{
    "none", "fp32", "fp16", "bf16", "e4m3", "e5m2", "tf32", "fp64", "int32"};
// Dtypes that Q, K, V and the output of a problem may be stored in.
inline constexpr std::array stored_dtypes{DType::f32, DType::f16, DType::bf16, DType::e4m3,
                                          DType::e5m2};
inline constexpr std::array fp8_dtypes{DType::e4m3, DType::e5m2};
constexpr bool is_fp8(DType dtype) {
  return std::ranges::find(fp8_dtypes, dtype) != fp8_dtypes.end();
}

// A binary floating-point format. Normal numbers are at least 2^min_exponent in size. Below that,
// the spacing stays 2^(min_exponent - bits + 1).
struct NumberFormat {
  DType dtype;
  std::size_t bytes;
  int bits;  // significand bits with the hidden one; 0 = not a floating-point format
  int min_exponent;
  int max_exponent;  // exponent of the largest finite number
  double largest;
  bool has_infinity;
};
// Returns a format without bits for an unknown dtype.
const NumberFormat& format_of(DType dtype);

constexpr double power_of_two(int exponent) {  // for normal doubles
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

std::size_t size_in_bytes(DType dtype);  // 0 for none; 4 for tf32

// Unit roundoff u = 2^-p for p significand bits: fp16 and tf32 2^-11, bf16 2^-8, e4m3 2^-4, e5m2
// 2^-3, fp32 2^-24. 0 for none, which rounds nothing. NaN for a dtype that is not a floating-point
// format, so that every comparison with it is false.
double unit_roundoff(DType dtype);
// Number of significand bits, including the hidden one: fp16 and tf32 11, bf16 8, e4m3 4, e5m2 3,
// fp32 24.
int significand_bits(DType dtype);
// Half the smallest subnormal (the largest rounding error near zero): fp16 2^-25, e4m3 2^-10, e5m2
// 2^-17, bf16 2^-134, fp32 2^-150, tf32 2^-137.
double half_smallest_subnormal(DType dtype);
double largest_finite(DType dtype);
// Limits a value to the range of an fp8 dtype, at which fp8 outputs saturate. Other dtypes leave it
// unchanged.
inline double saturated(double value, DType dtype) {
  return is_fp8(dtype) ? std::clamp(value, -largest_finite(dtype), largest_finite(dtype)) : value;
}
// Spacing of the format's numbers at |value|: at least the smallest subnormal (also at 0), at most
// the spacing below the largest finite number (also at infinity). NaN for NaN.
double ulp(double value, DType dtype);
// Rounds to the nearest representable value, ties to even. Overflow gives infinity (e4m3: NaN).
// Exact for any double. NaN stays NaN; DType::none returns the value unchanged.
double round_to(double value, DType dtype);
// Rounds toward zero, otherwise like round_to(). Overflow gives the largest finite number. Both
// functions keep the sign of a zero.
double truncate_to(double value, DType dtype);

// Converts arrays, ties to even. `encoded` has size_in_bytes(dtype) * values.size() bytes.
void encode(DType dtype, std::span<const float> values, void* encoded);
void decode(DType dtype, const void* encoded, std::span<float> values);
void decode(DType dtype, const void* encoded, std::span<double> values);
// Decodes the element at `index`.
double decode_at(DType dtype, const void* encoded, std::size_t index);

}  // namespace plumbline
