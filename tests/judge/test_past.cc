#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As passing(), by a new build that gives other bits.
Outcome changed() {
  Outcome outcome = passing();
  outcome.output_digest = std::string(32, 'b');
  outcome.description.build_id = "build-2";
  return outcome;
}

TEST(Digest, SameBitsPassWhateverTheBuild) {
  Outcome outcome = passing();
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
  outcome.description.build_id = "build-2";
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
}

TEST(Digest, OtherBitsOfTheSameBuildFail) {
  Outcome outcome = changed();
  outcome.description.build_id = "build-1";
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  ASSERT_THAT(statistics(judgement), ElementsAre("digest"));
  EXPECT_THAT(judgement.findings[0].text, HasSubstr("nondeterminism or hardware"));
}

TEST(Digest, OtherBitsOfAnotherBuildAreChanged) {
  const Judgement judgement = judge_with_past(changed());
  EXPECT_EQ(judgement.verdict, Verdict::changed);
  EXPECT_THAT(statistics(judgement), ElementsAre("digest"));
  EXPECT_FALSE(is_failure(judgement.verdict));
}

TEST(Digest, UnknownBuildsAreNotTheSame) {
  Outcome outcome = changed();
  outcome.description.build_id = "";
  Baseline baseline = past_of(passing());
  baseline.build_id = "";
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::changed);
}

TEST(Digest, CountsOnlyWhereDeterminismIsPromisedAndConfirmed) {
  Outcome outcome = changed();
  outcome.description.build_id = "build-1";
  Baseline baseline = past_of(passing());
  baseline.deterministic = false;
  outcome.repeat_checked = outcome.repeat_equal = false;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::pass);  // promised, never confirmed
  outcome.repeat_checked = outcome.repeat_equal = true;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::fail);
  baseline.deterministic = true;
  outcome.repeat_checked = outcome.repeat_equal = false;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::fail);  // confirmed then
  outcome.description.promises.run_to_run = Promise::rounding;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::pass);  // not promised
}

TEST(Digest, MissingIsNoted) {
  Outcome outcome = changed();
  outcome.output_digest = "";
  EXPECT_THAT(judge_with_past(outcome).notes, ElementsAre(HasSubstr("digest is missing")));
}

struct Drift {
  const char* what;
  double baseline_rms, rms;
  std::int64_t elements;
  DType out;
  Verdict expected;
};
const Drift drifts[] = {
    {"at the limit", 0.5, 0.75, 10'000, DType::none, Verdict::changed},
    {"above", 0.5, 0.7501, 10'000, DType::none, Verdict::regressed},
    {"few elements at the limit", 0.5, 0.85, 2499, DType::none, Verdict::changed},
    {"few elements above", 0.5, 0.8501, 2499, DType::none, Verdict::regressed},
    {"2500 are not few", 0.5, 0.8, 2500, DType::none, Verdict::regressed},
    {"fp32 output at the limit", 0.5, 1.25, 10'000, DType::f32, Verdict::changed},
    {"fp32 output above", 0.5, 1.2501, 10'000, DType::f32, Verdict::regressed},
    {"fp32 output, few elements", 0.5, 1.2501, 100, DType::f32, Verdict::regressed},
    {"both below the floor", 0.01, 0.29, 10'000, DType::none, Verdict::changed},
    {"from below the floor to the limit", 0.01, 0.45, 10'000, DType::none, Verdict::changed},
    {"from below the floor above", 0.01, 0.4501, 10'000, DType::none, Verdict::regressed},
    {"better at the limit", 0.75, 0.5, 10'000, DType::none, Verdict::changed},
    {"better", 0.7501, 0.5, 10'000, DType::none, Verdict::improved},
    {"to below the floor", 0.4501, 0.01, 10'000, DType::none, Verdict::improved},
};

// `changed` beats `improved`: without a promise of determinism the digest says nothing, and the drift alone is seen.
TEST(DriftOfOneCase, FollowsTheTable) {
  for (const Drift& drift : drifts) {
    Outcome outcome = changed();
    outcome.c.problem.out_dtype = drift.out;
    outcome.description.spec = strict_spec(outcome.c.problem);
    outcome.spec_judged = spec_text(outcome.description.spec);
    outcome.errors.rms = drift.rms;
    outcome.errors.elements = drift.elements;
    Baseline baseline = past_of(passing());
    baseline.rms = drift.baseline_rms;
    const Judgement judgement = judge_against(outcome, baseline);
    const bool improved = drift.expected == Verdict::improved;
    EXPECT_EQ(judgement.verdict, improved ? Verdict::changed : drift.expected) << drift.what;
    EXPECT_EQ(statistics(judgement).back(), drift.expected == Verdict::changed ? "digest" : "drift") << drift.what;
    outcome.description.promises.run_to_run = Promise::none;
    const Judgement alone = judge_against(outcome, baseline);
    EXPECT_EQ(alone.verdict, drift.expected == Verdict::changed ? Verdict::pass : drift.expected) << drift.what;
  }
}

TEST(DriftOfOneCase, NeedsOtherBits) {
  Baseline baseline = past_of(passing());
  baseline.rms = 0.3;  // same digest, so these statistics come from another reference's last bits at most
  EXPECT_EQ(judge_against(passing(), baseline).verdict, Verdict::pass);
}

TEST(DriftOfOneCase, FailBeatsRegressed) {
  Outcome outcome = changed();
  outcome.errors.rms = 1.36;
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(statistics(judgement), ElementsAre("rms", "digest", "drift"));
}

Judgement judge_times(double ratio, std::vector<double> past) {
  Outcome outcome = passing();
  outcome.timed = true;
  outcome.time_ratio = ratio;
  const Baseline baseline = past_of(outcome);
  const TimeHistory times{std::move(past)};
  return judge({&outcome, nullptr, nullptr, &baseline, &times});
}

TEST(Time, RegressesByAQuarter) {
  EXPECT_EQ(judge_times(2.5, {2, 2, 2, 2, 2}).verdict, Verdict::pass);
  const Judgement judgement = judge_times(2.5001, {2, 2, 2, 2, 2});
  EXPECT_EQ(judgement.verdict, Verdict::regressed);
  ASSERT_THAT(statistics(judgement), ElementsAre("time"));
  EXPECT_EQ(judgement.findings[0].limit, 2.5);
}

TEST(Time, RegressesByFiveDeviations) {
  // median 2, median absolute deviation 0.25: the limit is 3.25
  const std::vector<double> noisy = {2.25, 1.75, 2, 1.5, 2.5};
  EXPECT_EQ(judge_times(3.25, noisy).verdict, Verdict::pass);
  EXPECT_EQ(judge_times(3.2501, noisy).verdict, Verdict::regressed);
}

TEST(Time, IsNotJudgedByFourRuns) {
  const Judgement judgement = judge_times(9, {2, 2, 2, 2});
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("time is not judged")));
}

TEST(Time, MissingIsMistrusted) {
  for (const double ratio : {0.0, nan_value, infinity, -1.0}) {
    EXPECT_EQ(judge_times(ratio, {2, 2, 2, 2, 2}).verdict, Verdict::mistrusted) << ratio;
  }
}

TEST(Time, OfUntimedCasesIsNotLookedAt) {
  const Outcome outcome = passing();
  const Baseline baseline = past_of(outcome);
  const TimeHistory times{{2, 2, 2, 2, 2}};
  const Judgement judgement = judge({&outcome, nullptr, nullptr, &baseline, &times});
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes, IsEmpty());
}

}  // namespace
}  // namespace plumbline
