// Parts of the CPU kernels keep their contracts: 2^x, log2, rounding, products, refusals.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "harness/problem/dtype.h"
#include "kernels/cpu/elementary.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/numbers.h"
#include "kernels/cpu/softmax.h"

namespace plumbline::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double error_in_ulp(float got, long double exact) {
  const int exponent = std::max(-126, std::ilogb(static_cast<double>(exact)));
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, exponent - 23));
}

TEST(Exp2, ErrorWithinTwoUlp) {
  double worst = 0;
  float x = -126.0F;
  for (int i = 0; x <= 127.0F; ++i) {
    worst = std::max(worst, error_in_ulp(exp2(x), std::exp2(static_cast<long double>(x))));
    x = -126.0F + static_cast<float>(i) * 1.7e-4F;
  }
  for (int i = 1; i < 500000; ++i) {  // the range of softmax
    x = static_cast<float>(-i) * 4.1e-5F;
    worst = std::max(worst, error_in_ulp(exp2(x), std::exp2(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_GT(worst, 0.5) << "a polynomial in fp32 cannot be correctly rounded everywhere";
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Exp2, IsExactAtWholeNumbers) {
  for (int n = -126; n <= 127; ++n)
    EXPECT_EQ(exp2(static_cast<float>(n)), std::ldexp(1.0F, n)) << n;
}

TEST(Exp2, HandlesRangeEnds) {
  EXPECT_EQ(exp2(-infinity), 0.0F);
  EXPECT_EQ(exp2(std::nextafter(-126.0F, -infinity)), 0.0F);
  EXPECT_EQ(exp2(-1e30F), 0.0F);
  EXPECT_EQ(exp2(1e30F), std::ldexp(1.0F, 127));
  EXPECT_TRUE(std::isnan(exp2(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Tanh, ErrorWithinTwoUlp) {
  double worst = 0;
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(1e-30F);
       bits < std::bit_cast<std::uint32_t>(12.0F); bits += 997) {
    const auto x = std::bit_cast<float>(bits);
    worst = std::max(worst, error_in_ulp(tanh_of(x), std::tanh(static_cast<long double>(x))));
    EXPECT_EQ(tanh_of(-x), -tanh_of(x));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_GT(worst, 0.5);
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_EQ(tanh_of(0.0F), 0.0F);
  for (const float x : {10.0F, 1e30F, infinity}) EXPECT_EQ(tanh_of(x), 1.0F);
  EXPECT_TRUE(std::isnan(tanh_of(std::nanf(""))));
}

TEST(Tanh, VectorAndScalarGiveSameBits) {
  for (float x : {0.0F, 1e-40F, 0.3F, 0.62499F, 0.625F, 1.0F, 3.7F, 9.9F, 10.1F, 1e30F, infinity}) {
    for (const float signed_x : {x, -x}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(_mm256_cvtss_f32(tanh(_mm256_set1_ps(signed_x)))),
                std::bit_cast<std::uint32_t>(tanh_of(signed_x)))
          << signed_x;
    }
  }
  for (float x = -11.0F; x < 11.0F; x += 0.00137F)
    ASSERT_EQ(_mm256_cvtss_f32(tanh(_mm256_set1_ps(x))), tanh_of(x)) << x;
  EXPECT_TRUE(std::isnan(_mm256_cvtss_f32(tanh(_mm256_set1_ps(std::nanf(""))))));
}

TEST(Conversion, ReadsEveryFp8Pattern) {
  for (const DType dtype : {DType::e4m3, DType::e5m2}) {
    std::array<std::byte, 256> stored{};
    for (std::size_t i = 0; i < 256; ++i) stored[i] = static_cast<std::byte>(i);
    std::array<float, 256> row{};
    // Stride 2 decodes every second pattern element by element, stride 1 all patterns eight at a
    // time.
    for (const std::int64_t stride : {2, 1}) {
      decode_row(static_cast<std::uint32_t>(dtype), stored.data(), stride, 256 / stride,
                 row.data());
    }
    for (std::size_t i = 0; i < 256; ++i) {
      const double expected = decode_at(dtype, stored.data(), i);
      const float one = decode_one(static_cast<std::uint32_t>(dtype), &stored[i]);
      ASSERT_EQ(std::isnan(row[i]), std::isnan(expected)) << i;
      ASSERT_EQ(std::isnan(one), std::isnan(expected)) << i;
      if (std::isnan(expected)) continue;
      ASSERT_EQ(row[i], expected) << i;
      ASSERT_EQ(one, expected) << i;
    }
  }
}

TEST(Log2, AgreesWithLongDouble) {
  for (double x = 1e-300; x < 1e300; x *= 1.0123) {
    const long double exact = std::log2(static_cast<long double>(x));
    EXPECT_NEAR(log2(x), static_cast<double>(exact),
                1e-15 * std::max(1.0, std::abs(static_cast<double>(exact))))
        << x;
  }
  for (double x = 0.9; x < 1.1; x += 1e-5)
    EXPECT_NEAR(log2(x), static_cast<double>(std::log2(static_cast<long double>(x))), 1e-15) << x;
  for (int n = -40; n <= 40; ++n) EXPECT_EQ(log2(std::ldexp(1.0, n)), n);
  EXPECT_EQ(log2(HUGE_VAL), HUGE_VAL);
  EXPECT_TRUE(std::isnan(log2(std::nan(""))));
}

// Returns values around every rounding boundary of a format: k quanta of half an ulp, and their
// neighbours.
std::vector<float> values_near_ties(float largest) {
  std::vector<float> values{0.0F};
  for (float scale = 1e-9F; scale < largest; scale *= 2) {
    for (int k = 0; k < 64; ++k) {
      const float value = std::ldexp(1.0F + static_cast<float>(k) / 64, std::ilogb(scale));
      for (const float near : {value, std::nextafter(value, infinity), std::nextafter(value, 0.0F),
                               value * 1.00037F}) {
        if (near < largest) values.push_back(near), values.push_back(-near);
      }
    }
  }
  while (values.size() % 8 != 0) values.push_back(1.0F);
  return values;
}

TEST(Rounding, AgreesWithTheHarnessForEveryFormat) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::tf32, DType::e4m3, DType::e5m2}) {
    const std::vector<float> exact = values_near_ties(dtype == DType::e4m3 ? 440.0F : 50000.0F);
    std::vector<float> rounded = exact;
    round_to(static_cast<std::uint32_t>(dtype), rounded.data(),
             static_cast<std::int64_t>(rounded.size()));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_EQ(rounded[i], plumbline::round_to(exact[i], dtype))
          << plumbline::name(dtype) << " of " << exact[i];
    }
  }
}

TEST(Rounding, KeepsNanAndOverflowsToInfinity) {
  for (const std::uint32_t dtype : {PLUMBLINE_F16, PLUMBLINE_BF16}) {
    std::vector<float> values{std::nanf(""), infinity, -infinity, 3.4e38F, 0, 0, 0, 0};
    round_to(dtype, values.data(), 8);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], infinity);
    EXPECT_EQ(values[2], -infinity);
    EXPECT_EQ(values[3], infinity);
  }
}

