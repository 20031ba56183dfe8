// Replays the gate over third-party series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/timing/replay.h"
#include "series.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using testing::wobble;

std::vector<double> times(std::size_t count, std::size_t step_at, double factor) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(100 * std::exp(wobble(i)) * (i >= step_at ? factor : 1));
  return values;
}

TEST(Replay, NoAlertInStableSeries) {
  EXPECT_TRUE(replay(times(200, 200, 1), false).empty());
  EXPECT_TRUE(replay({}, false).empty());
}

TEST(Replay, StepIsOneAlert) {
  const auto alerts = replay(times(80, 40, 1.1), false);
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].begin, 40U);
  EXPECT_GE(alerts[0].point, 41U);
  EXPECT_LE(alerts[0].point, 42U);
  EXPECT_TRUE(alerts[0].worse);
  EXPECT_NEAR(alerts[0].change(), 0.1, 0.02);
  EXPECT_FALSE(replay(times(80, 40, 1.1), true)[0].worse) << "more throughput is better";
}

// Before the noise is known, three points in a row suffice.
TEST(Replay, HugeChangeAfterFewPointsIsAlert) {
  const auto alerts = replay(times(8, 5, 1.5), false);
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].begin, 5U);
  EXPECT_EQ(alerts[0].point, 7U);
  EXPECT_TRUE(alerts[0].worse);
  EXPECT_TRUE(replay(times(7, 5, 1.5), false).empty()) << "two points";
  EXPECT_TRUE(replay(times(8, 5, 1.2), false).empty()) << "less than 25 %";
}

TEST(Replay, NoAlertAtSpike) {
  auto values = times(80, 80, 1);
  values[5] *= 2, values[50] *= 3;
  EXPECT_TRUE(replay(values, false).empty());
}

TEST(Replay, AlertUsesNoLaterPoint) {
  const auto values = times(120, 60, 1.06);
  const auto alerts = replay(values, false);
  ASSERT_FALSE(alerts.empty());
  for (const ReplayAlert& alert : alerts) {
    const auto known = std::span(values).first(alert.point + 1);
    const auto then = replay(known, false);
    ASSERT_FALSE(then.empty());
    EXPECT_EQ(then.back().point, alert.point);
    EXPECT_EQ(then.back().to, alert.to);
    EXPECT_LT(replay(known.first(alert.point), false).size(), then.size());
  }
}

class ReplayFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "replay.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& text) const {
    const auto path = directory_ / "series.csv";
    std::ofstream(path) << text;
    return path.string();
  }
  std::string errors(const std::string& text) const {
    const auto series = read_series(file(text));
    return series ? "" : to_string(series.error());
  }

  std::filesystem::path directory_;
};

TEST_F(ReplayFile, ReadsValueOrLastNumericColumn) {
  auto series = read_series(file("commit,value,load\r\n\"a,b\",1.5,9\n\nc,2e3,9\n"));
  ASSERT_TRUE(series) << to_string(series.error());
  EXPECT_EQ(series->column, "value");
  EXPECT_EQ(series->values, (std::vector{1.5, 2000.0}));
  series = read_series(file("night,ns,commit\n1,12,ab\n2,13,cd\n"));
  ASSERT_TRUE(series) << to_string(series.error());
  EXPECT_EQ(series->column, "ns");
  EXPECT_EQ(series->values, (std::vector{12.0, 13.0}));
}

TEST_F(ReplayFile, ErrorsNameLineAndRemedy) {
  const std::string bad = errors("point,value\n0,1\n1,none\n2,-3\n3\n4,nan\n5,2\n");
  EXPECT_THAT(bad, HasSubstr("series.csv:3: \"none\" in column \"value\""));
  EXPECT_THAT(bad, HasSubstr("series.csv:4: \"-3\""));
  EXPECT_THAT(bad, HasSubstr("series.csv:5: 1 entries"));
  EXPECT_THAT(bad, HasSubstr("series.csv:6: \"nan\""));
  EXPECT_THAT(bad, HasSubstr("remedy"));
  EXPECT_THAT(errors("1,2\n3,4\n"), HasSubstr("not a header"));
  EXPECT_THAT(errors("a,b\nx,y\n"), HasSubstr("no column has a number"));
  EXPECT_THAT(errors("a,b\n"), HasSubstr("no point"));
  EXPECT_THAT(errors(""), HasSubstr("remedy"));
  EXPECT_THAT(to_string(read_series("/nowhere/a.csv").error()), HasSubstr("cannot be opened"));
  EXPECT_FALSE(read_series(directory_.string()));
}

// 365 points of a database's throughput, with a slow and a fast step that were found late.
TEST(Replay, FindsStepsOfTigerBeetle) {
  const char* data = std::getenv("PLUMBLINE_DATA");
  const std::filesystem::path folder =
      data != nullptr ? data : PLUMBLINE_SOURCE_DIRECTORY "/../shared/data";
  const auto file = folder / "tigerbeetle-throughput.csv";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is missing: set PLUMBLINE_DATA to the folder that has it";
  const auto series = read_series(file.string());
  ASSERT_TRUE(series) << to_string(series.error());
  const auto alerts = replay(series->values, true);
  EXPECT_LE(alerts.size(), 10U);
  for (const std::size_t step : {15U, 71U}) {
    EXPECT_TRUE(std::any_of(alerts.begin(), alerts.end(),
                            [&](const ReplayAlert& alert) {
                              return alert.point >= step && alert.point <= step + 7 &&
                                     alert.worse == (step == 15);
                            }))
        << "no alert within 7 points after " << step;
  }
}

}  // namespace
}  // namespace plumbline
