// The verdicts for other bits, drift of the error, pins and looser contracts.
#include "harness/judge/digest_and_drift.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns passing() from a new build with other bits.
Outcome changed() {
  Outcome outcome = passing();
  outcome.output_digest = std::string(32, 'b');
  outcome.description.build_id = "build-2";
  return outcome;
}

std::vector<ChangeKind> kinds(const Judgement& judgement) {
  std::vector<ChangeKind> result;
  for (const Change& change : judgement.changes) result.push_back(change.kind);
  return result;
}

TEST(Digest, EqualBitsPassForAnyBuild) {
  Outcome outcome = passing();
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
  outcome.description.build_id = "build-2";
  EXPECT_EQ(judge_with_past(outcome).verdict, Verdict::pass);
}

TEST(Digest, OtherBitsOfSameBuildFail) {
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

TEST(Digest, UnknownBuildsDiffer) {
  Outcome outcome = changed();
  outcome.description.build_id = "";
  Baseline baseline = past_of(passing());
  baseline.build_id = "";
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::changed);
}

TEST(Digest, NeedsPromisedAndConfirmedDeterminism) {
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
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::fail);  // confirmed in the past
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

// `changed` beats `improved`. Without a promise of determinism, only the drift decides.
TEST(DriftOfOneCase, FollowsTable) {
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
    EXPECT_EQ(statistics(judgement).back(), drift.expected == Verdict::changed ? "digest" : "drift")
        << drift.what;
    outcome.description.promises.run_to_run = Promise::none;
    const Judgement alone = judge_against(outcome, baseline);
    EXPECT_EQ(alone.verdict, drift.expected == Verdict::changed ? Verdict::pass : drift.expected)
        << drift.what;
  }
}

TEST(DriftOfOneCase, NeedsOtherBits) {
  Baseline baseline = past_of(passing());
  // equal digests: the statistics differ at most by the last bits of the reference
  baseline.rms = 0.3;
  EXPECT_EQ(judge_against(passing(), baseline).verdict, Verdict::pass);
}

TEST(DriftOfOneCase, NeedsComparedElements) {
  Outcome outcome = changed();
  outcome.errors.rms = 0.9;
  Baseline baseline = past_of(passing());
  baseline.rms = 0;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::regressed);
  baseline.elements = 0;
  const Judgement judgement = judge_against(outcome, baseline);
  EXPECT_EQ(judgement.verdict, Verdict::changed) << "nothing was compared in the past";
  EXPECT_THAT(statistics(judgement), ElementsAre("digest"));
}

TEST(DriftOfOneCase, FailBeatsRegressed) {
  Outcome outcome = changed();
  outcome.errors.rms = 1.36;
  const Judgement judgement = judge_with_past(outcome);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(statistics(judgement), ElementsAre("rms", "digest", "drift"));
}

// A faster kernel with larger errors may round more or compute less. The change is listed, and
// nothing fails.
TEST(FasterButLessAccurate, IsListedAsChange) {
  const auto said = [](double rms, ChangeKind kind, bool other_bits) {
    Outcome outcome = other_bits ? changed() : passing();
    outcome.errors.rms = rms;
    const Baseline baseline = past_of(passing());  // rms 0.6
    Judgement judgement;
    judgement.changes.push_back({kind, 0.5, 0.8, "half its time", Standing::fine});
    compare_speed_with_error(outcome, &baseline, judgement);
    return judgement.changes;
  };
  const auto changes = said(0.78, ChangeKind::faster, true);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].kind, ChangeKind::faster_less_accurate);
  EXPECT_NEAR(changes[1].value, 1.3, 1e-12);
  EXPECT_EQ(changes[1].limit, 1.25);
  EXPECT_EQ(changes[1].standing, Standing::fine);
  EXPECT_THAT(changes[1].text,
              HasSubstr("takes 0.5 of its usual time, and its rms error grew by a factor of 1.3"));
  EXPECT_EQ(said(0.74, ChangeKind::faster, true).size(), 1U) << "as retilings do";
  EXPECT_EQ(said(0.78, ChangeKind::smaller_error, true).size(), 1U) << "not faster";
  EXPECT_EQ(said(0.78, ChangeKind::faster, false).size(), 1U) << "the same bits";
}

