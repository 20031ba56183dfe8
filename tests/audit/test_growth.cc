// Beyond 1e7 elements, the chance of a false alarm does not rise with the number of elements.
// evidence/judging.md, "Growth", explains how the limits of the maxima grow.
//
// Maxima of 1e9 Gaussians are drawn by inverse transform: max |Z| of N has the distribution (1 - 2
// Q(x))^N, so x solves 2 Q(x) = 1 - U^(1/N). For up to 1e7 the sampler is checked against maxima of
// individually drawn Gaussians.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "harness/contract/contract.h"

namespace plumbline {
namespace {

double both_tails(double x) { return std::erfc(x / std::sqrt(2.0)); }  // 2 Q(x)

// Returns x with 2 Q(x) = tails, by Newton's method on ln(2 Q).
double quantile(double tails) {
  double x = std::sqrt(std::max(0.1, -2 * std::log(tails)));
  for (int i = 0; i < 60; ++i) {
    const double q = both_tails(x);
    const double density = 2 / std::sqrt(2 * M_PI) * std::exp(-x * x / 2);
    const double step = (std::log(q) - std::log(tails)) * q / density;
    x = std::max(1e-6, x + step);
    if (std::abs(step) < 1e-12) break;
  }
  return x;
}

class MaximumSampler {
 public:
  explicit MaximumSampler(std::uint64_t seed) : bits_(seed) {}
  double draw(double n) {
    const double u = (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53;
    return quantile(-std::expm1(std::log(u) / n));
  }

 private:
  std::mt19937_64 bits_;
};

double drawn_maximum(std::int64_t n, std::mt19937_64& bits) {
  // Box-Muller in pairs. exp(-radius^2 / 2) is uniform, and the radius of most pairs is too small
  // to give the maximum.
  double largest = 0, bound = 1;
  for (std::int64_t i = 0; i < n; i += 2) {
    const double u = (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53;
    if (u >= bound) continue;
    const double radius = std::sqrt(-2 * std::log(u));
    const double angle = 2 * M_PI * static_cast<double>(bits() >> 11) * 0x1p-53;
    largest =
        std::max({largest, radius * std::abs(std::cos(angle)), radius * std::abs(std::sin(angle))});
    bound = std::exp(-largest * largest / 2);
  }
  return largest;
}

// Returns the largest distance between two empirical distribution functions.
double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto below = static_cast<double>(std::lower_bound(b.begin(), b.end(), a[i]) - b.begin());
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           below / static_cast<double>(b.size())));
  }
  return distance;
}

// Returns the chance that a kernel is flagged if its errors are Gaussian with a standard deviation
// of `s` sigma.
double false_alarm(double n, double s) {
  return -std::expm1(n *
                     std::log1p(-both_tails(grown_limit(6.5, static_cast<std::int64_t>(n)) / s)));
}

TEST(Growth, SamplerMatchesDrawnMaxima) {
  std::mt19937_64 bits(20261121);
  MaximumSampler sampler(7);
  for (const auto& [n, count] :
       {std::pair<std::int64_t, int>{1000, 4000}, {100'000, 200}, {10'000'000, 6}}) {
    std::vector<double> drawn, sampled;
    for (int i = 0; i < count; ++i) drawn.push_back(drawn_maximum(n, bits));
    for (int i = 0; i < 4000; ++i) sampled.push_back(sampler.draw(static_cast<double>(n)));
    const double of_both = std::sqrt(1.0 / count + 1.0 / 4000);
    // exceeded by chance once in 1500
    EXPECT_LT(kolmogorov_smirnov(drawn, sampled), 2.0 * of_both) << n;
  }
}

TEST(Growth, FalseAlarmRateDoesNotGrow) {
  constexpr int draws = 500'000;
  for (const double s : {1.0, 0.95}) {
    MaximumSampler sampler(11);
    std::vector<double> rate;
    for (const double n : {1e7, 1e8, 1e9}) {
      const double limit = grown_limit(6.5, static_cast<std::int64_t>(n));
      int alarms = 0;
      for (int i = 0; i < draws; ++i) alarms += !(s * sampler.draw(n) <= limit);
      rate.push_back(static_cast<double>(alarms) / draws);
      const double exact = false_alarm(n, s);
      EXPECT_NEAR(rate.back(), exact, 4 * std::sqrt(exact / draws)) << n;
    }
    const double noise = 3 * std::sqrt(2 * rate[0] / draws);
    EXPECT_LE(rate[1], rate[0] + noise) << s;
    EXPECT_LE(rate[2], rate[0] + noise) << s;
    EXPECT_GT(rate[0], 0) << "limits so wide that nothing can be told";
  }
}

TEST(Growth, FixedLimitRaisesRateHundredfold) {
  const double without = -std::expm1(1e9 * std::log1p(-both_tails(6.5)));
  EXPECT_GT(without, 90 * false_alarm(1e7, 1));
  EXPECT_LE(false_alarm(1e9, 1), false_alarm(1e7, 1));
}

TEST(Growth, ExactQuantileIsSlightlyBelow) {
  for (const double n : {1e8, 1e9, 1e10}) {
    const double exact = quantile(both_tails(6.5) * 1e7 / n);
    const double grown = grown_limit(6.5, static_cast<std::int64_t>(n));
    EXPECT_GT(grown, exact) << n;
    EXPECT_LT(grown - exact, 0.025) << n;
    // sqrt(L0^2 + 2 ln(n / 1e7) - 2 ln(L / L0)); grown_limit omits the last term.
    EXPECT_NEAR(exact, std::sqrt(grown * grown - 2 * std::log(grown / 6.5)), 2e-3) << n;
  }
}

TEST(Growth, HoldsOnlyUpToOneSigma) {
  for (const double s : {0.8, 0.88, 0.95, 1.0})
    EXPECT_LE(false_alarm(1e9, s), false_alarm(1e7, s)) << s;
  EXPECT_GT(false_alarm(1e9, 1.1), false_alarm(1e7, 1.1)) << "the premise s <= 1 matters";
}

}  // namespace
}  // namespace plumbline
