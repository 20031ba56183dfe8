// The issues of a run: how they are grouped, sorted and summarised in one sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/report/issues.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Sample {
  RunInfo run;
  std::vector<StoredOutcome> outcomes;
  std::vector<StoredDiff> diffs;
  std::vector<SuiteScore> scores;
  std::vector<RunChange> changes;
  int exit_code = 0;

  RunReport report() const {
    RunReport content{&run, &outcomes, &diffs, &scores, exit_code, "plumbline run"};
    content.changes = &changes;
    return content;
  }
};

StoredOutcome slower_outcome(double change) {
  StoredOutcome stored = passing_outcome();
  stored.judgement.verdict = Verdict::regressed;
  stored.judgement.confirmation = Confirmation::confirmed;
  stored.judgement.findings = {{FindingKind::time, 1 + change, 1.02,
                                fmt::format("{:.0f} % slower than its level", 100 * change)}};
  stored.judgement.gated_time = GatedTime{.finding = "slower", .change = change};
  return stored;
}

TEST(Issues, GroupByKernelVerdictAndCause) {
  Sample sample;
  sample.run.commit = "4567def";
  sample.outcomes = {failing_outcome(), passing_outcome(), failing_outcome()};
  sample.outcomes[2].judgement.percent_of_limit = 900;
  sample.outcomes[2].outcome.c.problem.dtype = DType::f16;
  sample.exit_code = 1;
  const auto news = find_issues(sample.report(), {{true, "0123abc"}, {}, {true, "0123abc"}});
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].kind, IssueKind::broken);
  EXPECT_EQ(news[0].title, "the sums are kept in bf16");
  EXPECT_THAT(news[0].cases, ElementsAre(2, 0)) << "the farthest beyond its limit leads";
  EXPECT_EQ(news[0].dtype, "") << "of several";
  EXPECT_EQ(sentence_of(sample.report(), news),
            "Not fine: 2 failures in 3 cases. mutants/bf16_accumulator in 2 cases since "
            "0123abc..4567def: the sums are kept in bf16.");
  auto of_a_night = news;
  of_a_night[0].since.clear();
  of_a_night[0].since_night = "2027-01-05";
  EXPECT_THAT(sentence_of(sample.report(), of_a_night),
              HasSubstr("in 2 cases since night 2027-01-05: the sums"));
}

TEST(Issues, OtherPastOrCauseIsSeparate) {
  Sample sample;
  sample.outcomes = {failing_outcome(), failing_outcome(), failing_outcome()};
  sample.outcomes[1].outcome.cause = "the last key is missing";
  const auto news = find_issues(sample.report(), {{true, "a"}, {true, "a"}, {true, "b"}});
  EXPECT_EQ(news.size(), 3U);
  EXPECT_THAT(sentence_of(sample.report(), news),
              HasSubstr(". mutants/bf16_accumulator in 1 case since a..now: the sums are kept in "
                        "bf16. There are 2 more causes."));
}

TEST(Issues, SharedCauseCountsOnceInSentence) {
  Sample sample;
  for (int i = 0; i < 39; ++i) {
    sample.outcomes.push_back(failing_outcome());
    sample.outcomes.back().outcome.c.kernel = fmt::format("mine/kernel_{}", i % 13);
    sample.outcomes.back().outcome.cause = fmt::format("the output is {} % too large", i % 13 + 1);
  }
  sample.exit_code = 1;
  const auto news = find_issues(sample.report(), {});
  EXPECT_EQ(news.size(), 13U) << "the page has one a kernel";
  EXPECT_EQ(sentence_of(sample.report(), news),
            "Not fine: 39 failures in 39 cases. 13 kernels in 39 cases: the output is 1 % too "
            "large.");
}

TEST(Issues, SlowerCasesFollowBrokenOnes) {
  Sample sample;
  sample.outcomes = {slower_outcome(0.05), slower_outcome(0.12), failing_outcome(),
                     crashed_outcome()};
  const auto news = find_issues(sample.report(), {});
  ASSERT_EQ(news.size(), 3U);
  EXPECT_EQ(news[0].kind, IssueKind::broken);
  EXPECT_EQ(news[1].kind, IssueKind::broken);
  EXPECT_EQ(news[2].kind, IssueKind::slower);
  EXPECT_EQ(news[2].title, "12 % slower than its level") << "of the lead";
  EXPECT_EQ(news[2].text, "12 % slower than its level");
  EXPECT_THAT(news[2].cases, ElementsAre(1, 0));
}

TEST(Issues, IncludeVanishedAndFasterCases) {
  Sample sample;
  sample.outcomes = {passing_outcome()};
  sample.changes = {
      {"smoke",
       "cpu/flash/bf16/b1-h1-s1-d64",
       {ChangeKind::vanished, 0, 0, "was measured in the run before", Standing::open}},
      {"smoke",
       "cpu/flash/bf16/b1-h4-s128-d64",
       {ChangeKind::faster, 0.5, 0.9, "takes half the time", Standing::fine}}};
  const auto news = find_issues(sample.report(), {});
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].kind, IssueKind::coverage);
  EXPECT_EQ(news[0].kernel, "cpu/flash");
  EXPECT_THAT(news[0].names, ElementsAre("cpu/flash/bf16/b1-h1-s1-d64"));
  EXPECT_EQ(news[1].kind, IssueKind::faster);
}

TEST(Issues, SentenceOfEachRunState) {
  Sample sample;
  sample.outcomes = {passing_outcome(), unsupported_outcome()};
  EXPECT_EQ(sample.report().state(), RunState::fine);
  EXPECT_EQ(sentence_of(sample.report(), {}),
            "Fine: no failure in 2 cases. 1 case was not measured.");
  sample.exit_code = 5;
  EXPECT_EQ(sample.report().state(), RunState::open);
  sample.outcomes = {unsupported_outcome()};
  sample.exit_code = 4;
  EXPECT_EQ(sample.report().state(), RunState::nothing_measured);
  EXPECT_THAT(sentence_of(sample.report(), {}), StartsWith("Nothing measured: "));
  sample.outcomes = {};
  EXPECT_EQ(sample.report().state(), RunState::nothing_measured) << "never fine";
  EXPECT_THAT(find_issues(sample.report(), {}), IsEmpty());
}

TEST(Issues, OnlySentenceCutsLongCause) {
  Sample sample;
  sample.outcomes = {crashed_outcome()};
  sample.outcomes[0].outcome.reason = std::string(1'000'000, 'x') + "\xC3\xA9";
  const auto news = find_issues(sample.report(), {});
  EXPECT_EQ(news.at(0).title.size(), 1'000'002U);
  EXPECT_LT(sentence_of(sample.report(), news).size(), 500U);
}

}  // namespace
}  // namespace plumbline
