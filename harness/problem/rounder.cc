// Derives the constants of a Rounder from the dtype.
#include "harness/problem/rounder.h"

#include <limits>

namespace plumbline {

Rounder::Rounder(DType dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int bits = significand_bits(dtype);
  largest_ = beyond_ = infinity;
  if (bits == 0 || dtype == DType::f64) return;
  normal_ = std::ldexp(half_smallest_subnormal(dtype), bits);
  quantum_ = std::ldexp(1.0, 1 - bits);
  magic_ = 1.5 * 0x1p52 * quantum_;
  largest_ = largest_finite(dtype);
  beyond_ = round_to(infinity, dtype);
}

}  // namespace plumbline
