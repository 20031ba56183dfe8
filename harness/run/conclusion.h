// What a run comes to: its changes and its exit code. The commands that measure, judge again and
// show use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/store/night.h"
#include "harness/store/store.h"

namespace plumbline {

// Everything that a run's exit code follows from. Not owned.
struct RunParts {
  const std::vector<StoredOutcome>& outcomes;
  const std::vector<StoredDiff>& diffs;
  const std::vector<StoredInvariance>& invariances;
  const std::vector<SuiteScore>& scores;
  const std::vector<RunChange>& changes;
  const std::vector<NightTimes>& night_times;
  bool finished;      // the run measured and stored all that it planned
  bool clock_behind;  // the clock was behind the newest run, so that the past may be another
};
RunState state_of(const RunParts& parts);

// The pasts of one case in two databases, as one: the later baseline and pin, the times of both. A
// run that both hold counts once.
Past joined(Past own, const Past& other);

// What is different about the cases of `runs`, which are judged together: a run, or the shards of
// one. Its cases' own changes, and the cases that their suites held before and that are missing
// now: lost coverage of a night (open), and told elsewhere, where suites are edited. Looked for in
// each of the databases; vanished cases only where `complete`, and not for a shard by itself.
struct ChangesInput {
  const std::vector<const RunInfo*>& runs;
  const std::vector<StoredOutcome>& outcomes;  // of all runs
  const std::vector<std::string>& run_of;      // run id of each outcome
  const std::vector<Store*>& stores;
  bool complete = true;
};
// One list a run, in the order of `runs`.
Result<std::vector<std::vector<RunChange>>> changes_of(const ChangesInput& input);

}  // namespace plumbline
