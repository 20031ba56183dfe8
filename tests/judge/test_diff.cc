// Two outputs that should agree: rounding passes, and what cannot be judged does not.
#include "harness/outcome/diff_outcome.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DiffOutcome close(std::string expect) {
  DiffOutcome diff;
  diff.expect = std::move(expect);
  diff.status = Status::ok;
  diff.rows = 16;
  diff.elements = 1024;
  diff.max_abs = 0.001;
  diff.max_rel = 1.58;
  diff.max_rel_expected = 1e-6;
  diff.rms_output = 0.1;
  diff.max_sigma = 3.25;
  diff.bit_equal_share = 0.75;
  diff.heads = 4;
  diff.heads_bit_equal = 1;
  return diff;
}

DiffOutcome equal() {
  DiffOutcome diff = close("bitwise");
  diff.max_abs = diff.max_rel = diff.max_sigma = 0;
  diff.bit_equal_share = 1;
  diff.heads_bit_equal = 4;
  return diff;
}

TEST(JudgeDiff, ExplainedByRoundingPasses) {
  const Judgement judgement = judge_diff(close("rounding"));
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.percent_of_limit, 50);
  EXPECT_THAT(
      judgement.notes,
      ElementsAre("rounding: the declared roundings explain the difference: at most 3.25 of its "
                  "standard deviations (limit 6.5); the largest "
                  "relative difference is 1.58, where |expected| is 1e-05 of the output's rms"));
}

TEST(JudgeDiff, RoundingHasPeakLimit) {
  DiffOutcome diff = close("rounding");
  diff.max_sigma = 6.5;
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::pass);
  diff.max_sigma = std::nextafter(6.5, 7);
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
  EXPECT_THAT(judge_diff(diff).findings.at(0).text, HasSubstr("do not explain"));
  diff.elements = 100'000'000;
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::pass);
  for (const double bad : {nan_value, infinity}) {
    diff.max_sigma = bad;
    EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
    EXPECT_EQ(judge_diff(diff).percent_of_limit, infinity);
  }
}

TEST(JudgeDiff, BitwiseNeedsEveryBit) {
  EXPECT_EQ(judge_diff(equal()).verdict, Verdict::pass);
  EXPECT_EQ(judge_diff(close("bitwise")).verdict, Verdict::fail);
  DiffOutcome diff = equal();
  diff.bit_equal_share = std::nextafter(1, 0);
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
  diff = equal();
  diff.bit_equal_share = nan_value;
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
  diff = equal();
  diff.heads_bit_equal = 3;
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
  diff = equal();
  diff.max_abs = nan_value;  // both sides NaN
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::fail);
}

TEST(JudgeDiff, ReportIsNeverJudged) {
  DiffOutcome diff = close("report");
  diff.max_sigma = 1e9;
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::pass);
}

TEST(JudgeDiff, NothingInCommonIsMistrusted) {
  for (const char* expect : {"rounding", "bitwise"}) {
    DiffOutcome diff = equal();
    diff.expect = expect;
    diff.rows = diff.elements = 0;
    EXPECT_EQ(judge_diff(diff).verdict, Verdict::mistrusted) << expect;
  }
}

TEST(JudgeDiff, UnknownExpectationIsMistrusted) {
  EXPECT_EQ(judge_diff(close("")).verdict, Verdict::mistrusted);
}

TEST(JudgeDiff, StatusDeterminesVerdict) {
  DiffOutcome diff = close("rounding");
  diff.status = Status::unsupported;
  diff.reason = "no fp32";
  EXPECT_EQ(judge_diff(diff).verdict, Verdict::unsupported);
  EXPECT_THAT(judge_diff(diff).notes, ElementsAre("unsupported: no fp32"));
  const std::pair<Status, Verdict> ends[] = {{Status::crashed, Verdict::crashed},
                                             {Status::timeout, Verdict::timeout},
                                             {Status::out_of_memory, Verdict::out_of_memory},
                                             {Status::error, Verdict::error}};
  for (const auto& [status, verdict] : ends) {
    diff.status = status;
    EXPECT_EQ(judge_diff(diff).verdict, verdict);
    EXPECT_EQ(judge_diff(diff).findings.at(0).text, "no fp32");
  }
}

}  // namespace
}  // namespace plumbline
