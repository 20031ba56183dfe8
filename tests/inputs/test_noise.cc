// Philox gives its published results, and each kind of noise has the distribution that it claims.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "harness/problem/inputs.h"
#include "harness/problem/noise.h"

namespace plumbline {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123, tests/kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, KnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The paper's round on one block, implemented again without lanes.
Words philox_by_the_paper(Words counter, std::uint32_t key_0, std::uint32_t key_1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0],
                        b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key_0, static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key_1, static_cast<std::uint32_t>(a)};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return counter;
}

TEST(Noise, FourDimsShareBlock) {
  const RowAddress address{0x123456789ABCDEF0, Stream::k, 7, 3, -2};
  for (const std::size_t first : {std::size_t{0}, std::size_t{96}}) {
    const WordGroup words = random_words(address, first);
    for (std::size_t i = 0; i < row_group; ++i) {
      const auto block = static_cast<std::uint32_t>((first + i) / 4);
      EXPECT_EQ(words[i], philox_by_the_paper({block, 0xFFFFFFFE, (2U << 24) + 3, 7}, 0x9ABCDEF0,
                                              0x12345678)[i % 4])
          << first + i;
    }
  }
}

TEST(Noise, NormalRowUsesNormalFromBits) {
  const RowAddress address{9, Stream::q, 0, 1, 5};
  std::vector<float> row(4 * row_group);
  noise_row(Noise::normal, address, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i],
              normal_from_bits(random_words(address, i / row_group * row_group)[i % row_group]))
        << i;
  }
}

TEST(NormalFromBits, KnownAnswers) {
  EXPECT_EQ(normal_from_bits(0x00000000), 0x1.95a118p+2F);
  EXPECT_EQ(normal_from_bits(0x80000000), -0x1.95a118p+2F);
  EXPECT_EQ(normal_from_bits(0x12345678), 0x1.77b262p+0F);
  EXPECT_EQ(normal_from_bits(0x40000000), 0x1.5956b6p-1F);
  EXPECT_EQ(normal_from_bits(0x7fffffff), 0x1.40d934p-32F);
}

// Tests may use libm, only the generator may not. |z| is the quantile if Q(|z|) = erfc(|z| / sqrt
// 2) / 2 equals the tail probability.
TEST(NormalFromBits, MatchesQuantile) {
  std::vector<std::uint32_t> tails;
  for (std::uint32_t bit = 1; bit < 0x80000000U && bit != 0; bit *= 2)
    tails.insert(tails.end(), {bit - 1, bit, bit + bit / 2});
  for (std::uint32_t i = 0; i < 20000; ++i) tails.push_back(i * 107374U);
  double worst = 0;
  for (const std::uint32_t tail : tails) {
    const double z = normal_from_bits(tail);
    const double p = (tail + 0.5) * 0x1p-32;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    const double error = std::fabs(std::erfc(z / std::sqrt(2.0)) / 2 - p) / density / z;
    worst = std::max(worst, error);
    // near 0, p itself is only accurate to 2^-53
    ASSERT_LE(error, 5e-7 + 1e-15 / (density * z)) << tail;
    ASSERT_EQ(normal_from_bits(tail | 0x80000000U), -normal_from_bits(tail));
  }
  EXPECT_GT(worst, 1e-9);
}

TEST(NormalFromBits, DecreasesWithTailAndNeverZero) {
  float previous = INFINITY;
  for (std::uint32_t i = 0; i < (1U << 16); ++i) {
    const float z = normal_from_bits(i << 15);
    ASSERT_LT(z, previous) << i;
    ASSERT_GT(z, 0);
    previous = z;
  }
}

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float x : values) m.mean += x / n;
  for (const float x : values) m.variance += (x - m.mean) * (x - m.mean) / n;
  for (const float x : values)
    m.kurtosis += std::pow(x - m.mean, 4) / (n * m.variance * m.variance);
  return m;
}

std::vector<float> many(Noise noise) {
  std::vector<float> values(std::size_t{1} << 20);
  noise_row(noise, {1, Stream::v, 0, 0, 0}, values);
  return values;
}

// Tolerances: five standard errors of each moment over 2^20 values.
TEST(Noise, NormalMoments) {
  const Moments m = moments(many(Noise::normal));
  EXPECT_NEAR(m.mean, 0, 5 * 0x1p-10);
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.0) * 0x1p-10);
  EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24.0) * 0x1p-10);
}

// Kolmogorov-Smirnov: sqrt(n) D exceeds 1.95 with probability 0.001.
TEST(Noise, NormalDistribution) {
  std::vector<float> values = many(Noise::normal);
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    distance = std::max(distance, std::fabs(std::erfc(-values[i] / std::sqrt(2.0)) / 2 -
                                            (static_cast<double>(i) + 0.5) / n));
  }
  EXPECT_LT(std::sqrt(n) * distance, 1.95);
}

TEST(Noise, UniformIsOpenSymmetricAndFlat) {
  const std::vector<float> values = many(Noise::uniform);
  const Moments m = moments(values);
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(1.0 / 3) * 0x1p-10);
  EXPECT_NEAR(m.variance, 1.0 / 3, 5 * std::sqrt(4.0 / 45) * 0x1p-10);
  for (const float x : values) {
    ASSERT_LT(std::fabs(x), 1);
    const auto odd = static_cast<std::int64_t>(std::ldexp(double{x}, 24));
    ASSERT_EQ(std::ldexp(static_cast<double>(odd), -24), double{x});
    ASSERT_EQ(std::abs(odd) % 2, 1);
  }
}

TEST(Noise, DiscreteValuesAreEquallyFrequent) {
  const auto histogram = [](Noise noise) {
    std::map<float, int> counts;
    for (const float x : many(noise)) ++counts[x];
    return counts;
  };
  const auto flat = [](const std::map<float, int>& counts, std::size_t kinds) {
    ASSERT_EQ(counts.size(), kinds);
    const double expected = 0x1p20 / static_cast<double>(kinds);
    for (const auto& [value, count] : counts)
      EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << value;
  };
  const std::map<float, int> powers = histogram(Noise::powers), eighths = histogram(Noise::eighths);
  flat(powers, 4);
  EXPECT_EQ(powers.begin()->first, -1);
  EXPECT_EQ(powers.count(0.5F), 1U);
  flat(eighths, 33);
  EXPECT_EQ(eighths.begin()->first, -2);
  EXPECT_EQ(eighths.rbegin()->first, 2);
  EXPECT_EQ(eighths.count(0.125F), 1U);
}

TEST(Noise, StreamsSeedsSamplesHeadsAndPositionsDiffer) {
  const RowAddress base{1, Stream::q, 0, 0, 0};
  std::vector<RowAddress> others(6, base);
  others[0].stream = Stream::k;
  others[1].seed = 2;
  others[2].seed = std::uint64_t{1} << 32 | 1;
  others[3].sample = 1;
  others[4].head = 1;
  others[5].position = 1;
  const WordGroup words = random_words(base, 0);
  for (const RowAddress& other : others) EXPECT_NE(random_words(other, 0), words);
  EXPECT_NE(random_words(base, row_group), words);
}

}  // namespace
}  // namespace plumbline
