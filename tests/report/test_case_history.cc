// A case's history as sparklines and as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/report/case_history.h"
#include "harness/report/format.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Twelve nights: 20 % slower from the eighth on, and a failure in the last.
CaseHistory slower() {
  CaseHistory history;
  history.case_id = "mine/flash/bf16/b1-h4-s128-d64/mask=\"<&>\"";
  history.machine = "cpu x86-64-v3 EPYC";
  for (int i = 0; i < 12; ++i) {
    HistoryPoint point;
    point.started_at =
        "2027-01-" + std::string(i < 9 ? "0" : "") + std::to_string(i + 1) + "T02:00:00Z";
    point.run_id = "3f2a01b" + std::to_string(i % 10) + "-0000";
    point.commit = "c0ffee" + std::to_string(i) + "0";
    point.rms = 0.8;
    point.percent_of_limit = 62;
    point.time_ratio = i < 7 ? 4.0 : 4.8;
    point.time_ns = 1e6 * *point.time_ratio;
    history.points.push_back(point);
  }
  history.points.back().verdict = Verdict::regressed;
  history.changes = {7};
  history.level = 4.0;
  history.limit = 4.1;
  return history;
}

TEST(Sparkline, RisesFromLowToHigh) {
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7, 8}, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7, 8}, false), "_.:-=+*#");
  EXPECT_EQ(sparkline({8, std::nullopt, 1}, false), "# _");
  EXPECT_EQ(sparkline({1, 2, std::nan("")}, false), "_##") << "NaN is worst";
  EXPECT_EQ(sparkline({}, true), "");
}

TEST(Sparkline, NoiseLooksFlat) {
  EXPECT_EQ(sparkline({4, 4, 4}, false), "===");
  EXPECT_EQ(sparkline({4.00, 4.01, 3.99}, false), "==-") << "half a percent, one step";
  EXPECT_EQ(sparkline({0, 0}, false), "__");
}

TEST(CaseHistory, ShowsChangesIn80Columns) {
  const std::string text = render_history(slower(), 3, {false, 80});
  EXPECT_THAT(text, AllOf(HasSubstr("  time  _______#####\n"), HasSubstr("               ^   x\n"),
                          HasSubstr("4.8 ms, ratio 4.8; level 4, limit 4.1"),
                          HasSubstr("^ 2027-01-08 at c0ffee7: slower by 20 %, ratio 4 -> 4.8")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("2027-01-12"), HasSubstr("2027-01-10"), Not(HasSubstr("2027-01-09"))))
      << "three rows";
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    EXPECT_LE(display_width(text.substr(begin, end - begin)), 80U);
  }
}

TEST(CaseHistory, NoLevelWithoutPast) {
  CaseHistory history = slower();
  history.level = history.limit = std::nullopt;
  EXPECT_THAT(render_history(history, 3, {false, 80, true}), HasSubstr("level -, limit -"));
}

TEST(CaseHistory, ExcludedTimeIsMarked) {
  CaseHistory history = slower();
  EXPECT_THAT(render_history(history, 3, {false, 80, true}), Not(HasSubstr("set aside")));
  history.points.back().is_set_aside = true;
  const std::string text = render_history(history, 3, {false, 80, true});
  EXPECT_THAT(text, AllOf(HasSubstr("ratio 4.8 (set aside)"), HasSubstr("4.8 ~"),
                          HasSubstr("~ set aside: the night or the case was disturbed")));
}

TEST(CaseHistory, UntimedCaseHasNoTimes) {
  CaseHistory history = slower();
  for (auto& point : history.points) point.time_ratio = point.time_ns = std::nullopt;
  history.changes.clear();
  history.level = history.limit = std::nullopt;
  const std::string text = render_history(history, 3, {false, 80, true});
  EXPECT_THAT(text, AllOf(HasSubstr("rms 0.8, 62 % of the limit"), Not(HasSubstr("level"))));
}

}  // namespace
}  // namespace plumbline
