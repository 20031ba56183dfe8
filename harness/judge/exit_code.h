// The exit codes of plumbline, and the one that verdicts make together (docs/judging.md, "Verdicts
// and exit codes").
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "harness/base/enumeration.h"
#include "harness/judge/verdict.h"

namespace plumbline {

struct RunChange;
struct SuiteScore;

// A command itself adds usage, infrastructure and not_comparable.
inline constexpr int exit_fine = 0, exit_failure = 1, exit_usage = 2, exit_infrastructure = 3,
                     exit_nothing = 4, exit_ambiguous = 5, exit_not_comparable = 6;

// The state of a run or a night, in the order of precedence: the first that applies is the state.
// Every report, colour, exit code, view and page asks for it.
enum class RunState {
  incomplete,        // exit 3: a run was stopped, or could not be stored
  nothing_measured,  // exit 4: no kernel took a case
  not_fine,          // exit 1: something fails
  open,              // exit 5: nothing fails, and something is not settled
  fine,              // exit 0
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<RunState>{
    "incomplete", "nothing measured", "not fine", "open", "fine"};
int exit_code_of(RunState state);
// The state of a run that ended with this exit code; incomplete for a code that no run ends with.
RunState state_of_exit(int exit_code);
inline RunState worse_of(RunState a, RunState b) { return a < b ? a : b; }

// What the state of a run follows from. Not owned.
struct RunEvidence {
  const std::vector<Verdict>& verdicts;
  const std::vector<SuiteScore>& scores;
  const std::vector<RunChange>& changes;
  bool finished = false;  // the run measured and stored all that it planned
  bool measured = false;  // some kernel was called and did not refuse
  bool suspect = false;   // times were set aside, because all of them moved
};
RunState run_state(const RunEvidence& evidence);
// The state of a finished run of these verdicts: nothing was measured if all are `unsupported`.
RunState run_state(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores);

}  // namespace plumbline
