// The arithmetic of PTX on raw bits. Registers are unsigned words; F(), D() and H() read them as
// floating-point numbers and B() returns their bits. Compiled with -ffp-contract=off: each
// operation rounds once, to nearest even, unless its name says otherwise. `Z` means .ftz: denormal
// operands and results become zeros of their sign.
//
// Section numbers are those of the PTX ISA 8.7. If the value of a NaN result matters (min, max,
// conversions), it is 0x7fffffff, as on the hardware; add, mul and fma return the host's NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace plumbline::ptx {

#define AI [[gnu::always_inline]] inline

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using u128 = unsigned __int128;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using s128 = __int128;
using f16 = _Float16;
using f32 = float;
using f64 = double;

// Not std::bit_cast, because g++ takes long to inline thousands of calls.
AI f32 F(u32 bits) { return __builtin_bit_cast(f32, bits); }
AI f64 D(u64 bits) { return __builtin_bit_cast(f64, bits); }
AI f16 H(u16 bits) { return __builtin_bit_cast(f16, bits); }
AI f32 BF(u16 bits) { return F(u32{bits} << 16); }
AI u32 B(f32 value) { return __builtin_bit_cast(u32, value); }
AI u64 B(f64 value) { return __builtin_bit_cast(u64, value); }
AI u16 B(f16 value) { return __builtin_bit_cast(u16, value); }

constexpr u32 not_a_number = 0x7fffffffU;
constexpr u16 not_a_half = 0x7fffU;

template <bool Z>
AI f32 flush(f32 x) {
  if constexpr (Z) return __builtin_fabsf(x) < 0x1p-126F ? __builtin_copysignf(0.0F, x) : x;
  return x;
}
// flush() for operands and results of an instruction. In a kernel for which ptx::host_flushes() is
// true, the host itself flushes them.
#ifdef PLUMBLINE_HOST_FLUSHES
constexpr bool host_flushes = true;
#else
constexpr bool host_flushes = false;
#endif
template <bool Z>
AI f32 computed(f32 x) {
  return flush < Z && !host_flushes > (x);
}

template <bool Z>
AI u32 add(f32 a, f32 b) {
  return B(computed<Z>(computed<Z>(a) + computed<Z>(b)));
}
template <bool Z>
AI u32 sub(f32 a, f32 b) {
  return B(computed<Z>(computed<Z>(a) - computed<Z>(b)));
}
template <bool Z>
AI u32 mul(f32 a, f32 b) {
  return B(computed<Z>(computed<Z>(a) * computed<Z>(b)));
}
template <bool Z>
AI u32 fma(f32 a, f32 b, f32 c) {
  return B(computed<Z>(__builtin_fmaf(computed<Z>(a), computed<Z>(b), computed<Z>(c))));
}
// fma.rm: rounded downward. The product of two floats is exact in fp64; `error` is what the sum
// lost.
template <bool Z>
AI u32 fma_down(f32 a, f32 b, f32 c) {
  const f64 product = f64(flush<Z>(a)) * f64(flush<Z>(b));
  const f64 addend = flush<Z>(c);
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  f32 result = static_cast<f32>(sum);
  const f64 above = f64(result) - sum;
  if (above > 0 || (above == 0 && error < 0))
    result = __builtin_nextafterf(result, -__builtin_inff());
  if (sum == 0 && (__builtin_signbit(product) || __builtin_signbit(addend))) result = -0.0F;
  return B(flush<Z>(result));
}
template <bool Z>
AI u32 divide(f32 a, f32 b) {
  return B(computed<Z>(computed<Z>(a) / computed<Z>(b)));
}
template <bool Z>
AI u32 root(f32 a) {
  return B(computed<Z>(__builtin_sqrtf(computed<Z>(a))));
}
AI u32 saturate(u32 bits) {
  const f32 x = F(bits);
  return !(x > 0) ? 0 : x > 1 ? 0x3f800000U : bits;
}

