// Groups of failures: one bug in many kernels is one group and takes few lines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/report/failure_groups.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns a run in which each kernel fails `cases` cases, with the cause cause_of(kernel).
template <class CauseOf>
SampleRun failing_run(int kernels, int cases, const CauseOf& cause_of) {
  SampleRun sample;
  for (int kernel = 0; kernel < kernels; ++kernel) {
    for (int i = 0; i < cases; ++i) {
      sample.outcomes.push_back(failing_outcome());
      Outcome& outcome = sample.outcomes.back().outcome;
      outcome.c.kernel = fmt::format("mine/kernel_{}", kernel);
      outcome.case_id = fmt::format("{}/bf16/b1-h1-s{}-d64", outcome.c.kernel, i + 1);
      outcome.cause = cause_of(kernel);
    }
  }
  return sample;
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(FailureGroups, CausesIgnoreNumbers) {
  EXPECT_EQ(without_figures("the softmax scale is 0.54 % too large"),
            without_figures("the softmax scale is 1.2e-05 % too large"));
  EXPECT_EQ(without_figures("z = -3.5"), without_figures("z = 4"));
  EXPECT_NE(without_figures("the first key"), without_figures("the last key"));
}

TEST(FailureGroups, SharedCauseIsOneGroup) {
  const SampleRun sample = failing_run(
      13, 15, [](int kernel) { return fmt::format("the output is {} % too large", kernel + 1); });
  const RunReport report = sample.report(1);
  const auto groups = failure_groups(report);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].names.size(), 195U);
  EXPECT_EQ(members_text(groups[0]), "195 of 13 kernels");
  const std::string text = render_text(report, {.width = 100});
  EXPECT_THAT(text, HasSubstr("\nthe same cause in 195 of 13 kernels\n"));
  EXPECT_THAT(text, HasSubstr("fail: the output is 1 % too large\n"));
  EXPECT_LE(line_count(text), 12U + 2 + 3 + 13 + 4) << "one report, a table of kernels, totals\n"
                                                    << text;
}

TEST(FailureGroups, ManyCausesAreBounded) {
  const SampleRun sample =
      failing_run(40, 2, [](int kernel) { return "cause " + std::string(1U + kernel, 'x'); });
  const std::string text = render_text(sample.report(1), {.width = 100});
  std::size_t reports = 0;
  for (std::size_t at = text.find("\nreproduce: "); at != std::string::npos;
       at = text.find("\nreproduce: ", at + 1))
    ++reports;
  EXPECT_EQ(reports, 5U);
  EXPECT_THAT(text, HasSubstr("\nand 23 more causes\n"));
  EXPECT_LE(line_count(text), 5U * 14 + 15 + 2 + 3 + 40 + 4) << text;
}

TEST(FailureGroups, VerboseShowsEachFailure) {
  const SampleRun sample = failing_run(2, 3, [](int) { return "the sums are kept in bf16"; });
  const std::string brief = render_text(sample.report(1), {.width = 100}),
                    in_full = render_text(sample.report(1), {.width = 100, .verbose = true});
  EXPECT_THAT(brief, Not(HasSubstr("mine/kernel_1/bf16/b1-h1-s3-d64")));
  EXPECT_THAT(in_full, HasSubstr("mine/kernel_1/bf16/b1-h1-s3-d64"));
}

TEST(FailureGroups, SplitByVerdictLargestFirst) {
  SampleRun sample = failing_run(1, 2, [](int) { return "the sums are kept in bf16"; });
  sample.outcomes.insert(sample.outcomes.begin(), crashed_outcome());
  sample.outcomes.push_back(passing_outcome());
  const RunReport report = sample.report(1);
  const auto groups = failure_groups(report);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].verdict, Verdict::fail);
  EXPECT_EQ(groups[1].verdict, Verdict::crashed);
  EXPECT_EQ(members_text(groups[1]), "cpu/flash/fp32/b1-h1-s1-d64");
}

TEST(Refusals, ListedByReasonAfterTables) {
  SampleRun sample;
  sample.outcomes.assign(6, unsupported_outcome());
  sample.outcomes[5].outcome.reason = "head dim 80 is not declared";
  sample.outcomes[4].outcome.c.kernel = "cpu/naive";
  const std::string text = render_text(sample.report(4), {.width = 100});
  EXPECT_THAT(text, HasSubstr("\nunsupported\n"
                              "  5 of 2 kernels: only fp16 and bf16 are supported\n"
                              "  1 of cpu/flash: head dim 80 is not declared\n"));
  EXPECT_LT(text.find("suite stories"), text.find("\nunsupported\n"));
}

TEST(Refusals, AllListedIfNothingMeasured) {
  SampleRun sample;
  for (char reason = 'a'; reason < 'a' + 12; ++reason) {
    sample.outcomes.push_back(unsupported_outcome());
    sample.outcomes.back().outcome.reason = std::string(1, reason);
  }
  EXPECT_THAT(render_text(sample.report(4), {}), HasSubstr("  1 of cpu/flash: l\n"));
  sample.outcomes.push_back(passing_outcome());
  const std::string text = render_text(sample.report(0), {});
  EXPECT_THAT(text, HasSubstr("  1 of cpu/flash: h\n  and 4 more reasons\n"));
}

TEST(SuiteStatistics, UnjudgedListedLastNextToJudged) {
  SampleRun sample;
  sample.outcomes = {passing_outcome()};
  sample.scores = {
      {"smoke", "cpu/flash", "bf16", "temperature", 1, 6, 3.5, "not judged: too few cases"},
      {"smoke", "cpu/flash", "bf16", "shrink", 1, 6, 3.5, "not judged: partial suite"}};
  const std::string alone = render_text(sample.report(0), {});
  EXPECT_THAT(alone, Not(HasSubstr("statistic")));
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("statistic")));
  EXPECT_THAT(render_junit(sample.report(0)), Not(HasSubstr("statistic")));
  EXPECT_THAT(render_text(sample.report(0), {.verbose = true}), HasSubstr("not judged"));
  sample.scores.push_back({"smoke", "cpu/flash", "fp16", "shrink", 12, 1.25, 3.5, "pass"});
  EXPECT_THAT(
      render_text(sample.report(0), {}),
      testing::EndsWith("\n2 suite statistics not judged: partial suite (1), too few cases (1)\n"));
  EXPECT_THAT(render_text(sample.report(0), {}), HasSubstr("in 1 case and 1 suite statistic,"));
}

}  // namespace
}  // namespace plumbline
