// What a night comes to: its runs over all machines, its alerts in groups, and its exit code.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/exit_code.h"
#include "harness/judge/judge.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline {

// A case of the night that fails or is open.
struct Alert {
  std::string suite, case_id, run_id, machine;
  Judgement judgement;
  bool has_past = false;  // it was accepted before, in a run of `since`
};
// Alerts that are likely one: the same kernel, dtype, architecture, verdict and range of commits.
struct AlertGroup {
  std::string kernel, dtype, arch;
  Verdict verdict = Verdict::fail;
  std::string since, commit;  // first of them: the last accepted run's; "" = unknown
  std::vector<Alert> alerts;  // the lead first: the one farthest beyond its limit
};
// Groups with many alerts first. `outcomes` of one run; `since` of each: the commit of the run of
// its baseline, "" without one.
struct AlertInput {
  const RunInfo* run = nullptr;
  const StoredOutcome* stored = nullptr;
  std::string machine;
  std::string since;
  bool has_past = false;
};
std::vector<AlertGroup> group_alerts(const std::vector<AlertInput>& inputs);

struct NightSummary {
  StoredNight night;
  std::vector<RunState> states;  // of each run
  IncompleteRuns incomplete;
  std::vector<NightTimes> times;
  std::vector<AlertGroup> groups;
  std::vector<RunChange> failing_changes;
  std::vector<std::pair<std::string, SuiteScore>> failing_scores;  // run id
  std::size_t cases = 0, timed = 0;
  double expected_false_alerts = 0;
  // Over the last 30 nights, this one included: cases measured twice, and false candidates.
  int second_pairs = 0, second_alarms = 0;
  RunState state = RunState::nothing_measured;  // the worst of its runs
};
Result<NightSummary> summarise_night(Store& store, const std::string& night_id);

}  // namespace plumbline
