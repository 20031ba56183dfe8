// Judges a stored run, or all shards of one together, against the history in their database. Used
// by `plumbline judge` and `plumbline merge --judge`.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/store/night.h"
#include "harness/store/store.h"
#include "harness/store/stored.h"

namespace plumbline {

struct OpenCase;
struct ReviewedText;

// The runs and their results.
struct JudgedRuns {
  std::vector<RunInfo> runs;
  std::vector<StoredOutcome> outcomes;
  std::vector<std::string> run_of;  // the run id of each outcome
  std::vector<StoredDiff> diffs;
  std::vector<StoredInvariance> invariances;
  std::vector<SuiteScore> scores;
  std::vector<RunChange> changes;  // of all runs
  std::vector<NightTimes> night_times;
  bool complete = true;  // every run is complete, and the runs are a complete shard set
  int exit_code = 0;
};

// Judges the runs and stores the results in the database. Nothing is measured. A regression counts
// only if fresh processes have reproduced it, in the run itself or in runs with purpose "confirm".
// Otherwise it is `unconfirmed`. A regression stays if the database lacks the history it was found
// against. `today`: the date that decides if expected failures have expired; "" = the start date of
// each run.
// Errors: a run is missing or was interrupted; shards have different partitions.
Result<JudgedRuns> judge_runs(Store& store, const std::vector<std::string>& run_ids,
                              const ReviewedText& text, const std::string& today);

// Returns the unconfirmed cases, which fresh processes must measure again, in the order of the
// outcomes.
std::vector<OpenCase> open_cases_of(const JudgedRuns& judged);

// Runs that are judged together.
struct ShardSet {
  std::vector<std::string> run_ids;  // finished runs: the shards in order, or a single run
  std::vector<std::string> missing;  // shards without a finished run, "3/20"
};
// Returns the shard sets of the given runs. For a run with purpose "confirm" these are the sets of
// the runs whose cases it measured again. Other shards of the night are found in the database.
// Errors: the shards of a night were divided differently, so no complete set exists.
Result<std::vector<ShardSet>> group_shards(Store& store, const std::vector<RunInfo>& runs);

}  // namespace plumbline
