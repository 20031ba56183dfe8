// A run in a terminal: failures, then tables, then totals, and bounded for a broken kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/verdict.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Style plain{false, 0};

TEST(RenderText, FailuresThenTablesThenTotals) {
  const SampleRun sample = mixed_run();
  EXPECT_EQ(render_text(sample.report(1), plain),
            render_case(sample.outcomes[1], "plumbline run", plain) +
                R"(diffs of stories
a : b  verdict    max abs  mean abs  sigma  max rel   at |o|  equal heads  rms a  rms b  time a/b
-----  -------  ---------  --------  -----  -------  -------  -----------  -----  -----  --------
S4     pass     6.104e-05   4.1e-06   4.25    1.579  1.9e-07  2 of 1824    4e-06  2e-06       0.8
  S4: the difference is explained by what both declare

1 suite statistic passed, at most 36 % of the limit

suite smoke
kernel                    cases  pass  fail  of the limit     time
------------------------  -----  ----  ----  ------------  -------
cpu/flash                     1     1                62 %  12.5 ms
mutants/bf16_accumulator      1           1         143 %   7.5 ms

suite stories
kernel     cases  unsupported  of the limit    time
---------  -----  -----------  ------------  ------
cpu/flash      1            1                250 us

unsupported
  1 of cpu/flash: only fp16 and bf16 are supported

run 7d3f0a52: 1 failure in 3 cases, 1 diff and 1 suite statistic, exit code 1 (20.25 ms of measuring)
  cases: 1 pass, 1 unsupported, 1 fail; diffs: 1 pass; suite statistics: 1 pass
)");
}

TEST(RenderText, NothingMeasured) {
  EXPECT_EQ(render_text(SampleRun().report(4), plain),
            "run 7d3f0a52: nothing measured in 0 cases, exit code 4 (0 ns of measuring)\n  nothing "
            "measured\n");
}

TEST(RenderText, BoundedForBrokenKernel) {
  SampleRun sample;
  sample.outcomes.assign(25, failing_outcome());
  EXPECT_THAT(render_text(sample.report(1), plain),
              HasSubstr("\nthe same cause in 25 of mutants/bf16_accumulator\n"));
  const std::string text = render_text(sample.report(1), {.width = 0, .verbose = true});
  std::size_t shown = 0;
  for (std::size_t at = text.find("reproduce:"); at != std::string::npos;
       at = text.find("reproduce:", at + 1))
    ++shown;
  EXPECT_EQ(shown, 20U);
  EXPECT_THAT(text, HasSubstr("and 5 more:\nverdict  cause                      case\n"));
}

TEST(RenderText, ChangedBitsOneLinePerKernel) {
  SampleRun sample;
  sample.outcomes.assign(3, passing_outcome());
  sample.outcomes[0].judgement.verdict = sample.outcomes[2].judgement.verdict = Verdict::changed;
  EXPECT_THAT(render_text(sample.report(0), plain),
              HasSubstr("\nchanged: other bits in 2 cases of cpu/flash\n"));
}

TEST(RenderText, TimedCases) {
  SampleRun sample;
  sample.outcomes = {passing_outcome(), passing_outcome()};
  EXPECT_THAT(render_text(sample.report(0), plain), Not(HasSubstr("sentinel")));
  sample.outcomes[1].outcome.timed = true;
  sample.outcomes[1].outcome.time_ns = 1.5e6;
  sample.outcomes[1].outcome.time_mad_ns = 1000;
  sample.outcomes[1].outcome.time_ratio = 0.75;
  EXPECT_THAT(
      render_text(sample.report(0), plain),
      HasSubstr("cpu/flash/bf16/b1-h4-s128-d64/mask=causal_top_left  1.5 ms  1 us      0.75 ~\n"
                "~ not judged (1): no past\n"));
}

TEST(RenderText, AmbiguousCasesAreShown) {
  SampleRun sample;
  sample.outcomes = {passing_outcome()};
  sample.outcomes[0].judgement.verdict = Verdict::ambiguous;
  EXPECT_THAT(render_text(sample.report(5), plain),
              HasSubstr("ambiguous: 62 % of the limit (peak)\n  cpu/flash/"));
}

TEST(RenderText, ExpectedFailuresCountedByIssue) {
  SampleRun sample;
  sample.outcomes = {expected_outcome(), passing_outcome(), expected_outcome()};
  sample.outcomes[2].outcome.expected->issue = "https://example.com/8";
  const std::string text = render_text(sample.report(0), plain);
  EXPECT_THAT(text, HasSubstr("expected failures\n"
                              "cases  expected until  issue                  reason\n"));
  EXPECT_THAT(text, HasSubstr("    1  2027-01-31      https://example.com/8  rounds | twice\n"));
  EXPECT_THAT(text, HasSubstr("1 pass, 2 expected_failure"));
  EXPECT_THAT(text, Not(HasSubstr("reproduce:")));  // the run only counts them
  EXPECT_THAT(render_case(sample.outcomes[0], "plumbline run", plain),
              testing::AllOf(HasSubstr("reproduce:"), HasSubstr("worst")));
}

}  // namespace
}  // namespace plumbline
