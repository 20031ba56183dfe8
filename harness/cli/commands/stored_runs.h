// What several stored runs hold together, for commands that show them.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/judge/judge.h"
#include "harness/report/report.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline::cli {

// Of a case that several of them measured on one kind of host the newest outcome stands.
struct StoredRuns {
  RunInfo newest;
  std::vector<RunInfo> runs;  // in the order in which they were named
  std::vector<StoredOutcome> outcomes;
  std::vector<std::size_t> run_of;  // of each outcome, a place in `runs`
  std::vector<StoredDiff> diffs;
  std::vector<SuiteScore> scores;
  std::vector<StoredInvariance> invariances;
  std::vector<RunChange> changes;
  std::vector<NightTimes> night_times;
  IncompleteRuns incomplete;
  int exit_code() const;
  // What every renderer takes. `this` stays where it is while the report is used.
  RunReport report() const;
};
// Errors end the command with this exit code.
StoredRuns read_runs(Store& store, const RunSelection& selection,
                     int exit_code = exit_infrastructure);

}  // namespace plumbline::cli
