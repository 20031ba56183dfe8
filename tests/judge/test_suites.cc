// Statistics over a suite: sums, clipping and sign tests of errors that no single case shows.
#include <deque>

#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

// Returns outcomes with equal scores and different seeds.
std::deque<Outcome> scored(int cases, double shrink, double temperature = 0) {
  std::deque<Outcome> outcomes;
  for (int i = 0; i < cases; ++i) {
    Outcome outcome = passing();
    outcome.c.problem.seed = static_cast<std::uint64_t>(i + 1);
    outcome.output_digest = std::to_string(i);
    outcome.errors.has_suite_scores = true;
    outcome.errors.shrink_z = shrink;
    outcome.errors.temperature_z = temperature;
    outcomes.push_back(outcome);
  }
  return outcomes;
}

std::vector<SuiteScore> judge_all(const std::deque<Outcome>& outcomes, bool complete = true,
                                  const Contracts& contracts = {}) {
  std::vector<const Outcome*> pointers;
  for (const Outcome& outcome : outcomes) pointers.push_back(&outcome);
  return judge_suites(pointers, contracts, std::vector<const Baseline*>(pointers.size()), complete);
}

SuiteScore shrink_of(const std::deque<Outcome>& outcomes) { return judge_all(outcomes).at(0); }

TEST(SuiteSums, DivideBySqrtOfCases) {
  const auto scores = judge_all(scored(4, 1.75, -1.7501));
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].suite, "smoke");
  EXPECT_EQ(scores[0].kernel, "mine/kernel");
  EXPECT_EQ(scores[0].dtype, "bf16");
  EXPECT_EQ(scores[0].statistic, "shrink");
  EXPECT_EQ(scores[0].cases, 4);
  EXPECT_EQ(scores[0].value, 3.5);
  EXPECT_EQ(scores[0].limit, 3.5);
  EXPECT_EQ(scores[0].status, "pass");
  EXPECT_EQ(scores[1].statistic, "temperature");
  EXPECT_DOUBLE_EQ(scores[1].value, 3.5002);
  EXPECT_EQ(scores[1].status, "fail");
}

// Four cases have nearly equal errors on two architectures, which must not add up to a finding.
TEST(SuiteSums, SeparateDevices) {
  auto outcomes = scored(4, 1.7);
  for (const char* device : {"emulated:sm_80", "emulated:sm_90"}) {
    for (Outcome outcome : scored(4, 1.7)) {
      outcome.c.device = device;
      if (outcome.c.device == "emulated:sm_90") outcome.reused_from = "another";
      outcomes.push_back(outcome);
    }
  }
  const auto scores = judge_all(outcomes);
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_EQ(scores[0].kernel, "mine/kernel");
  EXPECT_EQ(scores[2].kernel, "mine/kernel/device=emulated:sm_80");
  for (const SuiteScore& score : scores) EXPECT_EQ(score.status, "pass") << score.kernel;
  EXPECT_EQ(scores[2].value, 3.4);
}

// Three layouts of the same inputs gave one output, as in smoke's paged cases.
TEST(SuiteSums, CountEachOutputOnce) {
  auto outcomes = scored(4, 1.5);
  for (const std::int64_t page_size : {16, 64}) {
    Outcome again = outcomes[0];
    again.c.problem.layout = Layout::paged_nhd;
    again.c.problem.page_size = page_size;
    outcomes.push_back(again);
  }
  EXPECT_EQ(shrink_of(outcomes).cases, 4);
  EXPECT_EQ(shrink_of(outcomes).value, 3);
  outcomes.back().errors.shrink_z = 1.25;  // other inputs that happen to have the same output
  EXPECT_EQ(shrink_of(outcomes).cases, 5);
}

// A sweep over lengths repeats the errors of its rows, which must not add up to a finding.
TEST(SuiteSums, CountSharedRowsOnce) {
  auto outcomes = scored(50, 1);
  EXPECT_EQ(shrink_of(outcomes).status, "fail");
  std::int64_t length = 0;
  for (Outcome& outcome : outcomes) {
    outcome.c.problem.seed = 1;
    outcome.c.problem.seq_q = ++length;
    outcome.c.problem.seq_kv = 100;
  }
  EXPECT_EQ(shrink_of(outcomes).cases, 50);
  double variance = 0;
  for (int n = 1; n <= 50; ++n) {
    for (int m = 1; m <= 50; ++m) variance += std::sqrt(double(std::min(n, m)) / std::max(n, m));
  }
  EXPECT_NEAR(shrink_of(outcomes).value, 50 / std::sqrt(variance), 1e-9);
  EXPECT_EQ(shrink_of(outcomes).status, "pass");
}

