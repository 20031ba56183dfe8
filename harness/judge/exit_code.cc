// Decides the exit code of a run: nothing measured, then failures, then what is still open.
#include "harness/judge/exit_code.h"

#include <algorithm>

#include "harness/judge/judge.h"

namespace plumbline {

int exit_code(const std::vector<Verdict>& verdicts_of_run, const std::vector<SuiteScore>& scores,
              bool measured, const std::vector<RunChange>& changes, bool suspect) {
  if (!measured) return exit_nothing;
  const bool score_failed = std::any_of(
      scores.begin(), scores.end(), [](const SuiteScore& score) { return score.status == "fail"; });
  const bool change_failed = std::any_of(changes.begin(), changes.end(),
                                         [](const RunChange& c) { return c.change.is_failure; });
  if (score_failed || change_failed ||
      std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(), is_failure))
    return exit_failure;
  return suspect || std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(), is_open)
             ? exit_ambiguous
             : exit_fine;
}

int exit_code(const std::vector<Verdict>& verdicts_of_run, const std::vector<SuiteScore>& scores) {
  const bool measured =
      std::any_of(verdicts_of_run.begin(), verdicts_of_run.end(),
                  [](Verdict verdict) { return standing_of(verdict) != Standing::unmeasured; });
  return exit_code(verdicts_of_run, scores, measured, {});
}

}  // namespace plumbline
