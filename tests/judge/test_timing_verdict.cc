// A time compared with earlier nights: candidates, and the verdict by fresh processes.
#include <cmath>

#include "harness/judge/timing_verdict.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const GateOptions options{.fresh = 3, .min_spread = 0.005};

// Returns twenty nights about a ratio of 2, with a spread of about 1 %.
Past quiet_past() {
  Past past;
  for (int night = 0; night < 20; ++night) {
    past.times.ratios.push_back(2 * (1 + 0.01 * std::sin(2.4 * night)));
    past.times.run_orders.push_back("order " + std::to_string(99 - night));
    past.times.fresh.emplace_back();
    past.times.starts_level.push_back(false);
  }
  return past;
}

Outcome timed(double ratio, std::vector<double> fresh = {}) {
  Outcome outcome = passing();
  outcome.timed = true;
  outcome.time_ratio = ratio;
  outcome.times.fresh_ratios = std::move(fresh);
  return outcome;
}

Judgement concluded(const Outcome& outcome, const Past& past) {
  Judgement judgement;
  judgement.verdict = Verdict::pass;
  conclude_time(outcome, past, screen_time(outcome, past, options), options, judgement);
  return judgement;
}

TEST(Times, UsualNightIsQuietWithFigures) {
  const Judgement judgement = concluded(timed(2.01), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.findings, IsEmpty());
  ASSERT_TRUE(judgement.gated_time);
  EXPECT_EQ(judgement.gated_time->finding, "quiet");
  EXPECT_EQ(judgement.gated_time->nights, 20);
  EXPECT_NEAR(judgement.gated_time->level, 2, 0.01);
  EXPECT_GT(judgement.gated_time->limit, 2.01);
  ASSERT_TRUE(judgement.time_against_past);
  EXPECT_NEAR(judgement.time_against_past->ratio, 1.005, 0.01);
}

TEST(Times, ConfirmedTenPercentRegresses) {
  const Judgement judgement = concluded(timed(2.2, {2.21, 2.19, 2.2}), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::regressed);
  EXPECT_EQ(judgement.confirmation, Confirmation::confirmed);
  ASSERT_THAT(statistics(judgement), ElementsAre("time"));
  EXPECT_THAT(judgement.findings[0].text,
              AllOf(HasSubstr("% slower than its usual 2"), HasSubstr("20 nights"),
                    HasSubstr("fresh processes took 2.21, 2.19, 2.2")));
}

TEST(Times, RefutedCandidatePasses) {
  const Judgement judgement = concluded(timed(2.2, {2.0, 2.01, 1.99}), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.confirmation, Confirmation::refuted);
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("it was noise")));
}

TEST(Times, AmbiguousIfRerunsDisagree) {
  const Judgement judgement = concluded(timed(2.2, {2.2, 2.2, 2.0}), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::ambiguous);
  EXPECT_EQ(judgement.confirmation, Confirmation::disagree);
}

TEST(Times, UnconfirmedWithoutReruns) {
  const Judgement judgement = concluded(timed(2.2), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::unconfirmed);
  EXPECT_EQ(judgement.confirmation, std::nullopt);
}

TEST(Times, ConfirmedFasterKernelImproves) {
  const Judgement judgement = concluded(timed(0.25, {0.25, 0.25, 0.25}), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::improved);
  ASSERT_EQ(judgement.changes.size(), 1U);
  EXPECT_EQ(judgement.changes[0].kind, ChangeKind::faster);
  EXPECT_THAT(judgement.changes[0].text, HasSubstr("8 times faster"));
  EXPECT_EQ(judgement.changes[0].standing, Standing::fine);
  EXPECT_EQ(concluded(timed(0.25), quiet_past()).verdict, Verdict::pass) << "nobody was asked";
}

TEST(Times, DisagreementAboutFasterKernelIsNoted) {
  const Judgement judgement = concluded(timed(0.25, {0.25, 0.25, 2.0}), quiet_past());
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.confirmation, Confirmation::disagree);
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("they disagree")));
}

TEST(Times, WorseVerdictStays) {
  const Past past = quiet_past();
  const Outcome outcome = timed(2.2, {2.2, 2.2, 2.2});
  Judgement judgement;
  judgement.verdict = Verdict::fail;
  conclude_time(outcome, past, screen_time(outcome, past, options), options, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::fail);
  EXPECT_THAT(statistics(judgement), Contains("time"));
}

TEST(Times, TooFewNightsAreOnlyNoted) {
  Past past;
  past.times = {{2, 2, 2}, {"c", "b", "a"}, {{}, {}, {}}, {false, false, false}};
  const Judgement judgement = concluded(timed(2.2), past);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_THAT(judgement.notes,
              Contains("time not judged yet (3 of 10 nights): 1.1 times its usual time so far"));
  EXPECT_THAT(concluded(timed(2.2), Past{}).notes,
              Contains("time not judged yet (0 of 10 nights)"));
}