TEST(Conversion, ReadsAndWritesEveryBitPattern) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto abi = static_cast<std::uint32_t>(dtype);
    for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
      const auto bits = static_cast<std::uint16_t>(pattern);
      std::array<std::byte, 4> stored{};
      std::memcpy(stored.data(), &bits, 2);
      const float value = decode_one(abi, stored.data());
      const double expected = decode_at(dtype, stored.data(), 0);
      ASSERT_EQ(std::isnan(value), std::isnan(expected));
      if (std::isnan(value)) continue;
      ASSERT_EQ(value, expected);
      std::array<std::byte, 4> written{};
      encode_one(abi, value, written.data());
      ASSERT_EQ(stored, written) << pattern;
    }
    std::array<std::byte, 4> nan{};
    encode_one(abi, std::bit_cast<float>(0x7f800001U), nan.data());
    EXPECT_TRUE(std::isnan(decode_one(abi, nan.data())))
        << "a NaN with a small payload became infinity";
  }
}

TEST(Conversion, RowsWithAnyStrideAndLength) {
  std::vector<float> values(45);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 20;
  for (const std::uint32_t dtype : {PLUMBLINE_F32, PLUMBLINE_F16, PLUMBLINE_BF16}) {
    for (const std::int64_t stride : {1, 3}) {
      for (const std::int64_t count : {1, 7, 8, 15, 45}) {
        std::vector<std::byte> stored(values.size() * 4 * 3);
        encode_row(dtype, values.data(), count, stored.data(), stride);
        std::vector<float> read(static_cast<std::size_t>(round_up(count, 8)), -1.0F);
        decode_row(dtype, stored.data(), stride, count, read.data());
        for (std::size_t i = 0; i < read.size(); ++i)
          EXPECT_EQ(read[i], i < static_cast<std::size_t>(count) ? values[i] : 0.0F);
      }
    }
  }
}

TEST(MatrixProduct, SumsInChainsOf32) {
  constexpr std::int64_t m = 7, n = 40, k = 77;
  std::vector<float> a(m * k), b(k * n), c(m * n, std::nanf(""));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i) * 1.3F);
  multiply(m, n, k, {a.data(), k}, {b.data(), n}, c.data(), n);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      float expected = 0;
      for (std::int64_t begin = 0; begin < k; begin += 32) {
        float chain = 0;
        for (std::int64_t i = begin; i < std::min(begin + 32, k); ++i) {
          chain = std::fma(a[static_cast<std::size_t>(row * k + i)],
                           b[static_cast<std::size_t>(i * n + column)], chain);
        }
        expected = begin == 0 ? chain : expected + chain;
      }
      ASSERT_EQ(c[static_cast<std::size_t>(row * n + column)], expected) << row << ", " << column;
    }
  }
}

TEST(RowOperations, SumAndMaximum) {
  std::vector<float> row(24);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i * i % 17);
  // small integers: exact in any order
  EXPECT_EQ(sum_of_row(row.data(), 24), std::accumulate(row.begin(), row.end(), 0.0F));
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::vector<float> peak = row;
    peak[i] = 99;
    EXPECT_EQ(max_of_row(peak.data(), 24, -infinity), 99.0F) << i;
  }
  EXPECT_EQ(max_of_row(row.data(), 24, 1000.0F), 1000.0F);
}

TEST(Refusal, NamesTheMissingCpuFeatures) {
  plumbline_problem problem{};
  problem.dtype_q = problem.dtype_kv = problem.dtype_out = PLUMBLINE_F16;
  const plumbline_device host{};
  const Kernel& flash = kernels()[1];
  EXPECT_EQ(refusal(flash, problem, host, {true, true, true}), "");
  EXPECT_EQ(refusal(flash, problem, host, {false, true, true}),
            "the cpu kernels need an x86-64-v3 CPU; this one lacks AVX2");
  EXPECT_EQ(refusal(flash, problem, host, {false, false, false}),
            "the cpu kernels need an x86-64-v3 CPU; this one lacks AVX2 FMA F16C");
}

}  // namespace
}  // namespace plumbline::cpu
