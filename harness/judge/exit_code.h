// The exit codes of plumbline, and the state of a run that follows from its verdicts
// (docs/judging.md, "Verdicts and exit codes").
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "harness/base/enumeration.h"
#include "harness/judge/verdict.h"

namespace plumbline {

struct RunChange;
struct SuiteScore;

// Only commands return exit_usage and exit_not_comparable; no state of a run leads to them.
inline constexpr int exit_fine = 0, exit_failure = 1, exit_usage = 2, exit_infrastructure = 3,
                     exit_nothing = 4, exit_ambiguous = 5, exit_not_comparable = 6;

// The state of a run or a night, in order of precedence: the first that applies. Every report,
// colour, exit code, view and page uses it.
enum class RunState {
  incomplete,        // exit 3: a run was stopped, or could not be stored
  nothing_measured,  // exit 4: no kernel accepted a case
  not_fine,          // exit 1: something failed
  open,              // exit 5: nothing failed, but something is undecided
  fine,              // exit 0
};
template <>
inline constexpr std::array<std::string_view, 5> names_of<RunState>{
    "incomplete", "nothing measured", "not fine", "open", "fine"};
int exit_code_of(RunState state);
// Returns the state of a run that ended with this exit code, or incomplete if no run ends with it.
RunState state_of_exit(int exit_code);
inline RunState worse_of(RunState a, RunState b) { return a < b ? a : b; }

// Everything that determines the state of a run. Not owned.
struct RunEvidence {
  const std::vector<Verdict>& verdicts;
  const std::vector<SuiteScore>& scores;
  const std::vector<RunChange>& changes;
  bool finished = false;  // the run measured and stored its whole plan
  bool measured = false;  // some kernel was called and did not refuse
  // all times moved and were excluded, or the clock was earlier than the newest run
  bool suspect = false;
};
RunState run_state(const RunEvidence& evidence);
// Returns the state of a finished run with these verdicts. If all are `unsupported`, nothing was
// measured.
RunState run_state(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores);

}  // namespace plumbline
