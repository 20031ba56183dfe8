// Decides the state of a run and maps it to an exit code.
#include "harness/judge/exit_code.h"

#include <algorithm>

#include "harness/judge/judge.h"

namespace plumbline {

int exit_code_of(RunState state) {
  switch (state) {
    case RunState::incomplete:
      return exit_infrastructure;
    case RunState::nothing_measured:
      return exit_nothing;
    case RunState::not_fine:
      return exit_failure;
    case RunState::open:
      return exit_ambiguous;
    case RunState::fine:
      return exit_fine;
  }
  __builtin_unreachable();
}

RunState state_of_exit(int exit_code) {
  for (const RunState state : all<RunState>()) {
    if (exit_code_of(state) == exit_code) return state;
  }
  return RunState::incomplete;
}

RunState run_state(const RunEvidence& evidence) {
  if (!evidence.finished) return RunState::incomplete;
  if (!evidence.measured) return RunState::nothing_measured;
  const auto any = [&](Standing standing) {
    return std::any_of(evidence.verdicts.begin(), evidence.verdicts.end(),
                       [&](Verdict verdict) { return standing_of(verdict) == standing; }) ||
           std::any_of(evidence.changes.begin(), evidence.changes.end(),
                       [&](const RunChange& c) { return c.change.standing == standing; });
  };
  const bool score_failed =
      std::any_of(evidence.scores.begin(), evidence.scores.end(),
                  [](const SuiteScore& score) { return score.status == "fail"; });
  if (score_failed || any(Standing::failure)) return RunState::not_fine;
  return evidence.suspect || any(Standing::open) ? RunState::open : RunState::fine;
}

RunState run_state(const std::vector<Verdict>& verdicts, const std::vector<SuiteScore>& scores) {
  const bool measured = std::any_of(verdicts.begin(), verdicts.end(), [](Verdict verdict) {
    return standing_of(verdict) != Standing::unmeasured;
  });
  return run_state({verdicts, scores, {}, true, measured, false});
}

}  // namespace plumbline
