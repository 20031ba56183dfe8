// The interpolation, and each function's treatment of sign and exponent. Fixed-point positions come
// from envytools' nvhw/sfu.c, those of sqrt and tanh from results of an H200.
#include "emulator/ptx/special_functions.h"

#include <algorithm>
#include <array>
#include <bit>

#include "emulator/ptx/special_tables.h"

namespace plumbline::ptx {
namespace {

constexpr std::uint32_t one = 1U << 23U;  // the leading bit of a significand
constexpr std::uint32_t not_a_number = 0x7fffffffU, infinity = 0x7f800000U, sign_bit = 1U << 31U;
constexpr int bias = 127;

struct Parts {
  bool negative;
  int exponent;               // biased
  std::uint32_t significand;  // with its leading bit; 0: zero or denormal
  bool is_nan, is_infinite;
};

Parts parts(std::uint32_t x) {
  const auto exponent = static_cast<int>(x >> 23U & 0xffU);
  const std::uint32_t fraction = x & (one - 1);
  return {(x & sign_bit) != 0, exponent, exponent == 0 ? 0 : one | fraction,
          exponent == 255 && fraction != 0, exponent == 255 && fraction == 0};
}

// Assembles an fp32 from a biased exponent and a significand in [2^23, 2^24]. Overflow becomes
// infinity, a denormal result zero.
std::uint32_t number(bool negative, int exponent, std::uint32_t significand) {
  const std::uint32_t sign = negative ? sign_bit : 0;
  if (significand == 2 * one) {
    significand = one;
    ++exponent;
  }
  if (significand == 0 || exponent <= 0) return sign;
  if (exponent >= 255) return sign | infinity;
  return sign | static_cast<std::uint32_t>(exponent) << 23U | (significand - one);
}

// The unit squares 17 bits without the partial products below 2^18, and divides the result by 2^19.
// With x = 512 h + l it drops all of l^2 and a part of l h. This table holds the kept part of l h,
// divided by 2^9, indexed by l / 4 and h / 2.
const auto cross_products = []() noexcept {  // too many steps for clang's constexpr
  std::array<std::uint8_t, 1U << 14U> table{};
  for (unsigned low = 0; low < 128; ++low) {
    for (unsigned high = 0; high < 128; ++high) {
      unsigned sum = 0;
      // Adds bit i + 2 of l times bit j + 1 of h if i + j >= 6, in units of 2^9.
      for (unsigned i = 0; i < 7; ++i) {
        if ((low >> i & 1U) != 0) sum += high >> (6 - i);
      }
      table[low << 7U | high] = static_cast<std::uint8_t>(sum);
    }
  }
  return table;
}();

std::int64_t square(std::uint32_t x) {
  const std::uint32_t high = x >> 9U, low = x & 511U;
  return (high * high + 2U * cross_products[low >> 2U << 7U | high >> 1U]) >> 1U;
}

// Value and Curve: shifts to a common unit.
template <int Value, int Curve>
std::int64_t interpolate(const Slice& slice, std::uint32_t low, std::uint32_t low_for_square) {
  return (std::int64_t{slice.value} << Value) + std::int64_t{slice.slope} * low +
         (std::int64_t{slice.curve} * square(low_for_square) << Curve);
}

// Divides the number by the power of 4 that brings it into [1, 4), and returns its place in the
// table. The lowest bit of the exponent selects a half of the table. Each half has 64 slices.
std::uint32_t table_position(const Parts& p) {
  return (p.significand - one) | static_cast<std::uint32_t>((p.exponent - bias) & 1) << 23U;
}

// Returns x in units of 2^-25 of a turn, without whole turns. The code of ptxas first multiplies x
// by 1 / (2 pi) in fp32, rounded toward zero.
std::uint32_t turns(const Parts& p) {
  std::uint64_t product = std::uint64_t{p.significand} * 0xa2f983U;  // times 2^(exponent - 49)
  const int dropped = 64 - 24 - std::countl_zero(product);
  if (dropped > 0) product = product >> dropped << dropped;
  const int shift = p.exponent - bias - 24;
  if (shift <= -64 || shift >= 2) return 0;
  const std::uint64_t all = shift < 0 ? product >> -shift : product << shift;
  return static_cast<std::uint32_t>(all) & (4 * one - 1);
}

std::uint32_t sine(bool negative, std::uint32_t turns) {
  const std::uint32_t quarter = turns >> 23U;
  std::uint32_t place = turns & (one - 1);
  if ((quarter & 1U) != 0) place = ~place & (one - 1);
  if ((quarter & 2U) != 0) negative = !negative;
  const std::uint32_t low = place & 0x1ffffU;
  const std::int64_t sum = interpolate<11, 0>(sin_slices[place >> 17U], low, low);
  if (sum == 0) return negative ? sign_bit : 0;
  const int shift = std::countl_zero(static_cast<std::uint64_t>(sum)) - (63 - 37);
  return number(negative, bias - shift,
                static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum) << shift >> 14U));
}

}  // namespace

