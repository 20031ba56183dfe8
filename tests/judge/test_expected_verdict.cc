// Expected failures: until they expire, a failure is fine and a pass is not. After that they have
// no effect.
#include "harness/judge/exit_code.h"
#include "harness/judge/judgement_builder.h"
#include "tests/judge/outcomes.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view before = "2027-01-30", expiry = "2027-01-31", after = "2028-01-01";

Outcome expected(Outcome outcome) {
  outcome.expected =
      ExpectedFailure{"https://example.com/7", "2027-01-31", "rounds twice", "night.toml", 12};
  return outcome;
}

Outcome failing() {
  Outcome outcome = passing();
  outcome.errors.peak = 9;
  return outcome;
}

Outcome refused() {
  Outcome outcome = passing();
  outcome.status = Status::unsupported;
  outcome.reason = "no bf16";
  return outcome;
}

Judgement judged(const Outcome& outcome, std::string_view today) {
  const Baseline baseline = past_of(passing());
  return judge({.outcome = &outcome, .baseline = &baseline, .today = today});
}

TEST(Expected, FailureIsFineAndKeepsFindings) {
  const Judgement judgement = judged(expected(failing()), before);
  EXPECT_EQ(judgement.verdict, Verdict::expected_failure);
  EXPECT_EQ(exit_code_of(run_state({judgement.verdict}, {})), 0);
  EXPECT_THAT(statistics(judgement), ElementsAre("peak"));
  EXPECT_THAT(judgement.notes,
              Contains(AllOf(HasSubstr("expected until 2027-01-31: rounds twice"),
                             HasSubstr("would be fail"), HasSubstr("https://example.com/7"))));
  EXPECT_GT(judgement.percent_of_limit, 100);
}

TEST(Expected, AnyKindOfFailureIsFine) {
  for (const Status status :
       {Status::crashed, Status::timeout, Status::out_of_memory, Status::error}) {
    Outcome outcome = expected(passing());
    outcome.status = status;
    EXPECT_EQ(judged(outcome, before).verdict, Verdict::expected_failure) << name(status);
  }
}

TEST(Expected, FailureAfterResultIsChange) {
  const Judgement judgement = judged(expected(failing()), before);
  ASSERT_EQ(judgement.changes.size(), 1U);
  EXPECT_EQ(judgement.changes[0].kind, ChangeKind::excused);
  EXPECT_EQ(judgement.changes[0].standing, Standing::fine);
  EXPECT_EQ(judgement.changes[0].text,
            "fails, as its suite expects until 2027-01-31 (https://example.com/7), and was fine in "
            "run last-night");
  EXPECT_THAT(judged(expected(passing()), before).changes, IsEmpty()) << "does not fail";
  const Outcome fresh = expected(failing());
  EXPECT_THAT(judge({.outcome = &fresh, .today = before}).changes, IsEmpty()) << "has no past";
}

TEST(Expected, OpenVerdictStays) {
  for (const Verdict verdict : {Verdict::ambiguous, Verdict::unconfirmed}) {
    Judgement open;
    open.verdict = verdict;
    const Judgement judgement = judge_expected(open, *expected(passing()).expected, before);
    EXPECT_EQ(judgement.verdict, verdict);
    EXPECT_THAT(judgement.findings, IsEmpty());
  }
}

TEST(Expected, PassIsUnexpected) {
  Outcome changed = passing();
  changed.output_digest = std::string(32, 'b');
  changed.description.build_id = "build-2";
  Outcome improved = changed;
  improved.errors.rms = 0.31;
  improved.description.promises.run_to_run = Promise::none;  // so other bits are not reported
  ASSERT_EQ(judged(changed, before).verdict, Verdict::changed);
  ASSERT_EQ(judged(improved, before).verdict, Verdict::improved);
  for (const Outcome& outcome : {passing(), changed, improved}) {
    const Judgement judgement = judged(expected(outcome), before);
    EXPECT_EQ(judgement.verdict, Verdict::unexpected_pass);
    EXPECT_EQ(exit_code_of(run_state({judgement.verdict}, {})), 1);
    EXPECT_THAT(judgement.findings.back().text,
                AllOf(HasSubstr("does not fail"),
                      HasSubstr("remove the [[expect_failure]] at night.toml:12"),
                      HasSubstr("https://example.com/7")));
  }
  const Outcome fresh = expected(passing());
  EXPECT_EQ(judge({.outcome = &fresh, .today = before}).verdict, Verdict::unexpected_pass);
}

TEST(Expected, RefusalIsUnexpectedPass) {
  ASSERT_EQ(judged(refused(), before).verdict, Verdict::unsupported);
  const Judgement judgement = judged(expected(refused()), before);
  EXPECT_EQ(judgement.verdict, Verdict::unexpected_pass);
  EXPECT_THAT(judgement.findings.back().text, HasSubstr("is refused instead of failing"));
  Outcome stored = expected(refused());
  stored.expected->file.clear();  // as read from a database
  EXPECT_THAT(judged(stored, before).findings.back().text,
              HasSubstr("remove the [[expect_failure]] and update issue"));
}

TEST(Expected, IgnoredAfterExpiry) {
  for (const std::string_view day : {expiry, after}) {
    for (const Outcome& outcome : {passing(), failing(), refused()}) {
      const Judgement plain = judged(outcome, day), judgement = judged(expected(outcome), day);
      EXPECT_EQ(judgement.verdict, plain.verdict);
      EXPECT_EQ(statistics(judgement), statistics(plain));
      EXPECT_THAT(judgement.notes, Contains(AllOf(HasSubstr("expired on 2027-01-31"),
                                                  HasSubstr("issue https://example.com/7"))));
    }
  }
}

TEST(Expected, IgnoredWithoutDate) {
  EXPECT_EQ(judged(expected(failing()), "").verdict, Verdict::fail);
  EXPECT_THAT(judged(expected(passing()), "").notes, IsEmpty());
}

}  // namespace
}  // namespace plumbline
