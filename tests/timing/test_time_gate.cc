// Screens a night, and decides candidates by fresh processes.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/timing/time_gate.h"
#include "series.h"

namespace plumbline {
namespace {

using testing::quiet_nights;
using testing::wobble;
using testing::wobble_size;

Screening screened(const std::vector<GateNight>& past, double tonight) {
  return screen(past, tonight, std::nullopt, {});
}

Confirmation confirmed(const std::vector<GateNight>& past, double tonight,
                       const std::vector<double>& fresh) {
  return confirm(screened(past, tonight), past, tonight, fresh, std::nullopt, {});
}

TEST(Screening, FewNightsShowOnlyHugeChanges) {
  const auto past = quiet_nights(9);
  EXPECT_EQ(screened({}, 3).finding, GateFinding::too_few);
  EXPECT_EQ(screened(past, 0.2).finding, GateFinding::too_few);
  EXPECT_EQ(screened(past, 0.3).finding, GateFinding::slower);
  EXPECT_EQ(screened(past, -0.3).finding, GateFinding::faster);
  EXPECT_EQ(confirmed(past, 0.3, {0.3, 0.31, 0.29}), Confirmation::confirmed);
  EXPECT_EQ(confirmed(past, 0.3, {0, 0.01, 0}), Confirmation::refuted);
}

TEST(Screening, SubtractsCommonShift) {
  const auto past = quiet_nights(40);
  GateOptions moved;
  moved.common_shift = 0.02;
  const Screening screening = screen(past, 0.07, std::nullopt, moved);
  EXPECT_EQ(screening.finding, GateFinding::slower);
  EXPECT_NEAR(screening.change, 0.05, 0.1 * wobble_size);
  EXPECT_EQ(screen(past, 0.04, std::nullopt, moved).finding, GateFinding::quiet);
  EXPECT_EQ(confirm(screening, past, 0.07, std::vector{0.07, 0.071}, std::nullopt, moved),
            Confirmation::confirmed);
  EXPECT_EQ(confirm(screening, past, 0.07, std::vector{0.03, 0.031}, std::nullopt, moved),
            Confirmation::refuted)
      << "3 % minus the common shift is only 1 %";
  EXPECT_NE(confirm(screening, past, 0.07, std::vector{0.035, 0.036}, std::nullopt, {}),
            Confirmation::refuted);
}

TEST(Screening, UsualNightIsQuiet) {
  const auto past = quiet_nights(40);
  for (const double tonight : {-0.015, 0.0, 0.02}) {
    const Screening screening = screened(past, tonight);
    EXPECT_EQ(screening.finding, GateFinding::quiet);
    EXPECT_EQ(screening.pool, 1);
    EXPECT_NEAR(screening.change, tonight, 0.1 * wobble_size);
    EXPECT_DOUBLE_EQ(screening.change, screening.change_tonight);
    EXPECT_GT(screening.limit, 2.5 * wobble_size);
    EXPECT_LT(screening.limit, 4 * wobble_size);
  }
}

TEST(Screening, FindsFiveSpreadsInOneNight) {
  const auto past = quiet_nights(40);
  const Screening slower = screened(past, 0.05);
  EXPECT_EQ(slower.finding, GateFinding::slower);
  EXPECT_EQ(slower.pool, 1);
  EXPECT_GT(slower.deviation, 3.5);
  EXPECT_EQ(confirmed(past, 0.05, {0.04, 0.055, 0.06}), Confirmation::confirmed);
  EXPECT_EQ(screened(past, -0.05).finding, GateFinding::faster);
  EXPECT_EQ(confirmed(past, -0.05, {-0.04, -0.055, -0.06}), Confirmation::confirmed);
}

TEST(Screening, NeedsAllFreshProcesses) {
  const auto past = quiet_nights(40);
  EXPECT_EQ(confirmed(past, 0.05, {0.001, -0.01, 0.01}), Confirmation::refuted);
  EXPECT_EQ(confirmed(past, 0.05, {0.001, -0.01, 0.05}), Confirmation::refuted);
  EXPECT_EQ(confirmed(past, 0.05, {0.05, -0.01, 0.05}), Confirmation::disagree);
  EXPECT_EQ(confirmed(past, 0.05, {}), Confirmation::disagree);
  EXPECT_EQ(confirmed(past, 0.05, {-0.05, -0.05, -0.05}), Confirmation::refuted);
}

// The gate works alike for kernels that take a tenth or ten times the sentinel's time.
TEST(Screening, IsIndependentOfLevel) {
  const GateOptions options;
  for (const double level : {-2.3, 0.0, 2.3}) {
    const auto past = testing::quiet_nights(40, level);
    const GateLevel known = level_of(past, options);
    EXPECT_LT(known.low, level) << level;
    EXPECT_GT(known.low, level - 0.03) << level;
    EXPECT_GT(known.high, level) << level;
    EXPECT_LT(known.high, level + 0.03) << level;
    for (const double change : {0.1, -0.1, -2.0}) {
      const double tonight = level + change;
      const Screening screening = screen(past, tonight, std::nullopt, options);
      ASSERT_EQ(screening.finding, change > 0 ? GateFinding::slower : GateFinding::faster);
      EXPECT_EQ(
          confirm(screening, past, tonight, std::vector<double>(3, tonight), std::nullopt, options),
          Confirmation::confirmed)
          << level << " " << change;
    }
  }
}

TEST(Screening, NanDoesNotConfirm) {
  const auto past = quiet_nights(40);
  EXPECT_NE(confirmed(past, 0.05, {0.05, NAN, 0.05}), Confirmation::confirmed);
}

TEST(Screening, PoolsNightsForSmallStep) {
  auto past = quiet_nights(40);
  const double step = 3 * wobble_size;
  for (int night = 1; night <= 14; ++night) {
    const double tonight = step + wobble(40 + static_cast<std::size_t>(night));
    const Screening screening = screened(past, tonight);
    GateNight now{tonight, {}, false};
    if (screening.finding == GateFinding::slower) {
      now.fresh = {step - 0.002, step + 0.003, step};
      if (confirmed(past, tonight, now.fresh) == Confirmation::confirmed) {
        EXPECT_LE(night, 7);
        return;
      }
    }
    past.push_back(now);
  }
  FAIL() << "a step of three spreads was not found in 14 nights";
}

TEST(Screening, AcceptedStepIsQuiet) {
  auto past = quiet_nights(40);
  for (std::size_t i = 35; i < 40; ++i) past[i].value += 0.05;
  EXPECT_EQ(screened(past, 0.05).finding, GateFinding::slower) << "nobody accepted it";
  past[35].starts_level = true;
  EXPECT_EQ(screened(past, 0.05).finding, GateFinding::quiet);
  EXPECT_EQ(screened(past, 0.10).finding, GateFinding::slower) << "nobody accepted the next";
}

TEST(Drift, AcceptedStepsAddUpAgainstPin) {
  std::vector<GateNight> past = quiet_nights(20);
  double level = 0;
  bool found = false;
  for (int step = 1; step <= 5; ++step) {
    level += std::log(1.04);
    for (std::size_t night = 0; night < 4; ++night) {
      past.push_back({level + wobble(past.size()), {}, night == 0});
    }
    const Screening unpinned = screen(past, level, std::nullopt, {});
    EXPECT_EQ(unpinned.finding, GateFinding::quiet) << "step " << step << " was accepted";
    const Screening pinned = screen(past, level, 0.0, {});
    if (pinned.finding != GateFinding::drifted) continue;
    found = true;
    EXPECT_GE(pinned.limit, std::log(1.08) - 1e-4);
    EXPECT_GT(step, 1) << "4 % is no drift";
    const std::vector<double> fresh{level, level + 0.005, level - 0.005};
    EXPECT_EQ(confirm(pinned, past, level, fresh, 0.0, {}), Confirmation::confirmed);
    const std::vector<double> none{0.0, 0.005, -0.005};
    EXPECT_EQ(confirm(pinned, past, level, none, 0.0, {}), Confirmation::refuted);
  }
  EXPECT_TRUE(found);
}

TEST(Drift, OneSlowNightDoesNotDrift) {
  EXPECT_NE(screen(quiet_nights(40), 0.5, 0.0, {}).finding, GateFinding::drifted);
}

TEST(Budget, MoreSeriesNeedMoreFreshProcesses) {
  EXPECT_EQ(fresh_processes(30), 2);
  EXPECT_EQ(fresh_processes(10'000), 4);
  int before = 0;
  for (const std::size_t series : {1U, 1000U, 10'000U, 100'000U}) {
    const int fresh = fresh_processes(series);
    EXPECT_GE(fresh, before);
    if (fresh < 5) {
      EXPECT_LE(expected_false_alerts(series, fresh), 0.1);
    }
    before = fresh;
  }
  EXPECT_GT(expected_false_alerts(100, 2), expected_false_alerts(100, 3));
  EXPECT_EQ(expected_false_alerts(0, 3), 0);
}

}  // namespace
}  // namespace plumbline