// The time of tonight is a spike, which fresh processes refute. They still show the drift.
TEST(Times, SpikeDoesNotHideDrift) {
  Past past = quiet_past();
  past.pin = Pin{past_of(passing()), {{1.65, 1.65, 1.65, 1.65, 1.65}, {}}};
  past.pin->outcome.run_id = "pinned-run";
  for (const double spike : {2.2, 1.9}) {
    const Judgement judgement = concluded(timed(spike, {2.0, 2.01, 1.99}), past);
    EXPECT_EQ(judgement.verdict, Verdict::regressed) << spike;
    EXPECT_EQ(judgement.confirmation, Confirmation::confirmed) << spike;
    EXPECT_THAT(statistics(judgement), ElementsAre("time from the pin")) << spike;
    EXPECT_EQ(judgement.gated_time->finding, "drifted") << spike;
    EXPECT_NEAR(judgement.gated_time->change, 2 / 1.65 - 1, 0.02) << spike;
    EXPECT_THAT(judgement.findings[0].text, HasSubstr("pinned run pinned-r")) << spike;
  }
  past.pin->times.ratios.assign(5, 1.95);
  EXPECT_EQ(concluded(timed(2.2, {2.0, 2.01, 1.99}), past).verdict, Verdict::pass);
}

// Five steps of 4 %, each accepted, so that it becomes the usual time of the nights after it.
TEST(Times, AcceptedStepsAddUpAgainstPin) {
  Past past = quiet_past();
  past.pin = Pin{past_of(passing()), {{2, 2, 2, 2, 2}, {}}};
  past.pin->outcome.run_id = "pinned-run";
  double ratio = 2;
  int found = 0;
  for (int step = 1; step <= 5; ++step) {
    ratio *= 1.04;
    const Judgement judgement = concluded(timed(ratio, {ratio, ratio, ratio}), past);
    for (const Finding& finding : judgement.findings) {
      if (finding.kind == FindingKind::time_from_pin && found == 0) found = step;
    }
    for (int night = 0; night < 14; ++night) {
      const double value = ratio * (1 + 0.01 * std::sin(2.4 * night));
      past.times.ratios.insert(past.times.ratios.begin(), value);
      past.times.fresh.insert(past.times.fresh.begin(), std::vector<double>{});
      past.times.starts_level.insert(past.times.starts_level.begin(), night == 0);
    }
    if (step == 5) {
      const Judgement later = concluded(timed(ratio, {ratio, ratio, ratio}), past);
      EXPECT_THAT(statistics(later), ElementsAre("time from the pin"));
      EXPECT_EQ(later.verdict, Verdict::regressed);
      EXPECT_THAT(later.findings[0].text, HasSubstr("of the pinned run pinned-r"));
    }
  }
}

TEST(Times, SuspectNightHasNoFindings) {
  const Past past = quiet_past();
  const double limit = screen_time(timed(4), past, options).limit;
  const Outcome outcome = timed(2 * std::exp(1.5 * limit));
  Judgement judgement;
  judgement.verdict = Verdict::pass;
  exclude_time(outcome, past, screen_time(outcome, past, options), options, 0, "all moved",
               judgement);
  EXPECT_EQ(judgement.verdict, Verdict::pass);
  EXPECT_EQ(judgement.gated_time->finding, "set aside");
  EXPECT_THAT(judgement.notes, Contains("time not judged, and no baseline: all moved"));
}

TEST(Times, UnconfirmedFarBeyondLimitIfDisturbed) {
  const Past past = quiet_past();
  const auto set_aside = [&](double ratio, double common_shift) {
    const Outcome outcome = timed(ratio);
    Judgement judgement;
    judgement.verdict = Verdict::pass;
    exclude_time(outcome, past, screen_time(outcome, past, options), options, common_shift,
                 "disturbed", judgement);
    return judgement;
  };
  EXPECT_EQ(set_aside(4, 0).verdict, Verdict::unconfirmed);
  EXPECT_THAT(set_aside(4, 0).findings[0].text, HasSubstr("2 times slower"));
  const double usual = 2, limit = screen_time(timed(4), past, options).limit;
  EXPECT_EQ(set_aside(usual * std::exp(2.1 * limit), 0).verdict, Verdict::unconfirmed);
  EXPECT_EQ(set_aside(usual * std::exp(1.9 * limit), 0).verdict, Verdict::pass);
  EXPECT_EQ(set_aside(4, std::log(1.9)).verdict, Verdict::pass) << "all cases were slow";
  EXPECT_EQ(set_aside(1, 0).verdict, Verdict::pass) << "faster";
}

TEST(Times, SkipsUntimedAndExpectedFailures) {
  Judgement judgement;
  judgement.verdict = Verdict::pass;
  Outcome outcome = timed(2);
  EXPECT_TRUE(is_gated(outcome, judgement));
  judgement.verdict = Verdict::expected_failure;
  EXPECT_FALSE(is_gated(outcome, judgement));
  judgement.verdict = Verdict::pass;
  outcome.timed = false;
  EXPECT_FALSE(is_gated(outcome, judgement));
  outcome = timed(infinity);
  EXPECT_FALSE(is_gated(outcome, judgement));
  outcome = timed(2);
  outcome.reused_from = "cpu/flash/…";
  EXPECT_FALSE(is_gated(outcome, judgement));
}

TEST(Times, SkipsFailedCalls) {
  Judgement judgement;
  judgement.verdict = Verdict::fail;
  Outcome outcome = timed(2);
  EXPECT_TRUE(is_gated(outcome, judgement)) << "a wrong output has a time";
  for (const Status status : {Status::unsupported, Status::crashed, Status::timeout,
                              Status::out_of_memory, Status::error}) {
    outcome.status = status;
    EXPECT_FALSE(is_gated(outcome, judgement)) << name(status);
  }
}

}  // namespace
}  // namespace plumbline
