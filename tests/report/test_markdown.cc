#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(RenderMarkdown, MixedRun) {
  const SampleRun sample = mixed_run();
  const std::string failure = render_case(sample.outcomes[1], "plumbline run", Style{false, 0});
  EXPECT_EQ(render_markdown(sample.report(1)), R"(## plumbline: 1 failure in 4 cases

2 pass, 1 unsupported, 1 fail.

Run `7d3f0a52-0000-4000-8000-000000000001` on Some CPU (x86-64-v3), commit `abc1234`, exit code 1.

### Failures and regressions

<details><summary>fail: mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left</summary>

```text
)" + failure + R"(```

</details>

### smoke

| kernel | cases | pass | fail | of the limit | time |
| --- | ---: | ---: | ---: | ---: | ---: |
| cpu/flash | 1 | 1 |  | 62 % | 12.5 ms |
| mutants/bf16\_accumulator | 1 |  | 1 | 143 % | 7.5 ms |

### stories

| kernel | cases | unsupported | of the limit | time |
| --- | ---: | ---: | ---: | ---: |
| cpu/flash | 1 | 1 |  | 250 us |

### Diffs

| diff | verdict | why | max abs | ulp | sigma | max rel | at \|expected\| |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
| stories/S4 | pass | the difference is explained by what both declare | 6.104e-05 | 2 | 4.25 | 1.579 | 1.9e-07 |

### Over suites

| suite | kernel | dtype | statistic | verdict | cases | value | limit |
| --- | --- | --- | --- | --- | ---: | ---: | ---: |
| smoke | cpu/flash | bf16 | shrink | pass | 12 | 1.25 | 3.5 |

)");
}

TEST(RenderMarkdown, Headlines) {
  SampleRun sample;
  EXPECT_THAT(render_markdown(sample.report(4)), StartsWith("## plumbline: nothing measured in 0 cases\n"));
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)), StartsWith("## plumbline: no failure in 1 case\n"));
  sample.scores = {{"smoke", "cpu/flash", "bf16", "shrink", 12, 4.25, 3.5, "fail"}};
  EXPECT_THAT(render_markdown(sample.report(1)), StartsWith("## plumbline: 1 failure in 1 case\n"));
}

TEST(RenderMarkdown, TextFromKernelsCannotBreakThePage) {
  SampleRun sample;
  sample.outcomes = {crashed_outcome()};
  sample.outcomes[0].judgement.findings[0].text = "```</details><script>";
  sample.outcomes[0].outcome.case_id = "a<b>|c";
  const std::string page = render_markdown(sample.report(1));
  EXPECT_THAT(page, HasSubstr("<summary>crashed: a&lt;b&gt;|c</summary>"));
  EXPECT_THAT(page, HasSubstr("\n````text\n"));
  EXPECT_THAT(page, HasSubstr("\n````\n\n</details>"));
}

TEST(RenderMarkdown, StaysBelowWhatASummaryPageTakes) {
  SampleRun sample;
  sample.outcomes.assign(1000, failing_outcome());
  const std::string page = render_markdown(sample.report(1));
  EXPECT_LT(page.size(), 500'000U);
  EXPECT_THAT(page, HasSubstr("950 more are not shown.\n"));
}

TEST(RenderMarkdown, ChangedKernels) {
  SampleRun sample;
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("### Changed")));
  sample.outcomes[0].judgement.verdict = Verdict::changed;
  EXPECT_THAT(render_markdown(sample.report(0)), HasSubstr("### Changed\n\n- other bits in 1 case of cpu/flash\n"));
}

TEST(RenderMarkdown, ExpectedFailures) {
  SampleRun sample;
  sample.outcomes = {expected_outcome(), passing_outcome(), expected_outcome()};
  const std::string page = render_markdown(sample.report(0));
  EXPECT_THAT(page, StartsWith("## plumbline: no failure in 3 cases\n\n1 pass, 2 expected_failure.\n"));
  EXPECT_THAT(page, HasSubstr("### Expected failures\n\n| cases | expected until | issue | reason |\n| --- | --- | --- | --- |\n"
                              "| 2 | 2027-01-31 | https://example.com/7 | rounds \\| twice |\n"));
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("### Expected")));
}

}  // namespace
}  // namespace plumbline
