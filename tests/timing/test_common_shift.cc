// Compares a night as a whole with earlier ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "harness/timing/common_shift.h"
#include "series.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using testing::wobble;

struct Night {
  std::vector<double> changes, deviations;
};

// Returns series with a spread of 1 %, all shifted by `shift`.
Night night_of(std::size_t series, double shift) {
  Night night;
  for (std::size_t i = 0; i < series; ++i) {
    night.changes.push_back(shift + wobble(i));
    night.deviations.push_back(night.changes.back() / testing::wobble_size);
  }
  return night;
}

TEST(NightLook, UsualNightIsNotSuspect) {
  const Night night = night_of(42, 0);
  const NightLook look = assess_night(night.changes, night.deviations);
  EXPECT_FALSE(look.suspect);
  EXPECT_EQ(look.why, "");
  EXPECT_EQ(look.subtracted_shift, 0);
  EXPECT_EQ(look.series, 42);
  EXPECT_NEAR(look.spread, 1, 0.4);
}

TEST(NightLook, LargeCommonShiftIsSuspect) {
  for (const double shift : {0.03, -0.03}) {
    const Night night = night_of(42, shift);
    const NightLook look = assess_night(night.changes, night.deviations);
    EXPECT_TRUE(look.suspect);
    EXPECT_NEAR(look.common_shift, shift, 0.002);
    EXPECT_THAT(look.why, HasSubstr(shift > 0 ? "3.0 % slower" : "3.0 % faster"));
    EXPECT_THAT(look.why, HasSubstr("42 series"));
  }
}

TEST(NightLook, MinorityShiftIsNotSuspect) {
  Night night = night_of(42, 0);
  for (std::size_t i = 0; i < 14; ++i) night.changes[i] += 0.2, night.deviations[i] += 20;
  EXPECT_FALSE(assess_night(night.changes, night.deviations).suspect);
}

TEST(NightLook, TooFewSeriesAreNotSuspect) {
  const Night night = night_of(4, 0.5);
  const NightLook look = assess_night(night.changes, night.deviations);
  EXPECT_FALSE(look.suspect);
  EXPECT_THAT(look.why, HasSubstr("only 4 of the 5 series needed"));
  EXPECT_FALSE(assess_night({}, {}).suspect);
}

TEST(NightLook, FewSeriesNeedClearerShift) {
  const Night night = night_of(6, 0.015);
  const NightLook look = assess_night(night.changes, night.deviations);
  EXPECT_FALSE(look.suspect);
  EXPECT_EQ(look.subtracted_shift, 0) << "its median is a guess";
}

// A neighbour on the same host shifts all series a little, and alike.
TEST(NightLook, SmallEvenShiftIsSubtracted) {
  for (const double shift : {0.015, -0.015}) {
    const Night night = night_of(42, shift);
    const NightLook look = assess_night(night.changes, night.deviations);
    EXPECT_TRUE(look.moved);
    EXPECT_FALSE(look.suspect);
    EXPECT_NEAR(look.subtracted_shift, shift, 0.002);
    EXPECT_NEAR(look.spread, 1, 0.4);
    EXPECT_THAT(look.why, HasSubstr("subtracted from each"));
  }
}

TEST(NightLook, UnevenShiftIsNotSubtracted) {
  Night night = night_of(42, 0);
  for (std::size_t i = 0; i < 42; ++i) {
    night.changes[i] += 0.015 + (i % 2 == 0 ? 0.03 : -0.03);
    night.deviations[i] = night.changes[i] / testing::wobble_size;
  }
  const NightLook look = assess_night(night.changes, night.deviations);
  EXPECT_GT(look.spread, 2);
  EXPECT_EQ(look.subtracted_shift, 0);
}

}  // namespace
}  // namespace plumbline
