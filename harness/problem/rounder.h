// Rounds numbers to one format without branches, so that loops of roundings vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/problem/dtype.h"

namespace plumbline {

// round_to() and truncate_to() for many numbers of one format. none, f64 and unknown formats round
// nothing.
class Rounder {
 public:
  explicit Rounder(DType dtype) : Rounder(format_of(dtype)) {}
  explicit Rounder(const NumberFormat& format) {
    if (format.bits == 0 || format.dtype == DType::f64) return;
    normal_ = power_of_two(format.min_exponent);
    quantum_ = power_of_two(1 - format.bits);
    magic_ = 1.5 * 0x1p52 * quantum_;
    largest_ = format.largest;
    beyond_ = format.has_infinity ? infinity : std::numeric_limits<double>::quiet_NaN();
  }

  // Returns x to nearest, ties to even.
  double nearest(double x) const { return kept(x, unbounded(x), beyond_); }
  // Returns x toward zero.
  double toward_zero(double x) const {
    const double rounded = unbounded(x), step = std::copysign(binade(x) * quantum_, x),
                 truncated = std::abs(rounded) <= std::abs(x) ? rounded : rounded - step;
    return std::isinf(x) ? std::copysign(beyond_, x) : kept(x, truncated, largest_);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Returns 2^e with 2^e <= |x| < 2^(e + 1), but at least the smallest normal number.
  double binade(double x) const {
    constexpr std::uint64_t exponent = 0x7FF0'0000'0000'0000;
    return std::max(std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & exponent), normal_);
  }
  // Rounds x to nearest as if the format had no largest number. Loses the sign of a zero. Adding
  // 1.5 * 2^52 quanta leaves no bits for fractions of a quantum.
  double unbounded(double x) const {
    const double magic = binade(x) * magic_;
    return (x + magic) - magic;
  }
  // Returns `rounded`, or `beyond` if it exceeds the largest number, with the sign of x.
  double kept(double x, double rounded, double beyond) const {
    const double size = std::abs(rounded) <= largest_ ? std::abs(rounded) : beyond;
    return x == x ? std::copysign(size, x) : x;
  }

  double normal_ = 0, quantum_ = 0, magic_ = 0;  // quantum and magic of numbers in [1, 2)
  double largest_ = infinity,
         beyond_ = infinity;  // beyond: what a number above the largest becomes
};

// Rounds in one direction: to nearest, ties to even, or toward zero.
struct DirectedRounder {
  double operator()(double x) const {
    return toward_zero ? rounder.toward_zero(x) : rounder.nearest(x);
  }

  Rounder rounder{DType::none};
  bool toward_zero = false;
};

}  // namespace plumbline
