// The exit codes of plumbline, and the one that verdicts make together (docs/judging.md, "Verdicts
// and exit codes").
#pragma once

#include <vector>

#include "harness/judge/verdict.h"

namespace plumbline {

struct RunChange;
struct SuiteScore;

// A command itself adds usage, infrastructure and not_comparable.
inline constexpr int exit_fine = 0, exit_failure = 1, exit_usage = 2, exit_infrastructure = 3,
                     exit_nothing = 4, exit_ambiguous = 5, exit_not_comparable = 6;

// `measured`: some kernel was called and did not refuse. Where none did, nothing was measured,
// whatever the support table or a change says of that. `suspect`: times were set aside since all of
// them moved, and nothing is known of them.
int exit_code(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores,
              bool measured, const std::vector<RunChange>& changes, bool suspect = false);
// Nothing was measured where there is no verdict but `unsupported`.
int exit_code(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores);

}  // namespace plumbline
