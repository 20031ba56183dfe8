// The joint contents of several stored runs, for commands that show them.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/judge/judge.h"
#include "harness/report/report.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline::cli {

// If several runs measured a case on one class of host, only the newest outcome is kept.
struct StoredRuns {
  RunInfo newest;
  std::vector<RunInfo> runs;  // in the order of the selection
  std::vector<StoredOutcome> outcomes;
  std::vector<std::size_t> run_of;  // for each outcome, its index in `runs`
  std::vector<StoredDiff> diffs;
  std::vector<SuiteScore> scores;
  std::vector<StoredInvariance> invariances;
  std::vector<RunChange> changes;
  std::vector<NightTimes> night_times;
  IncompleteRuns incomplete;
  int exit_code() const;
  // Returns the input of every renderer, which points into this object.
  RunReport report() const;
};
// Errors end the command with `exit_code`.
StoredRuns read_runs(Store& store, const RunSelection& selection,
                     int exit_code = exit_infrastructure);

}  // namespace plumbline::cli
