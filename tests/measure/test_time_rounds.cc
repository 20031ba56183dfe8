// What rounds of times come to, on literal numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/measure/time_rounds.h"
#include "harness/outcome/outcome.h"
#include "harness/provider/client/worker.h"

namespace plumbline {
namespace {

TimeRound with_ratio(double ratio, double cpu_ns) {
  TimeRound round;
  round.kernel_ns = {cpu_ns + 1, cpu_ns + 3};
  round.kernel_cpu_ns = {cpu_ns, cpu_ns + 2};
  round.sentinel_ns = {11, 12};
  round.sentinel_cpu_ns = {10, 12};
  round.ratio = ratio;
  return round;
}

TEST(TimeRounds, RepetitionsAreSpreadAndRoundedUp) {
  EXPECT_EQ(repetitions_of_round(10), 4);
  EXPECT_EQ(repetitions_of_round(9), 3);
  EXPECT_EQ(repetitions_of_round(1), 1);
}

TEST(TimeRounds, TheLeastProcessorTimesGate) {
  Timing timing;
  timing.kernel_ns = {90, 70, 80};
  timing.sentinel_ns = {9, 10, 11};
  timing.kernel_cpu_ns = {44, 42, 40};
  timing.sentinel_cpu_ns = {8, 10, 9};
  timing.mhz = 3100;
  timing.plan_ns = 7;
  timing.throttled = "power";
  const TimeRound round = round_of(timing, 0.25);
  EXPECT_EQ(round.ratio, 5);
  EXPECT_EQ(round.load, 0.25);
  EXPECT_EQ(round.mhz, 3100);
  EXPECT_EQ(round.plan_ns, 7);
  EXPECT_EQ(round.throttled, "power");
  EXPECT_EQ(round.kernel_cpu_ns, timing.kernel_cpu_ns);
}

TEST(TimeRounds, WithoutProcessorTimeTheClockGates) {
  Timing timing;
  timing.kernel_ns = {90, 70, 80};
  timing.sentinel_ns = {14, 10, 11};
  timing.hot_ns = {60, 61, 62};
  EXPECT_EQ(round_of(timing, 0).ratio, 7);
  timing.sentinel_ns = {};
  EXPECT_EQ(round_of(timing, 0).ratio, 0) << "none";
}

TEST(TimeRounds, TheMedianRoundStands) {
  Outcome outcome;
  outcome.times.rounds = {with_ratio(4, 40), with_ratio(9, 90), with_ratio(5, 50)};
  summarise_rounds(outcome);
  EXPECT_TRUE(outcome.timed);
  EXPECT_EQ(outcome.time_ratio, 5);
  EXPECT_EQ(outcome.times.cpu_ns, 50);
  EXPECT_EQ(outcome.times.sentinel_ns, 10);
  EXPECT_EQ(outcome.time_ns, 52) << "of 41, 43, 51, 53, 91 and 93";
  EXPECT_EQ(outcome.time_mad_ns, 10);
  EXPECT_EQ(outcome.time_hot_ns, 0);
}

TEST(TimeRounds, WithoutARoundNothingIsTimed) {
  Outcome outcome;
  summarise_rounds(outcome);
  EXPECT_FALSE(outcome.timed);
}

TEST(TimeRounds, TheLoadIsKnownHere) { EXPECT_GE(load_average(), 0); }

}  // namespace
}  // namespace plumbline
