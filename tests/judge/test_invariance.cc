// Invariances are judged by the difference found and the kernel's promise.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness/judge/judge.h"
#include "harness/outcome/invariance_outcome.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

InvarianceOutcome outcome(Promise promise, std::int64_t other_bits, double sigmas) {
  InvarianceOutcome o;
  o.case_id = "cpu/flash/bf16/b2-h1-s8-d64";
  o.invariance = Invariance::solo;
  o.promise = promise;
  o.status = Status::ok;
  o.calls = 2;
  o.elements = 1000;
  o.other_bits = other_bits;
  o.limit = 6.5;
  if (other_bits == 0) return o;
  o.statistic = "out";
  o.element = {1, 2, 3, 4};
  o.value_a = 0.5;
  o.value_b = 0.5 + 1.0 / 256;
  o.sigmas = sigmas;
  o.ulps = 1;
  o.problem_b = "sample 1 alone";
  return o;
}
Verdict verdict(Promise promise, std::int64_t other_bits, double sigmas) {
  return judge_invariance(outcome(promise, other_bits, sigmas)).verdict;
}

TEST(JudgeInvariance, BitwiseNeedsEqualBits) {
  EXPECT_EQ(verdict(Promise::bitwise, 0, 0), Verdict::pass);
  EXPECT_EQ(verdict(Promise::bitwise, 1, 0), Verdict::fail) << "a sign of zero";
  EXPECT_EQ(verdict(Promise::bitwise, 1, 1), Verdict::fail);
}

TEST(JudgeInvariance, RoundingNeedsLimit) {
  EXPECT_EQ(verdict(Promise::rounding, 5, 6.5), Verdict::pass);
  EXPECT_EQ(verdict(Promise::rounding, 5, std::nextafter(6.5, 7)), Verdict::fail);
  EXPECT_EQ(verdict(Promise::rounding, 5, std::numeric_limits<double>::quiet_NaN()), Verdict::fail);
}

TEST(JudgeInvariance, UnpromisedStillNeedsLimit) {
  EXPECT_EQ(verdict(Promise::none, 0, 0), Verdict::pass);
  EXPECT_EQ(verdict(Promise::none, 1000, 3), Verdict::pass);
  EXPECT_EQ(verdict(Promise::none, 1, std::numeric_limits<double>::infinity()), Verdict::fail);
}

// Many legal kernels multiply a hidden value by a weight of 0, so NaN there reaches the output.
TEST(JudgeInvariance, HiddenKeysFailIfPromised) {
  InvarianceOutcome hidden = outcome(Promise::none, 7, std::numeric_limits<double>::infinity());
  hidden.invariance = Invariance::hidden_keys;
  EXPECT_EQ(judge_invariance(hidden).verdict, Verdict::unsupported);
  EXPECT_THAT(judge_invariance(hidden).notes,
              ElementsAre(HasSubstr("not judged: no contract promises survives_hidden_nan")));
  for (const Promise promise : {Promise::rounding, Promise::bitwise}) {
    hidden.promise = promise;
    const Judgement judgement = judge_invariance(hidden);
    EXPECT_EQ(judgement.verdict, Verdict::fail);
    ASSERT_EQ(judgement.findings.size(), 1u);
    EXPECT_EQ(judgement.findings[0].kind, FindingKind::hidden_keys);
  }
}

TEST(JudgeInvariance, ViolationNamesElementSizeAndProblem) {
  const Judgement judgement = judge_invariance(outcome(Promise::bitwise, 7, 1.25));
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings[0].text,
            "solo: the same bits are promised: the output at sample 1 head 2 row 3 column 4 is 0.5 "
            "in the case and 0.50390625 in \"sample "
            "1 alone\": 1.25 standard deviations (limit 6.5); 1 ulp; 7 of 1000 elements have "
            "other bits");
  InvarianceOutcome lse = outcome(Promise::rounding, 7, 9);
  lse.statistic = "lse";
  lse.element.column = -1;
  EXPECT_THAT(judge_invariance(lse).findings[0].text,
              AllOf(HasSubstr("beyond rounding: the LSE of sample 1 head 2 row 3 is 0.5")));
  InvarianceOutcome nan = outcome(Promise::none, 7, std::numeric_limits<double>::infinity());
  nan.value_b = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(judge_invariance(nan).findings[0].text, HasSubstr("no rounding explains it"));
}

TEST(JudgeInvariance, PercentIsRelativeToLimit) {
  EXPECT_DOUBLE_EQ(judge_invariance(outcome(Promise::rounding, 1, 3.25)).percent_of_limit, 50);
}

TEST(JudgeInvariance, NothingComparedIsMistrusted) {
  InvarianceOutcome nothing = outcome(Promise::bitwise, 0, 0);
  nothing.elements = 0;
  EXPECT_EQ(judge_invariance(nothing).verdict, Verdict::mistrusted);
  nothing.status = Status::crashed;
  nothing.reason = "sample 1 alone: SIGSEGV";
  EXPECT_EQ(judge_invariance(nothing).verdict, Verdict::crashed);
  EXPECT_THAT(judge_invariance(nothing).findings[0].text, HasSubstr("SIGSEGV"));
}

TEST(JudgeInvariance, RefusedCallsAreNoted) {
  InvarianceOutcome o = outcome(Promise::bitwise, 0, 0);
  o.calls_refused = 3;
  o.reason = "layout ragged: padded only";
  EXPECT_EQ(judge_invariance(o).verdict, Verdict::pass);
  EXPECT_THAT(judge_invariance(o).notes,
              ElementsAre("3 of 5 calls were refused: layout ragged: padded only"));
  o.status = Status::unsupported;
  EXPECT_EQ(judge_invariance(o).verdict, Verdict::unsupported);
  EXPECT_THAT(judge_invariance(o).findings, IsEmpty());
}

// Every invariance is covered by one promise of the ABI.
TEST(PromiseOf, EachInvarianceHasAPromise) {
  Promises batch;
  batch.batch = Promise::bitwise;
  std::vector<std::string> of_batch;
  for (const Invariance invariance : all<Invariance>()) {
    if (promise_of(batch, invariance) == Promise::bitwise) of_batch.emplace_back(name(invariance));
  }
  EXPECT_THAT(of_batch, ElementsAre("solo", "position", "neighbour"));
  const Promises every{Promise::bitwise, Promise::bitwise, Promise::bitwise, Promise::bitwise,
                       Promise::bitwise, Promise::bitwise, Promise::bitwise, Promise::bitwise};
  for (const Invariance invariance : all<Invariance>())
    EXPECT_EQ(promise_of(every, invariance), Promise::bitwise);
}

}  // namespace
}  // namespace plumbline