// The smaller and the larger of two numbers (9.7.3). If one is a NaN, the result is the other,
// except with .NaN; -0 is below +0. Flushing the result equals flushing the operands, even if the
// host compares denormal numbers as equal.
template <bool Z, bool NaN>
AI u32 unordered_result(f32 a, f32 b) {
  if (NaN || (a != a && b != b)) return not_a_number;
  return B(flush<Z>(a != a ? b : a));
}
template <bool Z, bool NaN>
AI u32 smaller(f32 a, f32 b) {
  if (__builtin_expect(__builtin_isunordered(a, b), 0)) return unordered_result<Z, NaN>(a, b);
  return B(flush<Z>(a == b ? F(B(a) | B(b)) : a < b ? a : b));
}
template <bool Z, bool NaN>
AI u32 larger(f32 a, f32 b) {
  if (__builtin_expect(__builtin_isunordered(a, b), 0)) return unordered_result<Z, NaN>(a, b);
  return B(flush<Z>(a == b ? F(B(a) & B(b)) : a > b ? a : b));
}

// Returns the sum rounded to odd, so that a second rounding to 24 bits or fewer is correct.
AI f64 sum_to_odd(f64 a, f64 b) {
  const f64 sum = a + b;
  const f64 of_b = sum - a;
  const f64 error = (a - (sum - of_b)) + (b - of_b);
  const u64 bits = B(sum);
  if (error == 0 || !(error == error) || (bits & 1) != 0) return sum;
  return D((error > 0) == (sum > 0) ? bits | 1 : bits - 1);
}

// fp16 and bf16 arithmetic in fp64, which holds each product exactly. Each operation rounds once.
AI f64 half(u16 bits) { return static_cast<f64>(H(bits)); }
AI u16 to_half(f64 x) { return x != x ? not_a_half : B(static_cast<f16>(x)); }
AI f64 brain(u16 bits) { return static_cast<f64>(BF(bits)); }
AI u16 round_to_bf16(u32 bits) {
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
// x must be exact or rounded to odd. The step through fp32 truncates and keeps the sticky bit.
AI u16 to_brain(f64 x) {
  if (x != x) return not_a_half;
  f32 cut = static_cast<f32>(x);
  if (static_cast<f64>(cut) != x) {
    u32 bits = B(cut);
    if (__builtin_fabs(static_cast<f64>(cut)) > __builtin_fabs(x)) --bits;
    cut = F(bits | 1);
  }
  return round_to_bf16(B(cut));
}

AI u16 to_bf16(f32 x) { return x != x ? not_a_half : round_to_bf16(B(x)); }
AI u16 to_bf16_chopped(f32 x) { return x != x ? not_a_half : static_cast<u16>(B(x) >> 16); }
AI u16 to_f16(f32 x) { return x != x ? not_a_half : B(static_cast<f16>(x)); }
AI u16 to_f16_chopped(f32 x) {
  if (x != x) return not_a_half;
  const u16 bits = B(static_cast<f16>(x));
  const f32 back = static_cast<f32>(H(bits));
  return __builtin_fabsf(back) > __builtin_fabsf(x) ? static_cast<u16>(bits - 1) : bits;
}
// Rounds to nearest, ties away from zero, 10 fraction bits (cvt.rna.tf32).
AI u32 to_tf32(f32 x) { return x != x ? not_a_number : (B(x) + 0x1000U) & 0xffffe000U; }
AI u32 to_tf32_even(f32 x) {
  return x != x ? not_a_number : (B(x) + 0xfffU + (B(x) >> 13 & 1)) & 0xffffe000U;
}

// fp8 (5.2.3): e4m3 has no infinity, and NaN is 0x7f; .satfinite clamps to the largest number.
template <int Mantissa>
AI u8 to_f8(f32 x) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  constexpr u32 largest = Mantissa == 3 ? 0x7e : 0x7b;
  const u8 sign = static_cast<u8>(B(x) >> 24 & 0x80);
  if (x != x) return 0x7f;
  const f32 magnitude = __builtin_fabsf(x);
  const int exponent = static_cast<int>(B(magnitude) >> 23) - 127;
  const int lowest = 1 - bias;
  const int step = (exponent < lowest ? lowest : exponent) - Mantissa;  // of the last bit
  if (exponent > 8 + (Mantissa == 3 ? 0 : 7)) return sign | largest;
  const auto units = static_cast<u32>(__builtin_rintf(__builtin_ldexpf(magnitude, -step)));
  const u32 code =
      units + (exponent < lowest ? 0 : static_cast<u32>(exponent - lowest) << Mantissa);
  return sign | static_cast<u8>(code > largest ? largest : code);
}
template <int Mantissa>
AI f32 from_f8(u8 bits) {
  constexpr int bias = Mantissa == 3 ? 7 : 15;
  const int exponent = bits >> Mantissa & (Mantissa == 3 ? 15 : 31),
            fraction = bits & ((1 << Mantissa) - 1);
  f32 x = exponent == 0 ? __builtin_ldexpf(static_cast<f32>(fraction), 1 - bias - Mantissa)
                        : __builtin_ldexpf(static_cast<f32>(fraction + (1 << Mantissa)),
                                           exponent - bias - Mantissa);
  if (Mantissa == 3 && (bits & 0x7f) == 0x7f) x = F(not_a_number);
  if (Mantissa == 2 && exponent == 31) x = fraction == 0 ? __builtin_inff() : F(not_a_number);
  return (bits & 0x80) != 0 ? -x : x;
}