TEST(SuiteSums, KeepSign) {
  auto outcomes = scored(4, 5);
  outcomes[0].errors.shrink_z = outcomes[1].errors.shrink_z = -5;
  EXPECT_EQ(shrink_of(outcomes).value, 0);
}

TEST(SuiteSums, ClipEachCase) {
  auto outcomes = scored(16, 0);
  outcomes[3].errors.shrink_z = 1000;
  EXPECT_EQ(shrink_of(outcomes).value, 1.5);  // 6 / sqrt(16)
  outcomes[3].errors.shrink_z = -1000;
  EXPECT_EQ(shrink_of(outcomes).value, 1.5);
}

TEST(SuiteSums, NanFails) {
  auto outcomes = scored(16, 0);
  outcomes[3].errors.shrink_z = nan_value;
  EXPECT_EQ(shrink_of(outcomes).status, "fail");
}

TEST(SuiteSums, NeedFourCasesAndFullSuite) {
  EXPECT_EQ(shrink_of(scored(3, 9)).status, "not judged: too few cases");
  for (const SuiteScore& score : judge_all(scored(12, 9), false))
    EXPECT_EQ(score.status, "not judged: partial suite");
}

TEST(SuiteSums, SeparateSuitesKernelsAndDtypes) {
  auto outcomes = scored(16, 1);
  for (int i = 0; i < 4; ++i) outcomes[static_cast<std::size_t>(i)].suite = "nightly";
  for (int i = 4; i < 8; ++i) outcomes[static_cast<std::size_t>(i)].c.kernel = "mine/other";
  for (int i = 8; i < 12; ++i) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(i)];
    outcome.c.problem.dtype = DType::f16;
  }
  const auto scores = judge_all(outcomes);
  ASSERT_EQ(scores.size(), 8U);
  for (const SuiteScore& score : scores) EXPECT_EQ(score.cases, 4);
}

TEST(SuiteSums, SkipCasesWithoutVarianceModel) {
  const std::pair<const char*, void (*)(Outcome&)> changes[] = {
      {"many rows", [](Outcome& o) { o.rows_total = o.reference_rows = 151; }},
      {"sampled rows", [](Outcome& o) { o.reference_rows = 15; }},
      {"tie law", [](Outcome& o) { o.c.problem.law = Law::sink; }},
      {"constant V", [](Outcome& o) { o.c.problem.v_law = VLaw::constant; }},
      {"no scores", [](Outcome& o) { o.errors.has_suite_scores = false; }},
      {"fp32 output", [](Outcome& o) { o.c.problem.out_dtype = DType::f32; }},
      {"crashed", [](Outcome& o) { o.status = Status::crashed; }},
  };
  for (const auto& [what, change] : changes) {
    auto outcomes = scored(5, 1);
    change(outcomes[2]);
    EXPECT_EQ(shrink_of(outcomes).cases, 4) << what;
  }
  auto outcomes = scored(5, 1);
  outcomes[2].rows_total = outcomes[2].reference_rows = 150;
  EXPECT_EQ(shrink_of(outcomes).cases, 5);
}

TEST(SuiteSums, SkipUnjudgedSpecs) {
  auto outcomes = scored(8, 9);
  Contracts contracts;
  contracts.contracts.push_back({.kernels = {"mine/*"},
                                 .devices = {},
                                 .archs = {},
                                 .reason = "",
                                 .proof = "p",
                                 .padding_policy = {},
                                 .spec_fields = {{"s_rounded", "input"}},
                                 .limits = {},
                                 .promises = {},
                                 .file = "",
                                 .line = 0});
  EXPECT_TRUE(judge_all(outcomes, true, contracts).empty());
  for (Outcome& outcome : outcomes) outcome.c.problem.dtype = DType::f32;
  EXPECT_TRUE(judge_all(outcomes).empty());
}

// Cases with their past: `worse` of them have `ratio` times the past rms, the others 1 / `ratio`.
struct Night {
  std::deque<Outcome> outcomes;
  std::deque<Baseline> baselines;