// Each caller that finds the case faster checks again, but the change is added once.
TEST(FasterButLessAccurate, IsListedOnce) {
  Outcome outcome = changed();
  outcome.errors.rms = 0.9;
  const Baseline baseline = past_of(passing());
  Judgement judgement;
  compare_speed_with_error(outcome, &baseline, judgement);
  EXPECT_THAT(judgement.changes, IsEmpty());
  judgement.changes.push_back({ChangeKind::faster, 0.5, 0.8, "faster", Standing::fine});
  for (int i = 0; i < 2; ++i) compare_speed_with_error(outcome, &baseline, judgement);
  compare_speed_with_error(outcome, nullptr, judgement);
  EXPECT_EQ(kinds(judgement), (std::vector{ChangeKind::faster, ChangeKind::faster_less_accurate}));
}

TEST(Pin, FindsSumOfSmallErrorSteps) {
  Outcome outcome = changed();
  outcome.errors.rms = 0.9;
  Baseline last = past_of(passing());
  last.rms = 0.8;
  last.output_digest = std::string(32, 'c');
  const Pin pin{past_of(passing()), {}};  // rms 0.6
  EXPECT_EQ(judge({.outcome = &outcome, .baseline = &last, .pin = &pin}).verdict, Verdict::changed)
      << "1.5 of the pin, at the limit";
  outcome.errors.rms = 0.91;
  EXPECT_EQ(judge({.outcome = &outcome, .baseline = &last}).verdict, Verdict::changed);
  const Judgement judgement = judge({.outcome = &outcome, .baseline = &last, .pin = &pin});
  EXPECT_EQ(judgement.verdict, Verdict::regressed);
  EXPECT_THAT(statistics(judgement), Contains("drift from the pin"));
}

TEST(Changes, LooserContractIsListed) {
  Baseline baseline = past_of(passing());
  baseline.terms = ContractSnapshot{};
  baseline.terms->limits = default_limits(strict_spec(passing().c.problem), passing().c.problem, 0);
  baseline.spec_judged = passing().spec_judged;
  EXPECT_THAT(judge_against(passing(), baseline).changes, IsEmpty());
  baseline.terms->limits.rms = 1.2;
  baseline.terms->promises.run_to_run = Promise::bitwise;
  const Judgement judgement = judge_against(passing(), baseline);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  ASSERT_EQ(kinds(judgement), std::vector{ChangeKind::looser_contract});
  EXPECT_THAT(judgement.changes[0].text, AllOf(HasSubstr("limit of rms 1.35 (was 1.2)"),
                                               HasSubstr("promise run_to_run none (was bitwise)")));
  RoundingSpec naive = strict_spec(passing().c.problem);
  naive.s_rounded = DType::bf16;
  EXPECT_THAT(looser_terms({}, spec_text(naive), {}, passing().spec_judged), testing::SizeIs(1));
  EXPECT_THAT(looser_terms({}, passing().spec_judged, {}, spec_text(naive)), IsEmpty())
      << "a tighter spec";
  ContractSnapshot zeros, anything;
  zeros.padding_policy = PaddingPolicy::zeros, anything.padding_policy = PaddingPolicy::anything;
  const std::string& spec = passing().spec_judged;
  EXPECT_THAT(looser_terms(anything, spec, zeros, spec), testing::SizeIs(1));
  EXPECT_THAT(looser_terms(zeros, spec, anything, spec), IsEmpty());
}

