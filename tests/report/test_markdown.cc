// The Markdown of a run is short if all is well, bounded in size, and safe for any text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/judge/verdict.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Returns "AAAA", "AAAB", …, because causes that differ only in numbers form one group.
std::string letters(int i) {
  std::string text(4, 'A');
  for (auto at = text.rbegin(); at != text.rend(); ++at, i /= 26)
    *at = static_cast<char>('A' + i % 26);
  return text;
}

std::size_t lines(const std::string& page) {
  return static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n'));
}

TEST(RenderMarkdown, MixedRun) {
  const SampleRun sample = mixed_run();
  const std::string failure =
      render_case(sample.outcomes[1], "plumbline run", {.width = 0, .verbose = true});
  EXPECT_EQ(
      render_markdown(sample.report(1)),
      R"(## plumbline: Not fine: 1 failure in 3 cases, 1 diff and 1 suite statistic. mutants/bf16\_accumulator in 1 case: the sums are kept in bf16. 1 case was not measured.

cases: 1 pass, 1 unsupported, 1 fail; diffs: 1 pass; suite statistics: 1 pass.

Run `7d3f0a52-0000-4000-8000-000000000001` of smoke, stories on Some CPU (x86-64-v3), commit `abc1234`, exit code 1.

### What fails

<details><summary>fail: mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left: the sums are kept in bf16</summary>

```text
)" + failure +
          R"(```

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

)");
}

TEST(RenderMarkdown, TenLinesIfAllIsWell) {
  SampleRun sample = mixed_run();
  sample.outcomes.erase(sample.outcomes.begin() + 1);
  sample.outcomes.insert(sample.outcomes.end(), 500, passing_outcome());
  sample.outcomes.back().judgement.verdict = Verdict::changed;
  sample.outcomes.push_back(expected_outcome());
  sample.scores.assign(40, sample.scores.front());
  const std::string page = render_markdown(sample.report(0));
  EXPECT_LE(lines(page), 10U) << page;
  EXPECT_THAT(page, StartsWith("## plumbline: Fine: no failure in 503 cases, 1 diff and 40 suite "
                               "statistics. 1 case was not measured.\n"));
}

TEST(RenderMarkdown, Headlines) {
  SampleRun sample;
  EXPECT_THAT(render_markdown(sample.report(4)),
              StartsWith("## plumbline: Nothing measured: there was no case.\n"));
  sample.outcomes = {unsupported_outcome()};
  EXPECT_THAT(render_markdown(sample.report(4)),
              StartsWith("## plumbline: Nothing measured: no result of 1 case.\n"));
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)),
              StartsWith("## plumbline: Fine: no failure in 1 case.\n"));
  sample.scores = {{"smoke", "cpu/flash", "bf16", "shrink", 12, 4.25, 3.5, "fail"}};
  EXPECT_THAT(render_markdown(sample.report(1)),
              StartsWith("## plumbline: Not fine: 1 failure in 1 case and 1 suite statistic. "
                         "cpu/flash: shrink over suite smoke."));
}

TEST(RenderMarkdown, KernelTextIsEscaped) {
  SampleRun sample;
  sample.outcomes = {crashed_outcome()};
  sample.outcomes[0].outcome.reason = "```</details><script>";
  sample.outcomes[0].judgement.findings[0].text = "```</details><script>";
  sample.outcomes[0].outcome.case_id = "a<b>|c";
  const std::string page = render_markdown(sample.report(1));
  EXPECT_THAT(
      page,
      HasSubstr("<summary>crashed: a&lt;b&gt;|c: ```&lt;/details&gt;&lt;script&gt;</summary>"));
  EXPECT_THAT(page, HasSubstr("\n````text\n"));
  EXPECT_THAT(page, HasSubstr("\n````\n\n</details>"));
}

// GitHub limits comments to 65,536 characters.
TEST(RenderMarkdown, FiveThousandFailuresFitAComment) {
  SampleRun one_cause;
  one_cause.outcomes.assign(5000, failing_outcome());
  const std::string grouped = render_markdown(one_cause.report(1));
  EXPECT_LT(grouped.size(), 60'000U);
  EXPECT_THAT(
      grouped,
      HasSubstr(
          "<summary>fail: 5000 of mutants/bf16_accumulator: the sums are kept in bf16</summary>"));
  EXPECT_THAT(grouped, HasSubstr("and 4994 more\n"));

  SampleRun all_differ;
  for (int i = 0; i < 5000; ++i) {
    all_differ.outcomes.push_back(failing_outcome());
    all_differ.outcomes.back().outcome.cause =
        fmt::format("cause {} of a kernel that is wrong in many ways", letters(i));
    all_differ.outcomes.back().outcome.c.kernel = fmt::format("mine/kernel_{}", i);
  }
  const std::string page = render_markdown(all_differ.report(1));
  EXPECT_LT(page.size(), 60'000U);
  EXPECT_THAT(page, StartsWith("## plumbline: Not fine: 5000 failures in 5000 cases. "
                               "mine/kernel\\_0 in 1 case: cause AAAA of "));
  std::size_t shown = 0;
  for (std::size_t at = page.find("of a kernel that is wrong"); at != std::string::npos;
       at = page.find("of a kernel that is wrong", at + 1)) {
    const std::size_t line = page.rfind('\n', at) + 1;
    shown += page.compare(line, 2, "- ") == 0 || page.compare(line, 9, "<details>") == 0 ? 1 : 0;
  }
  EXPECT_THAT(page, HasSubstr(fmt::format("{} more failures, of {} more causes, are left out.",
                                          5000 - shown, 5000 - shown)));
}

TEST(RenderMarkdown, ChangedKernels) {
  SampleRun sample;
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("Changed")));
  sample.outcomes[0].judgement.verdict = Verdict::changed;
  EXPECT_THAT(render_markdown(sample.report(0)),
              HasSubstr("Changed: other bits in 1 case of cpu/flash.\n"));
}

TEST(RenderMarkdown, ExpectedFailures) {
  SampleRun sample;
  sample.outcomes = {expected_outcome(), passing_outcome(), expected_outcome()};
  const std::string page = render_markdown(sample.report(0));
  EXPECT_THAT(page, StartsWith("## plumbline: Fine: no failure in 3 cases.\n\ncases: 1 pass, 2 "
                               "expected_failure.\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "Expected failures: 2 until 2027-01-31 (https://example.com/7: rounds \\| twice).\n"));
  sample.outcomes = {passing_outcome()};
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("Expected failures")));
}

}  // namespace
}  // namespace plumbline
