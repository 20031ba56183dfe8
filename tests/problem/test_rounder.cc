// Compares the branchless roundings with those of dtype.h, bit for bit apart from the sign of 0.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "harness/problem/rounder.h"

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

bool are_equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(RounderTest, EqualsRoundingsOfDType) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::tf32, DType::f64}) {
    const Rounder rounder(dtype);
    for (const double x : numbers(dtype)) {
      ASSERT_PRED2(are_equal, rounder.nearest(x), round_to(x, dtype)) << name(dtype) << " " << x;
      ASSERT_PRED2(are_equal, rounder.toward_zero(x), truncate_to(x, dtype))
          << name(dtype) << " " << x;
    }
  }
}

TEST(RounderTest, NoneRoundsNothing) {
  const Rounder rounder(DType::none);
  for (const double x : {0.1, -3e300, 1e-320, above_all}) {
    EXPECT_EQ(rounder.nearest(x), x);
    EXPECT_EQ(rounder.toward_zero(x), x);
  }
}

}  // namespace
}  // namespace plumbline
