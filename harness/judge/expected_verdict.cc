// Applies an expected failure to a verdict. docs/judging.md, "Expected failures".
#include <fmt/format.h>

#include "harness/judge/judgement_builder.h"
#include "harness/judge/verdict.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {

Judgement judge_expected(Judgement judgement, const ExpectedFailure& expected,
                         std::string_view today) {
  if (expected.expires <= today) {  // ISO dates sort as text
    judgement.notes.push_back(
        fmt::format("the expected failure ({}) expired on {}: fix it or renew the entry, issue {}",
                    expected.reason, expected.expires, expected.issue));
    return judgement;
  }
  if (is_open(judgement.verdict)) return judgement;
  if (is_failure(judgement.verdict)) {
    judgement.notes.push_back(
        fmt::format("expected until {}: {}, issue {}; the verdict would be {}", expected.expires,
                    expected.reason, expected.issue, name(judgement.verdict)));
    judgement.verdict = Verdict::expected_failure;
    return judgement;
  }
  const bool refused = judgement.verdict == Verdict::unsupported;
  judgement.findings.push_back(
      {FindingKind::expected_failure, 0, 0,
       fmt::format(
           "{}, though a failure is expected until {}: remove the [[expect_failure]]{} and update "
           "issue {}",
           refused ? "is refused instead of failing" : "does not fail", expected.expires,
           expected.file.empty() ? "" : fmt::format(" at {}:{}", expected.file, expected.line),
           expected.issue)});
  judgement.verdict = Verdict::unexpected_pass;
  return judgement;
}

}  // namespace plumbline
