// Tests the difference of two measured outputs: numbers, elements, answers and sentences.
#include <gmock/gmock.h>

#include <limits>

#include "tests/check_diff/sides.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

class Diff : public testing::Test {
 protected:
  DiffReport diff() const {
    return diff_measured("problem", test::side_of(a_, "one"), test::side_of(b_, "two"),
                         a_.inputs());
  }
  double sigma(std::size_t row, std::size_t column) const {
    return a_.reference.sigma[row * static_cast<std::size_t>(a_.reference.columns) + column];
  }
  // Row 7 of the reference.
  RowId row() const { return a_.reference.selection.rows[7]; }

  test::FilledProblem a_{test::small_problem()}, b_{test::small_problem()};
};

TEST_F(Diff, EqualOutputs) {
  const DiffReport report = diff();
  EXPECT_EQ(report.answer, Answer::rounding);
  EXPECT_THAT(report.sentence, HasSubstr("equal in every element"));
  EXPECT_EQ(report.outcome.max_sigma, 0);
  EXPECT_EQ(report.outcome.bit_equal_share, 1);
  EXPECT_TRUE(std::isnan(report.softmax.correlation));
  ASSERT_EQ(report.map.size(), 8U);
  EXPECT_TRUE(report.map.front().bit_equal);
}

TEST_F(Diff, OneUlpIsExplainedAndNamed) {
  const double expected = b_.expected(7, 3), unit = ulp(expected, DType::f16);
  const double value = round_to(expected, DType::f16);
  b_.set(row(), 3, value + unit);
  const DiffReport report = diff();
  EXPECT_EQ(report.answer, Answer::rounding);
  EXPECT_THAT(report.sentence, AllOf(HasSubstr("1 fp16 ulp of "), HasSubstr(" % of sigma^2)"),
                                     HasSubstr("(limit 6.5)")));
  EXPECT_EQ(report.largest_abs.element, (ElementId{row().sample, row().head, row().row, 3}));
  EXPECT_EQ(report.largest_abs.a, value);
  EXPECT_EQ(report.largest_abs.b, value + unit);
  EXPECT_EQ(report.largest_sigma.element, report.largest_abs.element);
  EXPECT_NEAR(report.outcome.max_sigma, unit / (std::sqrt(2.0) * sigma(7, 3)), 1e-6);
  const auto different = std::count_if(report.map.begin(), report.map.end(),
                                       [](const DiffCell& cell) { return !cell.bit_equal; });
  EXPECT_EQ(different, 1);
}

TEST_F(Diff, UndecidedIfTooFarApart) {
  const double expected = a_.expected(7, 3), s = sigma(7, 3);
  a_.set(row(), 3, expected + 5.5 * s);
  b_.set(row(), 3, expected - 5.5 * s);
  const DiffReport report = diff();
  EXPECT_GT(report.outcome.max_sigma, 6.5);
  EXPECT_EQ(report.answer, Answer::undecided);
  EXPECT_THAT(report.sentence, HasSubstr("opposite signs"));
}

TEST_F(Diff, NanIsNeverRounding) {
  b_.set(row(), 3, nan_value);
  const DiffReport report = diff();
  EXPECT_NE(report.answer, Answer::rounding);
  EXPECT_TRUE(std::isnan(report.outcome.max_sigma));
  const auto& cell = report.map[static_cast<std::size_t>(row().sample * 4 + row().head)];
  EXPECT_TRUE(std::isnan(cell.max_sigma));
}

