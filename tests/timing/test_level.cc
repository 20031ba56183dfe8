// The level, spread and change points of a series.
#include <gtest/gtest.h>

#include "harness/timing/level_changes.h"
#include "harness/timing/time_gate.h"
#include "series.h"

namespace plumbline {
namespace {

using testing::quiet_nights;
using testing::values_of;
using testing::wobble;
using testing::wobble_size;

std::vector<GateNight> with_step(std::size_t before, std::size_t behind, double step) {
  auto nights = quiet_nights(before + behind);
  for (std::size_t i = before; i < nights.size(); ++i) nights[i].value += step;
  return nights;
}

TEST(Level, ZeroWithoutNights) {
  const GateLevel level = level_of({}, {});
  EXPECT_EQ(level.nights, 0);
  EXPECT_EQ(level.spread, GateOptions().min_spread);
}

TEST(Level, EqualNightsHaveFloorSpread) {
  const std::vector<GateNight> nights(30, {0.5, {}, false});
  const GateLevel level = level_of(nights, {});
  EXPECT_DOUBLE_EQ(level.level, 0.5);
  EXPECT_DOUBLE_EQ(level.spread, GateOptions().min_spread);
  EXPECT_EQ(level.nights, 30);
  EXPECT_TRUE(level.changes.empty());
}

TEST(Level, LevelAndSpreadMatchNights) {
  const GateLevel level = level_of(quiet_nights(56, 0.3), {});
  EXPECT_NEAR(level.level, 0.3, 0.1 * wobble_size);
  EXPECT_GT(level.spread, 0.8 * wobble_size);
  EXPECT_LT(level.spread, 1.3 * wobble_size);
  EXPECT_LT(level.persistence, 0.3);
}

TEST(Level, IgnoresSpikes) {
  auto nights = quiet_nights(60);
  for (const std::size_t spike : {7U, 31U, 48U}) nights[spike].value += 0.5;
  const GateLevel level = level_of(nights, {});
  EXPECT_NEAR(level.level, 0, 0.2 * wobble_size);
  EXPECT_LT(level.spread, 1.5 * wobble_size);
}

TEST(Level, TwoModesHaveWideSpread) {
  std::vector<GateNight> nights = quiet_nights(30);
  for (std::size_t i = 0; i < nights.size(); ++i)
    nights[i].value = nights[i].value / 5 + (i * 7 % 12 < 5 ? 0.12 : 0);
  EXPECT_GT(level_of(nights, {}).spread, 0.05);
}

TEST(Level, BeginsAtStep) {
  const GateLevel level = level_of(with_step(35, 12, 0.06), {});
  EXPECT_NEAR(level.level, 0.06, 0.4 * wobble_size);
  EXPECT_EQ(level.nights, 12);
  EXPECT_EQ(level.total_nights, 47);
  EXPECT_LT(level.spread, 1.3 * wobble_size) << "the step is no noise";
  ASSERT_EQ(level.changes.size(), 1U);
  EXPECT_EQ(level.changes[0], 35U);
}

TEST(Level, BeginsAtAcceptedStep) {
  auto nights = with_step(20, 3, 0.015);
  nights[20].starts_level = true;
  const GateLevel level = level_of(nights, {});
  EXPECT_EQ(level.nights, 3);
  EXPECT_EQ(level.total_nights, 23);
  EXPECT_EQ(level.changes, std::vector<std::size_t>{20});
}

TEST(Level, UsesSixtyNights) {
  auto nights = quiet_nights(100);
  for (std::size_t i = 0; i < 40; ++i) nights[i].value += 3;
  const GateLevel level = level_of(nights, {});
  EXPECT_EQ(level.nights, static_cast<int>(gate_window));
  EXPECT_NEAR(level.level, 0, wobble_size);
}

TEST(Level, ShownIsMeanOfFreshProcesses) {
  EXPECT_DOUBLE_EQ(shown({0.5, {}, false}), 0.5);
  EXPECT_DOUBLE_EQ(shown({0.5, {0.1, 0.3}, false}), 0.2);
}

TEST(Persistence, NeedsTwentySeries) {
  const std::vector<GateLevel> few(19, level_of(quiet_nights(40), {}));
  EXPECT_EQ(persistence_of(few), GateOptions().persistence);
  const std::vector<GateLevel> enough(20, level_of(quiet_nights(40), {}));
  EXPECT_LT(persistence_of(enough), 0.3);
}

TEST(LevelChanges, NoneInShortOrStableSeries) {
  EXPECT_TRUE(level_changes({}).empty());
  EXPECT_TRUE(level_changes(values_of(quiet_nights(8))).empty());
  EXPECT_TRUE(level_changes(values_of(quiet_nights(300))).empty());
}

TEST(LevelChanges, FoundAtEachStep) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 90; ++i)
    values.push_back(wobble(i) + (i >= 30 ? 0.08 : 0) - (i >= 64 ? 0.12 : 0));
  EXPECT_EQ(level_changes(values), (std::vector<std::size_t>{30, 64}));
}

TEST(LevelChanges, NoneAtSpike) {
  auto values = values_of(quiet_nights(60));
  values[40] += 1;
  EXPECT_TRUE(level_changes(values).empty());
}

}  // namespace
}  // namespace plumbline
