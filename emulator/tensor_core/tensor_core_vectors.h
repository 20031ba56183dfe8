// Vectors of the 8 columns of a matrix product, and the number formats of tensor cores in them, for
// the fast emulation of mma.sync (tensor_core_fast.cc).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator::vectors {

using Ints = std::int32_t __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(32)));
using HalfFloats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));
using Longs = std::int64_t __attribute__((vector_size(32)));
using Shorts = std::int16_t __attribute__((vector_size(32)));
using UnsignedShorts = std::uint16_t __attribute__((vector_size(32)));

// Sums whose largest exponent is outside of these limits take the exact path. Zeros and non-finite
// values have exponents so far outside that adding any other exponent keeps them there.
constexpr int smallest_exponent = -90, largest_exponent = 110;
constexpr int zero_exponent = -1000, nonfinite_exponent = 3000, no_terms = -700;

inline Ints larger(Ints x, Ints y) { return x > y ? x : y; }
inline Shorts larger(Shorts x, Shorts y) { return x > y ? x : y; }
// Truncates to an integer. Unsigned, because sums of undefined lanes may overflow.
inline Words chopped(Floats x) { return std::bit_cast<Words>(__builtin_convertvector(x, Ints)); }
inline Ints load(const std::uint32_t* words) {
  Ints loaded;
  __builtin_memcpy(&loaded, words, sizeof loaded);
  return loaded;
}
inline void store(Ints stored, std::uint32_t* words) {
  __builtin_memcpy(words, &stored, sizeof stored);
}
inline Ints from_low(Shorts x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), Ints);
}
inline Ints from_high(Shorts x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15), Ints);
}
inline Shorts shorts(int x) { return Shorts{} + static_cast<std::int16_t>(x); }
// Swaps rows and columns.
inline void transpose(Ints (&m)[8]) {
  Ints x[8];
  for (int i = 0; i < 4; ++i) {
    x[i] = __builtin_shufflevector(m[i], m[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    x[i + 4] = __builtin_shufflevector(m[i], m[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    const Ints low01 = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13),
               high01 = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15),
               low23 = __builtin_shufflevector(x[i + 2], x[i + 3], 0, 8, 1, 9, 4, 12, 5, 13),
               high23 = __builtin_shufflevector(x[i + 2], x[i + 3], 2, 10, 3, 11, 6, 14, 7, 15);
    m[i] = __builtin_shufflevector(low01, low23, 0, 1, 8, 9, 4, 5, 12, 13);
    m[i + 1] = __builtin_shufflevector(low01, low23, 2, 3, 10, 11, 6, 7, 14, 15);
    m[i + 2] = __builtin_shufflevector(high01, high23, 0, 1, 8, 9, 4, 5, 12, 13);
    m[i + 3] = __builtin_shufflevector(high01, high23, 2, 3, 10, 11, 6, 7, 14, 15);
  }
}
inline Floats power_of_two(Ints exponent) { return std::bit_cast<Floats>((exponent + 127) << 23); }

// Decodes fp16 in the low half of each lane; Inf and NaN get a magnitude of at least 2^16.
inline Floats from_f16(Ints bits) {
  const Floats magnitude = std::bit_cast<Floats>((bits & 0x7fff) << 13) * 0x1p112f;
  return std::bit_cast<Floats>(std::bit_cast<Ints>(magnitude) | (bits & 0x8000) << 16);
}

// Encodes floats that are fp16 values or Inf.
inline Ints to_f16(Floats x) {
  const Ints bits = std::bit_cast<Ints>(x), magnitude = bits & 0x7fffffff;
  const Ints normal = (magnitude - (112 << 23)) >> 13;
  const Ints subnormal = __builtin_convertvector(std::bit_cast<Floats>(magnitude) * 0x1p24f, Ints);
  const Ints finite = magnitude < (113 << 23) ? subnormal : normal;
  return (finite > 0x7c00 ? Ints{} + 0x7c00 : finite) | ((bits >> 16) & 0x8000);
}

struct Decoded {
  Floats value;
  Ints exponent;
};

template <MmaFormat format>
inline Decoded decode(Ints words, int element, int min_exponent) {
  Floats value;
  Ints nonfinite;
  // e5m2 is the upper half of an fp16
  if constexpr (format == MmaFormat::f16 || format == MmaFormat::e5m2) {
    const Ints bits =
        format == MmaFormat::f16 ? words >> (16 * element) : (words >> (8 * element)) << 8;
    value = from_f16(bits);
    nonfinite = (bits & 0x7c00) == 0x7c00;
  } else if constexpr (format == MmaFormat::e4m3) {
    const Ints bits = words >> (8 * element);
    const Floats magnitude = std::bit_cast<Floats>((bits & 0x7f) << 20) * 0x1p120f;
    value = std::bit_cast<Floats>(std::bit_cast<Ints>(magnitude) | (bits & 0x80) << 24);
    nonfinite = (bits & 0x7f) == 0x7f;
  } else {
    const Ints bits = format == MmaFormat::tf32 ? words & ~0x1fff : (words >> (16 * element)) << 16;
    value = std::bit_cast<Floats>(bits);
    nonfinite = (bits & 0x7f800000) == 0x7f800000;
  }
  Ints exponent = larger(((std::bit_cast<Ints>(value) >> 23) & 0xff) - 127, Ints{} + min_exponent);
  exponent = value == 0 ? Ints{} + zero_exponent : exponent;
  exponent = nonfinite ? Ints{} + nonfinite_exponent : exponent;
  return {value, exponent};
}

// Returns the exponents of 16-bit elements, as decode() does, but an even smaller one for zero.
template <MmaFormat format>
Shorts exponents(Shorts elements) {
  constexpr int exponent_bits = format == MmaFormat::bf16 ? 8 : 5;
  constexpr int largest_field = (1 << exponent_bits) - 1, bias = largest_field / 2;
  const auto bits = std::bit_cast<UnsignedShorts>(elements);
  const UnsignedShorts magnitude = bits + bits;
  const Shorts field = std::bit_cast<Shorts>(magnitude >> (16 - exponent_bits));
  const Shorts finite = larger(field, shorts(1)) - shorts(bias);
  return finite + ((magnitude == 0) & shorts(zero_exponent)) +
         ((field == shorts(largest_field)) & shorts(nonfinite_exponent - bias));
}

inline Doubles low(Floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Doubles);
}
inline Doubles high(Floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Doubles);
}
inline Doubles low(Ints x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Doubles);
}
inline Doubles high(Ints x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Doubles);
}
inline Floats join(Doubles x, Doubles y) {
  return __builtin_shufflevector(__builtin_convertvector(x, HalfFloats),
                                 __builtin_convertvector(y, HalfFloats), 0, 1, 2, 3, 4, 5, 6, 7);
}