  Night(int cases, int worse, double ratio) {
    for (int i = 0; i < cases; ++i) {
      Outcome outcome = passing();
      outcome.c.problem.seed = static_cast<std::uint64_t>(i + 1);
      Baseline baseline = past_of(outcome);
      baseline.rms = i < worse ? outcome.errors.rms / ratio : outcome.errors.rms * ratio;
      outcome.output_digest = std::string(32, 'b');
      outcomes.push_back(outcome);
      baselines.push_back(baseline);
    }
  }

  std::vector<SuiteScore> scores(bool complete = true, bool pinned = false) const {
    std::vector<const Outcome*> o;
    std::vector<const Baseline*> b;
    for (const Outcome& outcome : outcomes) o.push_back(&outcome);
    for (const Baseline& baseline : baselines)
      b.push_back(baseline.elements > 0 ? &baseline : nullptr);
    return pinned ? judge_suites(o, Contracts{}, {}, complete, b)
                  : judge_suites(o, Contracts{}, b, complete);
  }
  // Returns the score of a statistic, if there is one.
  std::optional<SuiteScore> drift(bool complete = true,
                                  const std::string& statistic = "drift of the median",
                                  bool pinned = false) const {
    for (const SuiteScore& score : scores(complete, pinned)) {
      if (score.statistic == statistic) return score;
    }
    return std::nullopt;
  }
  std::string quartile() const { return drift(true, "drift of the lower quartile")->status; }
};

TEST(MedianDrift, FailsIfAllCasesWorsen) {
  const auto score = Night(30, 30, 1.15).drift();
  ASSERT_TRUE(score);
  EXPECT_EQ(score->kernel, "mine/kernel");
  EXPECT_EQ(score->suite, "*");
  EXPECT_EQ(score->cases, 30);
  EXPECT_NEAR(score->value, 1.15, 1e-12);
  EXPECT_EQ(score->limit, 1.12);
  EXPECT_EQ(score->status, "fail");
}

TEST(MedianDrift, AllowsTenPercentAndReportsImprovement) {
  EXPECT_EQ(Night(60, 60, 1.1).drift()->status, "pass");
  EXPECT_EQ(Night(60, 0, 1.1).drift()->status, "pass");
  EXPECT_EQ(Night(60, 0, 1.5).drift()->status, "improved");
  EXPECT_EQ(Night(60, 15, 1.5).drift()->status, "pass") << "45 of 60 are better: 7e-5";
}

// P(at least 28 of 30) = 466 / 2^30 = 4.3e-7, P(at least 27 of 30) = 4526 / 2^30 = 4.2e-6.
TEST(MedianDrift, NeedsSignTest) {
  EXPECT_EQ(Night(30, 28, 1.2).drift()->status, "fail");
  EXPECT_EQ(Night(30, 27, 1.2).drift()->status, "pass");
}

// Cases at the floor on both nights have a ratio of 1, and do not count in the sign test.
TEST(MedianDrift, IgnoresTies) {
  const auto with_ties = [](std::size_t ties) {
    Night night(30, 30, 1.2);
    for (std::size_t i = 0; i < ties; ++i)
      night.outcomes[i].errors.rms = night.baselines[i].rms = 0.1;
    return night.drift()->status;
  };
  EXPECT_EQ(with_ties(10), "fail");  // 20 of 20: 9.5e-7; 20 of 30 would be chance
  EXPECT_EQ(with_ties(11), "pass");  // 19 of 19: 1.9e-6
}

TEST(MedianDrift, NeedsThirtyChangedCases) {
  EXPECT_EQ(Night(29, 29, 1.5).drift()->status, "not judged: too few cases");
  EXPECT_EQ(Night(30, 30, 1.5).drift(false)->status, "not judged: partial suite");
  Night night(31, 31, 1.5);
  night.baselines[0].elements = 0;  // no past
  EXPECT_EQ(night.drift()->cases, 30);
  night.outcomes[1].output_digest = night.baselines[1].output_digest;  // same bits
  EXPECT_EQ(night.drift()->status, "not judged: too few cases");
  for (Outcome& outcome : night.outcomes) outcome.output_digest = std::string(32, 'a');
  EXPECT_FALSE(night.drift());
}

