// Decodes operands, adds the chopped products as integers, and rounds the sum, for each format.
#include "emulator/tensor_core/fused_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <span>

namespace plumbline::emulator {
namespace {

struct FloatFormat {
  int exponent_bits, fraction_bits;
  bool has_infinity = true;
  int min_exponent() const { return 2 - (1 << (exponent_bits - 1)); }  // of normal numbers
  int max_field() const { return (1 << exponent_bits) - 1; }
};
constexpr FloatFormat f32{8, 23}, f16{5, 10}, bf16{8, 7}, tf32{8, 10}, e4m3{4, 3, false},
    e5m2{5, 2};

FloatFormat float_format(MmaFormat format) {
  constexpr FloatFormat formats[] = {f16, bf16, tf32, e4m3, e5m2};  // in the order of MmaFormat
  return formats[static_cast<std::size_t>(format)];
}
FloatFormat float_format(Conversion result) {
  return result == Conversion::f16_to_nearest_even ? f16 : f32;
}
std::uint32_t canonical_nan(Conversion result) {
  return result == Conversion::f16_to_nearest_even ? 0x7fff : 0x7fffffff;
}

constexpr std::size_t max_terms = 33;  // c and the products of one step

enum class Kind { finite, infinite, nan };

// An operand or a product: (negative ? -1 : 1) * significand * 2^(exponent - fraction_bits).
struct Term {
  Kind kind;
  bool negative;
  std::int64_t significand;
  int exponent;
  int fraction_bits;
};

Term decode(const FloatFormat& format, std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const int field = static_cast<int>(bits >> format.fraction_bits) & format.max_field();
  Term term{Kind::finite, ((bits >> (format.fraction_bits + format.exponent_bits)) & 1) != 0,
            fraction, format.min_exponent(), format.fraction_bits};
  if (field != 0) {
    term.significand += std::int64_t{1} << format.fraction_bits;
    term.exponent += field - 1;
  }
  if (field == format.max_field()) {
    if (format.has_infinity)
      term.kind = fraction == 0 ? Kind::infinite : Kind::nan;
    else if (fraction == (1u << format.fraction_bits) - 1)
      term.kind = Kind::nan;
  }
  return term;
}

Term decode(MmaFormat format, std::uint32_t bits) {
  return decode(float_format(format), format == MmaFormat::tf32 ? bits >> 13 : bits);
}

Term product(const Term& a, const Term& b) {
  Term term{Kind::finite, a.negative != b.negative, a.significand * b.significand,
            a.exponent + b.exponent, a.fraction_bits + b.fraction_bits};
  const bool has_infinity = a.kind == Kind::infinite || b.kind == Kind::infinite;
  const bool is_zero = (a.kind == Kind::finite && a.significand == 0) ||
                       (b.kind == Kind::finite && b.significand == 0);
  if (a.kind == Kind::nan || b.kind == Kind::nan || (has_infinity && is_zero))
    term.kind = Kind::nan;
  else if (has_infinity)
    term.kind = Kind::infinite;
  return term;
}

// Returns magnitude * 2^exponent as bits of the format with only the first kept_bits fraction bits:
// chopped, or rounded to nearest even.
std::uint32_t round_to(const FloatFormat& format, int kept_bits, bool to_nearest, bool negative,
                       std::uint64_t magnitude, int exponent) {
  const std::uint32_t sign = static_cast<std::uint32_t>(negative)
                             << (format.exponent_bits + format.fraction_bits);
  if (magnitude == 0) return sign;
  const int leading =
      std::max(static_cast<int>(std::bit_width(magnitude)) - 1 + exponent, format.min_exponent());
  // from units of 2^exponent to units of the last kept bit
  const int shift = leading - kept_bits - exponent;
  std::uint64_t kept = shift >= 64 ? 0 : shift >= 0 ? magnitude >> shift : magnitude << -shift;
  if (to_nearest && shift > 0 && shift <= 63) {
    const std::uint64_t rest = magnitude - (kept << shift), half = std::uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  // The leading bit of a normal number adds one to the exponent field, and so does a carry from
  // rounding.
  const std::uint64_t field = static_cast<std::uint64_t>(leading - format.min_exponent())
                              << format.fraction_bits;
  const std::uint64_t infinity = static_cast<std::uint64_t>(format.max_field())
                                 << format.fraction_bits;
  return sign | static_cast<std::uint32_t>(
                    std::min(field + (kept << (format.fraction_bits - kept_bits)), infinity));
}

std::uint32_t convert(const FusedSum& sum, std::int64_t total, int exponent) {
  if (total == 0) return 0;
  const FloatFormat format = float_format(sum.result);
  const int kept_bits = sum.result == Conversion::f32_e8m13_toward_zero ? 13 : format.fraction_bits;
  const bool to_nearest = sum.result == Conversion::f16_to_nearest_even;
  const std::uint32_t bits = round_to(format, kept_bits, to_nearest, total < 0,
                                      static_cast<std::uint64_t>(std::abs(total)), exponent);
  const bool underflowed = (bits << (32 - format.exponent_bits - format.fraction_bits)) == 0;
  return underflowed && sum.underflow == Underflow::positive_zero ? 0 : bits;
}

// One step of at most products_per_step products: the truncated fused sum itself.
std::uint32_t step(const FusedSum& sum, MmaFormat format, int products, const std::uint32_t* a,
                   const std::uint32_t* b, std::uint32_t c_bits) {
  const FloatFormat c_format = float_format(sum.result);
  bool nan = false, positive_infinity = false, negative_infinity = false;
  int largest = no_exponent_floor;

  const auto zero_exponent = [&](const FloatFormat& own) {
    return sum.zeros == ZeroRule::minus_126 ? -126 : own.min_exponent();
  };
  const auto operand = [&](std::uint32_t bits) {
    Term term = decode(format, bits);
    if (term.kind == Kind::finite && term.significand == 0)
      term.exponent = zero_exponent(float_format(format));
    return term;
  };
  const auto look_at = [&](const Term& term) {
    nan |= term.kind == Kind::nan;
    if (term.kind == Kind::infinite) (term.negative ? negative_infinity : positive_infinity) = true;
    if (term.significand != 0 || sum.zeros != ZeroRule::skipped)
      largest = std::max(largest, term.exponent);
  };
  assert(products < static_cast<int>(max_terms));
  std::array<Term, max_terms> storage;
  const std::span terms(storage.data(), static_cast<std::size_t>(products) + 1);
  terms[0] = decode(c_format, c_bits);
  if (terms[0].significand == 0) terms[0].exponent = zero_exponent(c_format);
  for (int i = 0; i < products; ++i)
    terms[static_cast<std::size_t>(i) + 1] = product(operand(a[i]), operand(b[i]));
  for (const Term& term : terms) look_at(term);

  if (nan || (positive_infinity && negative_infinity)) return canonical_nan(sum.result);
  if (positive_infinity || negative_infinity) {
    return round_to(c_format, c_format.fraction_bits, false, negative_infinity, 1,
                    c_format.max_field());
  }
  if (largest == no_exponent_floor) return 0;  // all terms are zero
  largest = std::max(largest, sum.min_exponent);

  const auto chopped = [&](const Term& term) -> std::int64_t {
    if (term.significand == 0) return 0;  // a zero's exponent may exceed the largest
    const int shift = sum.fraction_bits - (largest - term.exponent) - term.fraction_bits;
    const std::int64_t magnitude = shift <= -63 ? 0
                                   : shift < 0  ? term.significand >> -shift
                                                : term.significand << shift;
    return term.negative ? -magnitude : magnitude;
  };
  std::int64_t total = 0;
  for (const Term& term : terms) total += chopped(term);
  return convert(sum, total, largest - sum.fraction_bits);
}

}  // namespace

std::uint32_t fused_sum(const FusedSum& sum, MmaFormat format, int k, const std::uint32_t* a,
                        const std::uint32_t* b, std::uint32_t c) {
  for (int done = 0; done < k; done += sum.products_per_step) {
    c = step(sum, format, std::min(sum.products_per_step, k - done), a + done, b + done, c);
  }
  return c;
}

std::uint32_t widen_to_f16(MmaFormat format, std::uint32_t fp8) {
  const Term x = decode(format, fp8);
  if (x.kind == Kind::nan) return 0x7fff;
  if (x.kind == Kind::infinite) return x.negative ? 0xfc00 : 0x7c00;
  return round_to(f16, f16.fraction_bits, false, x.negative,
                  static_cast<std::uint64_t>(x.significand), x.exponent - x.fraction_bits);
}

std::uint32_t add_to_nearest(Conversion format, std::uint32_t c, std::uint32_t h) {
  if (format != Conversion::f16_to_nearest_even) {
    const float sum = std::bit_cast<float>(c) + std::bit_cast<float>(h);
    return sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
  }
  const Term x = decode(f16, c), y = decode(f16, h);
  const bool infinite = x.kind == Kind::infinite || y.kind == Kind::infinite;
  if (x.kind == Kind::nan || y.kind == Kind::nan) return 0x7fff;
  if (infinite && x.kind == y.kind && x.negative != y.negative) return 0x7fff;
  if (infinite) return x.kind == Kind::infinite ? c & 0xffff : h & 0xffff;
  // Finite fp16 values are multiples of 2^-24 below 2^16, so their sum is an exact integer in
  // units of 2^-24.
  const auto units = [](const Term& t) {
    return (t.negative ? -t.significand : t.significand) << (t.exponent - f16.min_exponent());
  };
  const std::int64_t total = units(x) + units(y);
  if (total == 0) return x.negative && y.negative ? 0x8000 : 0;
  return round_to(f16, f16.fraction_bits, true, total < 0,
                  static_cast<std::uint64_t>(std::abs(total)), -24);
}

}  // namespace plumbline::emulator
