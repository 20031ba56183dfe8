// Compares the branchless roundings, and those of dtype.h that use them, with libm's bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "harness/problem/rounder.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {
namespace {

constexpr double above_all = std::numeric_limits<double>::infinity();

// Returns numbers of every size and both signs: ties and their neighbours, the ends of the normal
// and finite numbers, zeros, infinities and NaN.
std::vector<double> numbers(DType dtype) {
  std::vector<double> all{0, std::numeric_limits<double>::min(), above_all,
                          std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::max()};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> significand(1, 2);
  for (int exponent = -160; exponent <= 140; ++exponent) {
    for (int i = 0; i < 50; ++i) all.push_back(std::ldexp(significand(random), exponent));
    const double step = ulp(std::ldexp(1.0, exponent), dtype);
    for (int i = 0; i < 20; ++i) {
      const double tie = std::ldexp(1.0, exponent) + (i / 2.0) * step;
      for (const double x : {std::nextafter(tie, 0), tie, std::nextafter(tie, above_all)})
        all.push_back(x);
    }
  }
  const double largest = largest_finite(dtype), half_step = ulp(largest, dtype) / 2;
  for (const double x : {largest, largest + half_step, std::nextafter(largest + half_step, 0)})
    all.push_back(x);
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

// Returns all finite positive fp16 and bf16 numbers and the middles between neighbours, each with
// the next double on both sides.
std::vector<double> neighbours_of_16_bit_numbers() {
  std::vector<double> all;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (std::uint32_t code = 0; code < 0x8000; ++code) {
      const double number = decode_at(dtype, &code, 0);
      if (!std::isfinite(number)) continue;
      for (const double x : {number, number + ulp(number, dtype) / 2})
        all.insert(all.end(), {std::nextafter(x, -above_all), x, std::nextafter(x, above_all)});
    }
  }
  return all;
}

// Rounds x to a whole number of quanta of the format with libm.
double by_libm(double x, DType dtype, bool toward_zero) {
  if (std::isnan(x)) return x;
  const double beyond = dtype == DType::e4m3 ? std::nan("") : above_all;
  if (std::isinf(x)) return std::copysign(beyond, x);
  int exponent = 0;
  std::frexp(x, &exponent);
  const int smallest = std::ilogb(half_smallest_subnormal(dtype)) + 1,
            quantum = std::max(exponent - significand_bits(dtype), smallest);
  const double quanta = std::ldexp(x, -quantum),
               rounded =
                   std::ldexp(toward_zero ? std::trunc(quanta) : std::nearbyint(quanta), quantum);
  if (std::abs(rounded) <= largest_finite(dtype)) return rounded;
  return std::copysign(toward_zero ? largest_finite(dtype) : beyond, x);
}

// Zeros and NaN differ if their signs do.
bool are_equal(double a, double b) {
  const bool same = a == b || (std::isnan(a) && std::isnan(b));
  return same && std::signbit(a) == std::signbit(b);
}

TEST(RounderTest, RoundsLikeLibm) {
  const std::vector<double> near_16_bits = neighbours_of_16_bit_numbers();
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::tf32}) {
    std::vector<double> all = numbers(dtype);
    all.insert(all.end(), near_16_bits.begin(), near_16_bits.end());
    const Rounder rounder(dtype);
    for (const double x : all) {
      const double nearest = by_libm(x, dtype, false), truncated = by_libm(x, dtype, true);
      const bool like_libm =
          are_equal(rounder.nearest(x), nearest) && are_equal(rounder.toward_zero(x), truncated) &&
          are_equal(round_to(x, dtype), nearest) && are_equal(truncate_to(x, dtype), truncated);
      ASSERT_TRUE(like_libm) << name(dtype) << " " << x;
    }
  }
}

TEST(RounderTest, DirectionIsChosen) {
  const double x = 1 + 0x1.8p-8;
  EXPECT_EQ((DirectedRounder{Rounder(DType::bf16), false}(x)), 1 + 0x1p-7);
  EXPECT_EQ((DirectedRounder{Rounder(DType::bf16), true}(x)), 1);
  EXPECT_EQ(DirectedRounder()(x), x);
  EXPECT_EQ(InputRounding(DType::tf32, true).rounded(1 + 0x1.8p-11), 1);
  EXPECT_EQ(InputRounding(DType::tf32).rounded(1 + 0x1.8p-11), 1 + 0x1p-10);
  EXPECT_EQ(InputRounding(DType::bf16).rounded(x), x) << "only after an fp8 scale";
}

TEST(RounderTest, NoneAndFp64RoundNothing) {
  for (const DType dtype : {DType::none, DType::f64, static_cast<DType>(77)}) {
    const Rounder rounder(dtype);
    for (const double x : {0.1, -3e300, 1e-320, -0.0, above_all, -above_all, std::nan("")}) {
      EXPECT_PRED2(are_equal, rounder.nearest(x), x);
      EXPECT_PRED2(are_equal, rounder.toward_zero(x), x);
    }
  }
}

}  // namespace
}  // namespace plumbline