std::uint32_t special_rcp(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  const std::uint32_t sign = p.negative ? sign_bit : 0;
  if (p.is_infinite) return sign;
  if (p.significand == 0) return sign | infinity;
  const std::uint32_t low = p.significand & 0xffffU;
  const std::int64_t sum =
      interpolate<13, 0>(rcp_slices[p.significand >> 16U & 0x7fU], low, low << 1U);
  return number(p.negative, 2 * bias - p.exponent - 1,
                static_cast<std::uint32_t>((sum + 0x47e7) >> 15));
}

std::uint32_t special_rsqrt(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  if (p.significand == 0) return (p.negative ? sign_bit : 0) | infinity;
  if (p.negative) return not_a_number;
  if (p.is_infinite) return 0;
  const int exponent = p.exponent - bias;
  const std::uint32_t place = table_position(p);
  const int result = bias - (exponent >> 1) - 1;
  if (place == 0) return number(false, result + 1, one);
  const std::uint32_t low = place & 0x1ffffU;
  const std::int64_t sum = interpolate<14, 2>(rsqrt_slices[place >> 17U], low, low);
  return number(false, result, static_cast<std::uint32_t>((sum + 0x7fff) >> 16));
}

std::uint32_t special_sqrt(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  if (p.significand == 0) return p.negative ? sign_bit : 0;
  if (p.negative) return not_a_number;
  if (p.is_infinite) return infinity;
  const std::uint32_t place = table_position(p), low = place & 0x1ffffU;
  const std::int64_t sum = interpolate<15, 1>(sqrt_slices[place >> 17U], low, low);
  return number(false, bias + ((p.exponent - bias) >> 1),
                static_cast<std::uint32_t>((sum + 0xffff) >> 17));
}

std::uint32_t special_ex2(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  int exponent = p.exponent - bias;
  if (exponent >= 7) return p.negative ? 0 : infinity;
  // |x| with 23 fraction bits, truncated.
  std::uint32_t fixed = 0;
  if (exponent >= 0) {
    fixed = p.significand << static_cast<unsigned>(exponent);
  } else if (exponent > -24) {
    fixed = p.significand >> static_cast<unsigned>(-exponent);
  }
  exponent = static_cast<int>(fixed >> 23U);
  std::uint32_t fraction = fixed & (one - 1);
  if (p.negative) {  // the complement of the bits, not of the number
    if (fraction != 0) {
      fraction = ~fraction & (one - 1);
      exponent = -exponent - 1;
    } else {
      exponent = -exponent;
    }
  }
  const std::uint32_t low = fraction & 0x1ffffU;
  const std::int64_t sum = interpolate<13, 0>(ex2_slices[fraction >> 17U], low, low);
  return number(false, exponent + bias, static_cast<std::uint32_t>((sum + 0x77e2) >> 15));
}

std::uint32_t special_lg2(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  if (p.significand == 0) return sign_bit | infinity;
  if (p.negative) return not_a_number;
  if (p.is_infinite) return infinity;
  const std::uint32_t fraction = p.significand - one;
  std::int64_t sum = 0;  // 36 fraction bits
  if (fraction != 0 || p.exponent != bias) {
    const std::uint32_t low = fraction & 0x1ffffU;
    sum = (interpolate<12, 1>(lg2_slices[fraction >> 17U], low, low) + 0x3345) >> 2;
  }
  sum += static_cast<std::int64_t>(p.exponent - bias) * (std::int64_t{1} << 36);
  const bool negative = sum < 0;
  if (negative) sum = ~sum;
  if (sum == 0) return negative ? sign_bit : 0;
  const int shift = std::countl_zero(static_cast<std::uint64_t>(sum)) - (63 - 42);
  return number(negative, bias + 6 - shift,
                static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum) << shift >> 19U));
}

std::uint32_t special_sin(std::uint32_t x) {
  const Parts p = parts(x);
  return p.is_nan || p.is_infinite ? not_a_number : sine(p.negative, turns(p));
}

std::uint32_t special_cos(std::uint32_t x) {
  const Parts p = parts(x);
  return p.is_nan || p.is_infinite ? not_a_number : sine(false, (turns(p) + one) & (4 * one - 1));
}

std::uint32_t special_tanh(std::uint32_t x) {
  const Parts p = parts(x);
  if (p.is_nan) return not_a_number;
  const int exponent = p.exponent - bias;
  if (exponent < -8) return x;
  if (exponent >= 3) return number(p.negative, bias, one);
  const auto [first, bits] = tanh_binades[exponent + 8];
  const std::uint32_t fraction = p.significand - one;
  const std::uint32_t low = fraction >> (6 - bits) & 0x1ffffU;  // lower bits are dropped
  const std::int64_t sum =
      interpolate<17, 2>(tanh_slices[first + (fraction >> (23 - bits))], low, low);
  // In [2^23, 2^25). The unit is 2^-24 if |x| >= 1, otherwise half an ulp of x. Truncated.
  const auto result = static_cast<std::uint32_t>(sum >> 17);
  const int lowest = bias + std::min(exponent, 0) - 1;
  return result < 2 * one ? number(p.negative, lowest, result)
                          : number(p.negative, lowest + 1, result >> 1U);
}

}  // namespace plumbline::ptx