// Conversion to integers (9.7.9.21): NaN becomes 0, for 64-bit types too; values out of range
// become the nearest limit. `whole` is already rounded.
template <class T>
AI T to_integer(f64 whole) {
  if (whole != whole) return 0;
  constexpr f64 lowest = static_cast<f64>(std::numeric_limits<T>::min());
  constexpr f64 above = 0x1p1 * static_cast<f64>(std::numeric_limits<T>::max() / 2 + 1);
  if (whole <= lowest) return std::numeric_limits<T>::min();
  if (whole >= above) return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}
template <class T, class From>
AI T clamp_integer(From value) {
  using Wide = s128;
  const Wide wide = value;
  const Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(wide < low ? low : wide > high ? high : wide);
}

// Bit operations (9.7.1, 9.7.8).
template <class T>
AI T shift_left(T a, u32 n) {
  return n >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << n);
}
template <class T>
AI T shift_right(T a, u32 n) {
  constexpr u32 width = sizeof(T) * 8;
  if (n >= width) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> n);
}
// Returns bits pos to pos + len - 1 of a. Signed types are extended by the field's highest bit, or
// by the word's sign bit if the field ends beyond the word.
template <class T>
AI T extract(T a, u32 pos, u32 len) {
  constexpr u32 width = sizeof(T) * 8;
  using U = std::make_unsigned_t<T>;
  pos &= 255;
  len &= 255;
  const U word = static_cast<U>(a);
  const U sign =
      std::is_signed_v<T> && len != 0
          ? static_cast<U>(word >> (pos + len - 1 < width ? pos + len - 1 : width - 1)) & 1
          : U{0};
  U result = 0;
  for (u32 i = 0; i < width; ++i)
    result |= (i < len && pos + i < width ? word >> (pos + i) & 1 : sign) << i;
  return static_cast<T>(result);
}
template <class T>
AI T insert(T a, T b, u32 pos, u32 len) {
  constexpr u32 width = sizeof(T) * 8;
  pos &= 255;
  len &= 255;
  if (len == 0 || pos >= width) return b;
  const T mask = len >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << len) - 1);
  return static_cast<T>((b & ~(mask << pos)) | ((a & mask) << pos));
}
// Any function of three bits: looks up bit 4 a + 2 b + c of the table.
AI u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i)
    if ((table >> i & 1) != 0)
      result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  return result;
}
// Byte i of the result is byte `nibble i` of b:a. If the nibble's top bit is set, the sign of that
// byte fills the result's byte instead.
AI u32 permute(u32 a, u32 b, u32 selector) {
  const u64 both = u64{b} << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    u32 byte = static_cast<u32>(both >> 8 * (nibble & 7)) & 255;
    if ((nibble & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
AI u32 reverse_bits(u32 x) {
  x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
  x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
  x = (x >> 4 & 0x0f0f0f0fU) | (x & 0x0f0f0f0fU) << 4;
  return __builtin_bswap32(x);
}
// Returns the position of the highest 1, or for signed types, of the highest bit that differs from
// the sign. -1: none.
template <class T>
AI u32 highest(T a) {
  using U = std::make_unsigned_t<T>;
  const U word =
      std::is_signed_v<T> && a < 0 ? static_cast<U>(~static_cast<U>(a)) : static_cast<U>(a);
  return word == 0 ? ~0U
                   : static_cast<u32>(sizeof(T) * 8 - 1) - static_cast<u32>(std::countl_zero(word));
}

}  // namespace plumbline::ptx
