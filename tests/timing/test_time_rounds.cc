// Summaries of rounds, on literal numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/outcome/outcome.h"
#include "harness/problem/problem.h"
#include "harness/provider/client/worker.h"
#include "harness/timing/time_rounds.h"

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
  EXPECT_EQ(repetitions_of_round(10, 3), 4);
  EXPECT_EQ(repetitions_of_round(9, 3), 3);
  EXPECT_EQ(repetitions_of_round(1, 9), 1);
}

TEST(TimeRounds, SevenOnCpuThreeOnDevice) {
  Case c;
  EXPECT_EQ(time_rounds_of(c), 7);
  c.device = "cuda:0";
  EXPECT_EQ(time_rounds_of(c), 3);
  c.device = "emulated:sm_90";
  EXPECT_EQ(time_rounds_of(c), 3);
}

TEST(TimeRounds, RatioUsesLeastProcessorTimes) {
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

TEST(TimeRounds, RatioUsesClockWithoutProcessorTime) {
  Timing timing;
  timing.kernel_ns = {90, 70, 80};
  timing.sentinel_ns = {14, 10, 11};
  timing.hot_ns = {60, 61, 62};
  EXPECT_EQ(round_of(timing, 0).ratio, 7);
  timing.sentinel_ns = {};
  EXPECT_EQ(round_of(timing, 0).ratio, 0) << "none";
}

TEST(TimeRounds, SummaryIsMedianOverRounds) {
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

TEST(TimeRounds, WarmTimeIsMedianOverRounds) {
  Outcome outcome;
  outcome.times.rounds = {with_ratio(4, 40), with_ratio(9, 90), with_ratio(5, 50)};
  outcome.times.rounds[0].hot_ns = {30, 32};
  outcome.times.rounds[2].hot_ns = {36};
  summarise_rounds(outcome);
  EXPECT_EQ(outcome.time_hot_ns, 32);
}

TimeRound round_of_times(std::vector<double> kernel, std::vector<double> sentinel) {
  Timing timing;
  timing.kernel_ns = timing.kernel_cpu_ns = std::move(kernel);
  timing.sentinel_ns = timing.sentinel_cpu_ns = std::move(sentinel);
  return round_of(timing, 0);
}

TEST(TimeRounds, UsesQuietRepetitionsIfAny) {
  // A neighbour slows the sentinel by 40 % and the kernel by 20 %.
  const TimeRound quiet_at_last = round_of_times({120, 120, 100, 101}, {14, 14, 10, 10});
  const TimeRound disturbed = round_of_times({120, 121}, {14, 14});
  Outcome outcome;
  outcome.times.rounds = {quiet_at_last, disturbed, disturbed};
  SentinelPace pace;
  EXPECT_EQ(pace.ns(), 0) << "nothing is known yet";
  for (const TimeRound& round : outcome.times.rounds) pace.add(round);
  EXPECT_EQ(pace.ns(), 10);
  summarise_rounds(outcome, pace.ns());
  EXPECT_NEAR(outcome.time_ratio, 10.1, 1e-9)
      << "the third repetition still had a disturbed sentinel before it";
  EXPECT_EQ(outcome.times.rounds[0].quiet, 1);
  EXPECT_EQ(outcome.times.rounds[1].quiet, 0);
  EXPECT_EQ(outcome.times.sentinel_ns, 10);

  outcome.times.rounds = {disturbed, disturbed};
  summarise_rounds(outcome, pace.ns());
  EXPECT_NEAR(outcome.time_ratio, 120 / 14.0, 1e-9) << "there is nothing better";
}

TEST(TimeRounds, QuietRoundNeedsTwoQuietRepetitions) {
  const TimeRound one = round_of_times({100, 101, 130}, {10, 14, 14});
  const TimeRound two = round_of_times({110, 111, 130}, {10, 10, 14});
  EXPECT_TRUE(has_quiet_rounds({one, two, two}, 2, 10));
  EXPECT_FALSE(has_quiet_rounds({one, two, two}, 3, 10));
  EXPECT_FALSE(has_quiet_rounds({one, one}, 1, 10));
  EXPECT_TRUE(has_quiet_rounds({round_of_times({100}, {10})}, 1, 10)) << "by its only one";
  EXPECT_FALSE(has_quiet_rounds({round_of_times({100}, {14})}, 1, 10));
  Outcome outcome;
  outcome.times.rounds = {one, two, two};
  summarise_rounds(outcome, 10);
  EXPECT_EQ(outcome.time_ratio, 11) << "of quiet rounds";
  outcome.times.rounds = {one, one};
  summarise_rounds(outcome, 10);
  EXPECT_EQ(outcome.time_ratio, 10) << "of quiet repetitions, where no round is quiet";
}

TEST(TimeRounds, UsesFirstSevenQuietRounds) {
  std::vector<TimeRound> rounds(time_rounds_on_cpu, round_of_times({100, 100}, {10, 10}));
  rounds.push_back(round_of_times({90, 90}, {10, 10}));
  Outcome outcome;
  outcome.times.rounds = rounds;
  summarise_rounds(outcome, 10);
  EXPECT_EQ(outcome.time_ratio, 10);
}

TEST(TimeRounds, DisturbedIfFewQuietRounds) {
  const auto rounds = [&](std::size_t count, std::size_t quiet) {
    std::vector<TimeRound> all(count, round_of_times({7, 7}, {1, 1}));
    for (std::size_t i = 0; i < quiet; ++i) all[i].quiet = 2;
    return all;
  };
  EXPECT_TRUE(is_disturbed(rounds(22, 4)));
  EXPECT_FALSE(is_disturbed(rounds(22, 5)));
  EXPECT_FALSE(is_disturbed(rounds(21, 0))) << "rounds are left";
  EXPECT_FALSE(is_disturbed(std::vector(22, round_of_times({7}, {1})))) << "repetitions are few";
}

TEST(TimeRounds, NoPaceWithoutProcessorTime) {
  Timing timing;
  timing.kernel_ns = {5, 5};
  timing.sentinel_ns = {1, 9};
  const std::vector<TimeRound> rounds(3, round_of(timing, 0));
  SentinelPace pace;
  pace.add(rounds[0]);
  EXPECT_EQ(pace.ns(), 0);
  EXPECT_TRUE(has_quiet_rounds(rounds, 7, 1)) << "no round more is asked for";
}

TEST(TimeRounds, PaceIsFastestTenth) {
  SentinelPace pace;
  for (int i = 0; i < 20; ++i) pace.add(round_of_times({1}, {i == 7 ? 8.0 : i < 10 ? 10.0 : 14.0}));
  EXPECT_EQ(pace.ns(), 10) << "one stray is none";
}

TEST(TimeRounds, UntimedWithoutRounds) {
  Outcome outcome;
  summarise_rounds(outcome);
  EXPECT_FALSE(outcome.timed);
}

TEST(TimeRounds, LoadAverageIsKnown) { EXPECT_GE(load_average(), 0); }

}  // namespace
}  // namespace plumbline
