// Judges stored runs together, against the past of their database: one run, or the shards of one.
// `plumbline judge` and `plumbline merge --judge` do.
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

// The runs, with all that was concluded from them.
struct JudgedRuns {
  std::vector<RunInfo> runs;
  std::vector<StoredOutcome> outcomes;
  std::vector<std::string> run_of;  // run id of each outcome
  std::vector<StoredDiff> diffs;
  std::vector<StoredInvariance> invariances;
  std::vector<SuiteScore> scores;
  std::vector<RunChange> changes;  // of all runs
  std::vector<NightTimes> night_times;
  bool complete = true;  // every run measured all of its part, and the parts make the whole
  int exit_code = 0;
};

// Judges the runs of these ids and stores what comes of it, in the database. Nobody can be asked
// here: a regression is one where fresh processes have shown it again, those that the run itself
// asked or those of runs of purpose "confirm" in the database; else it is `unconfirmed`. What was
// found where its past was at hand does not become fine where it is not. `today`: the day on which
// expected failures are looked at; "" = the day on which each run was begun.
// Errors: a run that is not there or was interrupted; shards of different partitions.
Result<JudgedRuns> judge_runs(Store& store, const std::vector<std::string>& run_ids,
                              const ReviewedText& text, const std::string& today);

// The cases that fresh processes have to be asked about, in the order of the outcomes.
std::vector<OpenCase> open_cases_of(const JudgedRuns& judged);

// Runs that are judged together.
struct Whole {
  std::vector<std::string> run_ids;  // finished ones: the shards in their order, or a single run
  std::vector<std::string> missing;  // shards that no finished run measured, "3/20"
};
// The wholes to which these runs belong, and those whose cases they measured again (runs of purpose
// "confirm"). The other shards of a night may stand in the database already. Errors: shards of a
// night that were divided differently, so that no whole comes of them.
Result<std::vector<Whole>> wholes_of(Store& store, const std::vector<RunInfo>& runs);

}  // namespace plumbline
