// The special function unit agrees with the exact functions: for special operands, and elsewhere
// within its error bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>

#include "emulator/ptx/special_functions.h"

namespace plumbline::ptx {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float of(std::uint32_t (*function)(std::uint32_t), float x) {
  return std::bit_cast<float>(function(std::bit_cast<std::uint32_t>(x)));
}

TEST(SpecialFunctions, SpecialOperands) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), denormal = 0x1p-130F;
  for (auto* const function : {special_ex2, special_lg2, special_rcp, special_rsqrt, special_sqrt,
                               special_sin, special_cos, special_tanh}) {
    EXPECT_EQ(function(std::bit_cast<std::uint32_t>(nan)), 0x7fffffffU);
  }
  EXPECT_EQ(of(special_ex2, 0), 1);
  EXPECT_EQ(of(special_ex2, -0.0F), 1);
  EXPECT_EQ(of(special_ex2, infinity), infinity);
  EXPECT_EQ(of(special_ex2, -infinity), 0);
  EXPECT_EQ(of(special_ex2, 128), infinity);
  EXPECT_EQ(of(special_ex2, -127), 0);  // denormal
  for (int power = -126; power < 128; ++power)
    EXPECT_EQ(of(special_ex2, static_cast<float>(power)), std::ldexp(1.0F, power));
  EXPECT_EQ(of(special_rcp, 0), infinity);
  EXPECT_EQ(of(special_rcp, -0.0F), -infinity);
  EXPECT_EQ(of(special_rcp, denormal), infinity);
  EXPECT_TRUE(std::signbit(of(special_rcp, -infinity)));
  EXPECT_EQ(of(special_rcp, -infinity), 0);
  EXPECT_EQ(of(special_rcp, 0x1.8p126F), 0);  // denormal
  EXPECT_EQ(of(special_rcp, -4), -0.25F);
  EXPECT_EQ(of(special_rsqrt, 0), infinity);
  EXPECT_EQ(of(special_rsqrt, -0.0F), -infinity);
  EXPECT_TRUE(std::isnan(of(special_rsqrt, -1)));
  EXPECT_EQ(of(special_rsqrt, infinity), 0);
  EXPECT_EQ(of(special_rsqrt, 4), 0.5F);
  EXPECT_EQ(of(special_sqrt, denormal), 0);
  EXPECT_TRUE(std::signbit(of(special_sqrt, -0.0F)));
  EXPECT_EQ(of(special_sqrt, -0.0F), 0);
  EXPECT_TRUE(std::isnan(of(special_sqrt, -1)));
  EXPECT_TRUE(std::isnan(of(special_sqrt, -infinity)));
  EXPECT_EQ(of(special_sqrt, infinity), infinity);
  for (int power = -126; power < 128; power += 2)
    EXPECT_EQ(of(special_sqrt, std::ldexp(1.0F, power)), std::ldexp(1.0F, power / 2));
  EXPECT_EQ(of(special_lg2, 1), 0);
  EXPECT_EQ(of(special_lg2, 0), -infinity);
  EXPECT_EQ(of(special_lg2, denormal), -infinity);
  EXPECT_EQ(of(special_lg2, infinity), infinity);
  EXPECT_TRUE(std::isnan(of(special_lg2, -1)));
  EXPECT_EQ(of(special_tanh, infinity), 1);
  EXPECT_EQ(of(special_tanh, -20), -1);
  EXPECT_EQ(of(special_tanh, denormal), denormal);
}

TEST(SpecialFunctions, ErrorsStayWithinBounds) {
  std::mt19937 random(3);
  double ex2 = 0, rsqrt = 0, sqrt = 0, rcp = 0, lg2 = 0, tanh = 0;
  int not_rounded = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const auto x = static_cast<float>(random() * 0x1p-32 * 250 - 125);
    const double power = std::exp2(static_cast<double>(x));
    ex2 = std::max(ex2, std::fabs(of(special_ex2, x) - power) / power);
    not_rounded += of(special_ex2, x) != static_cast<float>(power) ? 1 : 0;
    const auto y = static_cast<float>(1 + random() * 0x1p-32 * 3);
    const double root = std::sqrt(static_cast<double>(y));
    rsqrt = std::max(rsqrt, std::fabs(of(special_rsqrt, y) * root - 1));
    sqrt = std::max(sqrt, std::fabs(of(special_sqrt, y) / root - 1));
    const double inverse = 1 / static_cast<double>(y);
    const auto rounded = static_cast<float>(inverse);
    rcp = std::max(rcp, std::fabs(of(special_rcp, y) - inverse) /
                            (std::nextafter(rounded, infinity) - rounded));
    const auto z = static_cast<float>(0.5 + random() * 0x1p-32 * 1.5);
    lg2 = std::max(lg2, std::fabs(of(special_lg2, z) - std::log2(static_cast<double>(z))));
  }
  for (int i = 0; i < 2'000'000; ++i) {  // 2^-12 to 16
    const auto x = static_cast<float>(std::exp2(random() * 0x1p-32 * 16 - 12));
    tanh = std::max(tanh, std::fabs(of(special_tanh, x) / std::tanh(static_cast<double>(x)) - 1));
  }
  double sin = 0, cos = 0;
  for (int i = 0; i < 2'000'000; ++i) {  // -pi to pi
    const auto x = static_cast<float>((random() * 0x1p-31 - 1) * 3.14159);
    sin = std::max(sin, std::fabs(of(special_sin, x) - std::sin(static_cast<double>(x))));
    cos = std::max(cos, std::fabs(of(special_cos, x) - std::cos(static_cast<double>(x))));
  }
  EXPECT_LT(sin, std::exp2(-21.4));
  EXPECT_LT(cos, std::exp2(-21.2));
  EXPECT_LT(tanh, std::exp2(-16.4));
  EXPECT_LT(ex2, std::exp2(-22.7));
  EXPECT_LT(rsqrt, std::exp2(-22.9));
  EXPECT_LT(sqrt, std::exp2(-23.2));
  EXPECT_LT(rcp, 0.98);
  EXPECT_LT(lg2, std::exp2(-22.1));
  std::printf("ex2: %.2f %% of the results are not the rounded function\n", not_rounded / 2e4);
  EXPECT_GT(not_rounded, 0);
}

// Results on both sides of a boundary between two slices differ by at most 2^-21.
TEST(SpecialFunctions, SlicesMeet) {
  for (std::uint32_t slice = 1; slice < 64; ++slice) {
    const std::uint32_t at = 0x3f800000U + (slice << 17U);
    for (auto* const function : {special_lg2, special_rsqrt, special_sqrt, special_rcp}) {
      const auto before = static_cast<double>(std::bit_cast<float>(function(at - 1)));
      const auto after = static_cast<double>(std::bit_cast<float>(function(at)));
      EXPECT_NEAR(before, after, 0x1p-21);
    }
    const float x = static_cast<float>(slice) / 64;
    EXPECT_NEAR(of(special_ex2, std::nextafter(x, 0.0F)), of(special_ex2, x), 0x1p-21);
  }
}

}  // namespace
}  // namespace plumbline::ptx
