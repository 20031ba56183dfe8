// A run's result: its state, changes and exit code. Used by the commands that measure, judge again
// and show runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/store/night.h"
#include "harness/store/store.h"

namespace plumbline {

// Everything that determines a run's exit code. Not owned.
struct RunParts {
  const std::vector<StoredOutcome>& outcomes;
  const std::vector<StoredDiff>& diffs;
  const std::vector<StoredInvariance>& invariances;
  const std::vector<SuiteScore>& scores;
  const std::vector<RunChange>& changes;
  const std::vector<NightTimes>& night_times;
  bool finished;      // the run measured and stored its whole plan
  bool clock_behind;  // the newest stored run is later than the clock; dates are wrong
};
RunState state_of(const RunParts& parts);

// Merges what two databases know about one case: the later baseline and pin, and the times of both.
// A run that is in both counts once.
Past merge_pasts(Past own, const Past& other);

// Runs that are judged together: a single run, or the shards of one. Their changes are those of
// each case, and the cases that vanished from their suites. A vanished case is open in a nightly
// run, otherwise it is only reported. Vanished cases are searched in each of `stores`, only if
// `complete`, and never for a single shard.
struct ChangesInput {
  const std::vector<const RunInfo*>& runs;
  const std::vector<StoredOutcome>& outcomes;  // of all runs
  const std::vector<std::string>& run_of;      // the run id of each outcome
  const std::vector<Store*>& stores;
  bool complete = true;
};
// Returns one list for each run, in the order of `runs`.
Result<std::vector<std::vector<RunChange>>> changes_of(const ChangesInput& input);

}  // namespace plumbline
