// Rounds numbers to one format without branches, so that loops over it vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/problem/dtype.h"

namespace plumbline {

// Equals round_to() and truncate_to() up to the sign of a zero. Formats that round_to() leaves as
// they are (none, f64) are left here, too.
class Rounder {
 public:
  explicit Rounder(DType dtype);

  // Returns x to nearest, ties to even.
  double nearest(double x) const {
    const double rounded = unbounded(x);
    return kept(x, rounded, beyond_);
  }
  // Returns x toward zero.
  double toward_zero(double x) const {
    const double rounded = unbounded(x), step = std::copysign(binade(x) * quantum_, x),
                 truncated = std::abs(rounded) <= std::abs(x) ? rounded : rounded - step;
    return std::isinf(x) ? std::copysign(beyond_, x) : kept(x, truncated, largest_);
  }

 private:
  // Returns 2^e with 2^e <= |x| < 2^(e + 1), but at least the smallest normal number.
  double binade(double x) const {
    constexpr std::uint64_t exponent = 0x7FF0'0000'0000'0000;
    return std::max(std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & exponent), normal_);
  }
  // Returns x to nearest in a format without a largest number. Adding 1.5 * 2^52 quanta leaves no
  // bits for fractions of a quantum.
  double unbounded(double x) const {
    const double magic = binade(x) * magic_;
    return (x + magic) - magic;
  }
  double kept(double x, double rounded, double beyond) const {
    const double bounded = std::abs(rounded) <= largest_ ? rounded : std::copysign(beyond, x);
    return x == x ? bounded : x;
  }

  double normal_ = 0, quantum_ = 0, magic_ = 0;  // quantum and magic of numbers in [1, 2)
  double largest_, beyond_;                      // beyond: what a number above the largest becomes
};

}  // namespace plumbline