inline Doubles chop(Doubles x, int fraction_bits) {
  return std::bit_cast<Doubles>(std::bit_cast<Longs>(x) &
                                ~((std::int64_t{1} << (52 - fraction_bits)) - 1));
}

// Rounds to the nearest fp16 by adding and subtracting a number whose ulp is that of x in fp16. A
// zero keeps the sign of x.
inline Doubles round_to_f16(Doubles x) {
  const Longs bits = std::bit_cast<Longs>(x),
              sign = bits & std::numeric_limits<std::int64_t>::min();
  const Longs field = bits >> 52 & 0x7ff;
  const Longs at_least = field > 1023 - 14 ? field : Longs{} + (1023 - 14);
  const Doubles magnitude = std::bit_cast<Doubles>(bits ^ sign);
  const Doubles shifter = std::bit_cast<Doubles>((at_least + 42) << 52);
  const Doubles rounded = magnitude >= 65520.0 ? Doubles{} + std::numeric_limits<double>::infinity()
                                               : (magnitude + shifter) - shifter;
  return std::bit_cast<Doubles>(std::bit_cast<Longs>(rounded) | sign);
}

// Returns (sum0 + sum1) * unit, exact and then rounded once as the conversion requires; an
// underflow is a positive zero. The unit is a power of two.
inline Floats convert(Conversion result, Ints sum0, Ints sum1, Floats unit) {
  const Doubles x = low(sum0) + low(sum1), y = high(sum0) + high(sum1);
  if (result == Conversion::f16_to_nearest_even)
    return join(round_to_f16(x * low(unit)) + 0.0, round_to_f16(y * high(unit)) + 0.0);
  const int fraction_bits = result == Conversion::f32_toward_zero ? 23 : 13;
  return join(chop(x, fraction_bits), chop(y, fraction_bits)) * unit;
}

// convert() for one sum and f32_toward_zero. Clears the first of the bits that fp32 drops; the
// others are less than half an ulp, so rounding to nearest then truncates.
inline Floats chopped_to_f32(Ints sum, Floats unit) {
  const auto bits = std::bit_cast<Words>(sum);
  const Words magnitude = sum < 0 ? -bits : bits;
  const auto kept = std::bit_cast<Ints>(magnitude & ~(magnitude >> 24));  // -2^31 if sum is -2^31
  const Ints sign = sum & std::numeric_limits<std::int32_t>::min();
  const Floats chopped = __builtin_convertvector(kept, Floats);
  return std::bit_cast<Floats>(std::bit_cast<Ints>(chopped) | sign) * unit;
}

}  // namespace plumbline::emulator::vectors
