// Prometheus' text format: every line is a comment or a sample, and labels are escaped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

class Prometheus : public testing::Test {
 protected:
  std::string text() const {
    return render_prometheus({&run_, &outcomes_, &diffs_, &scores_, 1, "plumbline run"});
  }
  RunInfo run_;
  std::vector<StoredOutcome> outcomes_ = {passing_outcome(), failing_outcome(),
                                          unsupported_outcome()};
  std::vector<StoredDiff> diffs_;
  std::vector<SuiteScore> scores_;
};

TEST_F(Prometheus, CountsCasesAndReportsWorst) {
  outcomes_[0].outcome.timed = true;
  outcomes_[0].outcome.time_ns = 1'276'000;
  outcomes_[0].outcome.time_ratio = 0.5;
  EXPECT_THAT(text(), HasSubstr("plumbline_run_exit_code 1\n"));
  EXPECT_THAT(text(), HasSubstr("plumbline_run_failures 1\n"));
  EXPECT_THAT(text(), HasSubstr("plumbline_cases{suite=\"smoke\",kernel=\"cpu/flash\",dtype="
                                "\"bf16\",arch=\"\",verdict=\"pass\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("plumbline_worst_ratio_of_limit{suite=\"smoke\",kernel=\"mutants/"
                                "bf16_accumulator\",dtype=\"bf16\",arch=\"\"} 1.431\n"));
  EXPECT_THAT(text(), HasSubstr("plumbline_case_seconds{suite=\"smoke\",case=\"cpu/flash/bf16/"
                                "b1-h4-s128-d64/mask=causal_top_left\"} 0.001276\n"));
}

TEST_F(Prometheus, ReportsUnjudgedTimes) {
  for (StoredOutcome& stored : outcomes_) {
    stored.outcome.timed = true;
    stored.judgement.gated_time = GatedTime{.finding = "quiet", .nights = 12};
  }
  EXPECT_THAT(text(), Not(HasSubstr("time_not_judged")));
  outcomes_[1].judgement.gated_time->finding = "set aside";
  outcomes_[2].judgement.gated_time.reset();
  outcomes_.push_back(outcomes_[1]);  // on another machine
  EXPECT_THAT(text(), HasSubstr("plumbline_case_time_not_judged{suite=\"smoke\",case=\"" +
                                outcomes_[1].outcome.case_id + "\",reason=\"set aside\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("plumbline_case_time_not_judged{suite=\"stories\",case=\"" +
                                outcomes_[2].outcome.case_id + "\",reason=\"no past\"} 1\n"));
  const std::string once = "case=\"" + outcomes_[1].outcome.case_id + "\",reason";
  EXPECT_EQ(text().find(once), text().rfind(once));
}

TEST_F(Prometheus, ReportsSlowClock) {
  EXPECT_THAT(text(), HasSubstr("plumbline_run_clock_behind_seconds 0\n"));
  run_.clock_behind_s = 7200;
  EXPECT_THAT(text(), HasSubstr("plumbline_run_clock_behind_seconds 7200\n"));
}

TEST_F(Prometheus, NoSampleIfUnmeasured) {
  outcomes_ = {unsupported_outcome()};
  EXPECT_THAT(text(), HasSubstr("verdict=\"unsupported\"} 1\n"));
  EXPECT_THAT(text(), Not(HasSubstr("plumbline_worst_ratio_of_limit")));
  EXPECT_THAT(text(), Not(HasSubstr("plumbline_case_seconds")));
}

TEST_F(Prometheus, LinesAreValidAndUnique) {
  outcomes_[1].outcome.suite = "a \"b\" \\ c\nd";
  outcomes_[1].judgement.percent_of_limit = std::nan("");
  outcomes_[0].judgement.percent_of_limit = HUGE_VAL;
  const std::regex comment("# (HELP|TYPE) [a-z_]+ .+"),
      sample(R"re([a-z_]+(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? (NaN|[+-]Inf|-?[0-9.e+-]+))re");
  std::set<std::string> seen;
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line, comment) || std::regex_match(line, sample)) << line;
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second || line[0] == '#') << line;
  }
  EXPECT_THAT(text(), HasSubstr(R"(suite="a \"b\" \\ c\nd")"));
}

}  // namespace
}  // namespace plumbline