TEST_F(Diff, WrongSideIsNamed) {
  MeasuredSide one = test::side_of(a_, "one"), two = test::side_of(b_, "two");
  two.answer = Answer::bug;
  two.judgement.findings = {{FindingKind::peak, 12, 6.5, "peak is 12, its limit 6.5"}};
  two.measurement.outcome.location = {LocationKind::edge,
                                      "edge: the last visible key weighs too little (z = 57)", 57};
  const DiffReport b_wrong = diff_measured("problem", one, two, a_.inputs());
  EXPECT_EQ(b_wrong.answer, Answer::bug);
  EXPECT_THAT(b_wrong.sentence,
              AllOf(HasSubstr("b (two) is wrong: peak is 12"), HasSubstr("last visible key"),
                    HasSubstr("a keeps its limits")));
  const DiffReport a_wrong = diff_measured("problem", two, one, a_.inputs());
  EXPECT_THAT(a_wrong.sentence,
              AllOf(HasSubstr("a (two) is wrong"), HasSubstr("b keeps its limits")));
  one.answer = Answer::bug;
  EXPECT_THAT(diff_measured("problem", one, two, a_.inputs()).sentence,
              HasSubstr("both are wrong"));
}

TEST_F(Diff, UndecidedIfOneSideIs) {
  MeasuredSide one = test::side_of(a_, "one");
  one.answer = Answer::undecided;
  one.why = "the stated spec does not explain it, PyTorch math does";
  const DiffReport report = diff_measured("problem", one, test::side_of(b_, "two"), a_.inputs());
  EXPECT_EQ(report.answer, Answer::undecided);
  EXPECT_THAT(report.sentence, AllOf(HasSubstr("a (one)"), HasSubstr("PyTorch math")));
}

TEST_F(Diff, CrashIsBugRefusalIsNot) {
  MeasuredSide one = test::side_of(a_, "one");
  one.measurement.outcome.status = Status::crashed;
  one.measurement.outcome.reason = "SIGSEGV in run";
  one.answer = answer_of(one.measurement.outcome, one.judgement);
  const DiffReport crash = diff_measured("problem", one, test::side_of(b_, "two"), a_.inputs());
  EXPECT_EQ(crash.answer, Answer::bug);
  EXPECT_THAT(crash.sentence, HasSubstr("crashed: SIGSEGV in run"));
  one.measurement.outcome.status = Status::unsupported;
  EXPECT_EQ(answer_of(one.measurement.outcome, one.judgement), Answer::undecided);
}

// If one kernel declares to round the pre-scaled Q, the two fp64 results differ, and the outputs
// may differ as well.
TEST_F(Diff, DeclaredRoundingOfQIsSubtracted) {
  b_.spec.q_prescaled = DType::e5m2;
  b_.reference = compute_reference(b_.geometry, b_.inputs(), b_.spec, b_.reference.selection);
  b_.write_exact();
  const DiffReport report = diff();
  EXPECT_GT(report.outcome.max_abs / report.largest_abs.sigma, 6.5);  // far apart
  EXPECT_LT(report.outcome.max_sigma, 3);                             // but explained
  EXPECT_EQ(report.answer, Answer::rounding);
}

TEST_F(Diff, OnlyNumericalFailuresAreBugs) {
  Outcome outcome;
  outcome.status = Status::ok;
  Judgement judgement;
  judgement.verdict = Verdict::first_seen;
  EXPECT_EQ(answer_of(outcome, judgement), Answer::rounding);
  judgement.percent_of_limit = 101;
  EXPECT_EQ(answer_of(outcome, judgement), Answer::bug);
  judgement.percent_of_limit = nan_value;
  EXPECT_EQ(answer_of(outcome, judgement), Answer::bug);
  judgement.percent_of_limit = 10;
  outcome.faults.fence_bytes = 1;
  EXPECT_EQ(answer_of(outcome, judgement), Answer::bug);
  outcome.faults = {};
  // A spec looser than its contract also fails, but its numbers are fine.
  judgement.verdict = Verdict::fail;
  EXPECT_EQ(answer_of(outcome, judgement), Answer::undecided);
}

TEST_F(Diff, UsesLimitOfLooserSide) {
  MeasuredSide naive = test::side_of(a_, "naive");
  naive.spec.s_rounded = DType::f16;
  EXPECT_EQ(diff_measured("problem", naive, test::side_of(b_, "two"), a_.inputs()).limit, 8);
  EXPECT_EQ(diff().limit, 6.5);
}

}  // namespace
}  // namespace plumbline