TEST(Changes, MissingRowOutputIsListed) {
  Baseline baseline = past_of(passing());
  baseline.terms = ContractSnapshot{};
  baseline.terms->limits = default_limits(strict_spec(passing().c.problem), passing().c.problem, 0);
  baseline.spec_judged = passing().spec_judged;
  for (const RowOutput output : all<RowOutput>()) {
    Outcome outcome = passing();
    outcome.errors.*row_statistics[output].measured = false;
    EXPECT_THAT(judge_against(outcome, baseline).changes, IsEmpty()) << "the baseline had none";
    Baseline had_it = baseline;
    had_it.judged[output] = true;
    EXPECT_THAT(judge_against(passing(), had_it).changes, IsEmpty());
    const Judgement judgement = judge_against(outcome, had_it);
    ASSERT_EQ(kinds(judgement), std::vector{ChangeKind::looser_contract});
    EXPECT_THAT(judgement.changes[0].text,
                HasSubstr(std::string(table_row(output).words) + " is not judged"));
  }
}

TEST(Changes, PromisesParseBack) {
  Promises promises;
  EXPECT_EQ(promises_text(promises), "");
  promises.run_to_run = Promise::bitwise, promises.lse = Promise::rounding;
  EXPECT_EQ(promises_text(promises), "run_to_run=bitwise, lse=rounding");
  EXPECT_EQ(parse_promises(promises_text(promises)), promises);
  promises = {};
  promises.prefill_decode = Promise::bitwise;
  EXPECT_EQ(parse_promises(promises_text(promises)), promises);
}

TEST(Changes, NewRefusalFailsUntilAccepted) {
  Outcome outcome = passing();
  outcome.status = Status::unsupported;
  outcome.reason = "no bf16";
  const Baseline baseline = past_of(passing());
  const Judgement refused = judge_against(outcome, baseline);
  EXPECT_EQ(refused.verdict, Verdict::unsupported);
  ASSERT_EQ(kinds(refused), std::vector{ChangeKind::refused});
  EXPECT_EQ(refused.changes[0].standing, Standing::failure);
  EXPECT_THAT(judge({.outcome = &outcome}).changes, IsEmpty()) << "it never had a result";
  EXPECT_THAT(judge({.outcome = &outcome, .baseline = &baseline, .refusal_accepted = true}).changes,
              IsEmpty())
      << "accepted";
}

// Another driver may compile other code, so other bits of one build are not a hardware fault then.
TEST(Changes, OtherDriverExplainsOtherBits) {
  Outcome outcome = changed();
  outcome.description.build_id = "build-1";
  outcome.device = {"H100", 80, "590.12", "13.1", "sm_90"};
  Baseline baseline = past_of(passing());
  baseline.driver = "580.65", baseline.runtime = "13.0";
  const Judgement judgement = judge_against(outcome, baseline);
  EXPECT_EQ(judgement.verdict, Verdict::changed);
  ASSERT_EQ(kinds(judgement), std::vector{ChangeKind::other_driver});
  EXPECT_THAT(judgement.changes[0].text, AllOf(HasSubstr("590.12"), HasSubstr("580.65")));
  baseline.driver = outcome.device.driver, baseline.runtime = outcome.device.runtime;
  EXPECT_EQ(judge_against(outcome, baseline).verdict, Verdict::fail);
}

TEST(Changes, OtherRuntimeExplainsOtherBits) {
  Outcome outcome = changed();
  outcome.description.build_id = "build-1";
  outcome.device = {"H100", 80, "590.12", "13.1", "sm_90"};
  Baseline baseline = past_of(passing());
  baseline.driver = outcome.device.driver, baseline.runtime = "13.0";
  const Judgement judgement = judge_against(outcome, baseline);
  EXPECT_EQ(judgement.verdict, Verdict::changed);
  ASSERT_EQ(kinds(judgement), std::vector{ChangeKind::other_driver});
  EXPECT_THAT(judgement.changes[0].text, AllOf(HasSubstr("CUDA 13.1"), HasSubstr("CUDA 13.0")));
}

TEST(Time, MissingRatioIsMistrusted) {
  for (const double ratio : {0.0, nan_value, infinity, -1.0}) {
    Outcome outcome = passing();
    outcome.timed = true;
    outcome.time_ratio = ratio;
    EXPECT_EQ(judge({.outcome = &outcome}).verdict, Verdict::mistrusted) << ratio;
  }
}

}  // namespace
}  // namespace plumbline