TEST(MedianDrift, CountsSharedCaseOnce) {
  Night night(30, 30, 1.5);
  night.outcomes[29].c = night.outcomes[28].c;
  night.outcomes[29].suite = "other";
  EXPECT_EQ(night.drift()->cases, 29);
}

TEST(MedianDrift, SkipsReusedOutcomes) {
  Night night(31, 31, 1.5);
  night.outcomes[0].reused_from = "mine/kernel/device=emulated:sm_80";
  EXPECT_EQ(night.drift()->cases, 30);
}

// Outcomes arrive in any order and are sorted by name.
TEST(MedianDrift, SortedCasesKeepPasts) {
  Night night(30, 30, 1.5);
  for (std::size_t i = 0; i < 30; ++i) {
    night.outcomes[i].case_id = std::to_string(99 - i);
    night.outcomes[i].output_digest = night.baselines[i].output_digest = std::to_string(i);
  }
  EXPECT_FALSE(night.drift()) << "each case has the bits of its past";
  night.outcomes[0].output_digest = "other bits";
  const auto score = night.drift();
  ASSERT_TRUE(score);
  EXPECT_EQ(score->cases, 1);
  EXPECT_NEAR(score->value, 1.5, 1e-12);
}

TEST(MedianDrift, NanFails) {
  Night night(30, 0, 1.2);
  for (std::size_t i = 0; i < 28; ++i) night.outcomes[i].errors.rms = nan_value;
  EXPECT_EQ(night.drift()->status, "fail");
}

TEST(MedianDrift, StaysFiniteForManyCases) {
  EXPECT_EQ(Night(5000, 5000, 1.15).drift()->status, "fail");
}

// At least three quarters of the cases must be worse by more than 8 %.
TEST(QuartileDrift, FailsIfThreeQuartersWorsen) {
  const auto score = Night(40, 40, 1.089).drift(true, "drift of the lower quartile");
  ASSERT_TRUE(score);
  EXPECT_NEAR(score->value, 1.089, 1e-12);
  EXPECT_EQ(score->limit, 1.08);
  EXPECT_EQ(score->status, "fail");
  EXPECT_EQ(Night(40, 40, 1.089).drift()->status, "pass");
  EXPECT_EQ(Night(40, 40, 1.079).quartile(), "pass");
  EXPECT_EQ(Night(29, 29, 1.5).quartile(), "not judged: too few cases");
}

// A lagging maximum does this legally: no case improves, and a third stays as it was.
TEST(QuartileDrift, PassesIfThirdOfCasesStays) {
  Night night(60, 60, 1.11);
  for (std::size_t i = 0; i < 20; ++i) night.baselines[i].rms = night.outcomes[i].errors.rms / 1.01;
  EXPECT_EQ(night.quartile(), "pass");
  EXPECT_EQ(night.drift()->status, "pass");
  for (std::size_t i = 0; i < 6; ++i) night.baselines[i].rms = night.outcomes[i].errors.rms / 1.11;
  EXPECT_EQ(night.quartile(), "fail") << "14 of 60 stay";
}

// Each step is within noise of the night before, and is accepted.
TEST(PinDrift, FindsSumOfFiveSmallSteps) {
  double since_the_pin = 1;
  std::vector<std::string> each, together;
  for (int step = 1; step <= 5; ++step) {
    since_the_pin *= 1.04;
    const Night last(40, 40, 1.04), pinned(40, 40, since_the_pin);
    each.push_back(last.quartile() + ", " + last.drift()->status);
    together.push_back(
        pinned.drift(true, "drift of the lower quartile from the pin", true)->status + ", " +
        pinned.drift(true, "drift of the median from the pin", true)->status);
  }
  EXPECT_THAT(each, testing::Each("pass, pass"));
  EXPECT_THAT(together, testing::ElementsAre("pass, pass", "fail, pass", "fail, fail", "fail, fail",
                                             "fail, fail"));
}

TEST(PinDrift, NeedsPinAndReportsNoImprovement) {
  for (const SuiteScore& score : Night(40, 40, 1.5).scores())
    EXPECT_THAT(score.statistic, testing::Not(testing::HasSubstr("pin")));
  const auto better = Night(40, 0, 1.5).drift(true, "drift of the median from the pin", true);
  ASSERT_TRUE(better);
  EXPECT_EQ(better->status, "pass");
}

}  // namespace
}  // namespace plumbline
