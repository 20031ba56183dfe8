// Acknowledged regressions are fine until they get worse by more than noise, or expire.
#include "harness/judge/acknowledged.h"
#include "harness/judge/exit_code.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view today = "2027-01-30";

// An acknowledged regression: rms 0.9, half more than that of passing(), and a time ratio of 1.3.
Acknowledgement seen() {
  return {"ada", "waits for driver 600", "2027-02-01", "2027-01-20", 1.3,
          0.9,   std::string(32, 'b')};
}

Outcome outcome_with(double time_ratio, double rms = 0.9) {
  Outcome outcome = passing();
  outcome.timed = true;
  outcome.time_ratio = time_ratio;
  outcome.errors.rms = rms;
  return outcome;
}

Judgement slower(Verdict verdict, double spread = 0.01) {
  Judgement judgement;
  judgement.verdict = verdict;
  judgement.findings = {{FindingKind::time, 1.3, 1.1, "slower"}};
  judgement.gated_time = GatedTime{.finding = "slower", .spread = spread};
  return judgement;
}

Verdict verdict_of(const Judgement& judgement, const Outcome& outcome) {
  return judge_acknowledged(judgement, outcome, seen(), today).verdict;
}

TEST(Acknowledged, RegressionIsListedAndFine) {
  for (const Verdict verdict : {Verdict::regressed, Verdict::unconfirmed, Verdict::ambiguous}) {
    const Judgement judged = judge_acknowledged(slower(verdict), outcome_with(1.3), seen(), today);
    EXPECT_EQ(judged.verdict, Verdict::acknowledged);
    EXPECT_EQ(exit_code_of(run_state({judged.verdict}, {})), 0);
    EXPECT_THAT(judged.notes,
                ElementsAre("acknowledged by ada, until 2027-02-01: waits for driver 600; the "
                            "verdict would be " +
                            std::string(name(verdict))));
    EXPECT_EQ(judged.findings.size(), 1U) << "still listed";
  }
}

TEST(Acknowledged, SlowerBeyondNoiseFails) {
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(1.3 * 1.04)),
            Verdict::acknowledged);
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(1.3 * 1.05)), Verdict::regressed);
  EXPECT_EQ(verdict_of(slower(Verdict::regressed, 0.05), outcome_with(1.3 * 1.2)),
            Verdict::acknowledged)
      << "a noisy case";
  Judgement without_gate = slower(Verdict::regressed);
  without_gate.gated_time.reset();
  EXPECT_EQ(verdict_of(without_gate, outcome_with(1.3 * 1.2)), Verdict::acknowledged);
  EXPECT_EQ(verdict_of(without_gate, outcome_with(1.3 * 1.3)), Verdict::regressed);
  EXPECT_THAT(judge_acknowledged(without_gate, outcome_with(2.6), seen(), today).notes,
              Contains(HasSubstr("it takes 2 times the acknowledged time")));
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(std::nan(""))), Verdict::regressed);
}

// Three standard deviations of a difference would be 0.4 % here.
TEST(Acknowledged, TwoPercentSlowerIsNoise) {
  const Judgement quiet = slower(Verdict::regressed, 0.001);
  EXPECT_EQ(time_noise(quiet), 1.02);
  EXPECT_EQ(verdict_of(quiet, outcome_with(1.3 * 1.015)), Verdict::acknowledged);
  EXPECT_EQ(verdict_of(quiet, outcome_with(1.3 * 1.025)), Verdict::regressed);
}

TEST(Acknowledged, LargerErrorFails) {
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(1.3, 1.3)), Verdict::acknowledged);
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(1.3, 1.4)), Verdict::regressed);
  EXPECT_EQ(verdict_of(slower(Verdict::regressed), outcome_with(1.3, std::nan(""))),
            Verdict::regressed);
}

TEST(Acknowledged, UntimedDoesNotExcuseSlowdown) {
  Acknowledgement untimed = seen();
  untimed.time_ratio = 0;
  EXPECT_EQ(
      judge_acknowledged(slower(Verdict::regressed), outcome_with(1.3), untimed, today).verdict,
      Verdict::regressed);
  Judgement drift = slower(Verdict::regressed);
  drift.findings = {{FindingKind::drift, 1.6, 1.5, "larger error"}};
  EXPECT_EQ(judge_acknowledged(drift, outcome_with(9), untimed, today).verdict,
            Verdict::acknowledged);
}

TEST(Acknowledged, FailureNeedsEqualBits) {
  Judgement failed = slower(Verdict::fail);
  failed.findings = {{FindingKind::peak, 9, 6.5, "beyond the limit"}};
  Outcome outcome = outcome_with(1.3);
  EXPECT_EQ(verdict_of(failed, outcome), Verdict::fail) << "other bits";
  outcome.output_digest = seen().output_digest;
  EXPECT_EQ(verdict_of(failed, outcome), Verdict::acknowledged);
}

TEST(Acknowledged, ExpiresOnUntilDay) {
  const auto on = [](std::string_view day) {
    return judge_acknowledged(slower(Verdict::regressed), outcome_with(1.3), seen(), day);
  };
  EXPECT_EQ(on("2027-01-31").verdict, Verdict::acknowledged);
  EXPECT_EQ(on("2027-02-01").verdict, Verdict::regressed);
  EXPECT_THAT(on("2027-02-01").notes, Contains(HasSubstr("has expired")));
  Acknowledgement endless = seen();
  endless.until = "";
  EXPECT_EQ(judge_acknowledged(slower(Verdict::regressed), outcome_with(1.3), endless, "2099-01-01")
                .verdict,
            Verdict::acknowledged);
}

TEST(Acknowledged, OtherVerdictsStay) {
  for (const Verdict verdict : all<Verdict>()) {
    if (verdict == Verdict::regressed || verdict == Verdict::unconfirmed ||
        verdict == Verdict::ambiguous)
      continue;
    const Judgement judged = judge_acknowledged(slower(verdict), outcome_with(1.3), seen(), today);
    EXPECT_EQ(judged.verdict, verdict);
    EXPECT_THAT(judged.notes, IsEmpty());
  }
}

TEST(Acknowledged, AppliesWithinJudge) {
  Outcome outcome = passing();
  outcome.output_digest = std::string(32, 'c');
  outcome.errors.rms = 0.95;
  Baseline baseline = past_of(passing());
  baseline.rms = 0.5;
  baseline.build_id = "build-0";
  const Acknowledgement acknowledged = seen();
  EXPECT_EQ(judge({.outcome = &outcome, .baseline = &baseline}).verdict, Verdict::regressed);
  EXPECT_EQ(judge({.outcome = &outcome,
                   .baseline = &baseline,
                   .today = today,
                   .acknowledged = &acknowledged})
                .verdict,
            Verdict::acknowledged);
}

}  // namespace
}  // namespace plumbline
