// A night's result: its runs on all machines, its alerts in groups and its state.
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
  bool has_past = false;  // the case has a baseline
};
// Alerts that probably have one cause: they share kernel, dtype, architecture, verdict and range of
// commits.
struct AlertGroup {
  std::string kernel, dtype, arch;
  Verdict verdict = Verdict::fail;
  std::string since, commit;  // `since` is the commit of the baseline's run; "" = unknown
  std::vector<Alert> alerts;  // worst case first
};
// An outcome that needs attention. `since`: the commit of its baseline's run, "" without a
// baseline.
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
  std::vector<RunState> states;  // one for each run
  IncompleteRuns incomplete;
  std::vector<NightTimes> times;
  std::vector<AlertGroup> groups;
  std::vector<RunChange> failing_changes;
  std::vector<std::pair<std::string, SuiteScore>> failing_scores;  // run id, score
  std::size_t cases = 0, timed = 0;
  double expected_false_alerts = 0;
  // Over the last 30 nights including this one: cases measured twice, and false candidates among
  // them.
  int second_pairs = 0, second_alarms = 0;
  RunState state = RunState::nothing_measured;  // the worst of `states`
};
Result<NightSummary> summarise_night(Store& store, const std::string& night_id);

}  // namespace plumbline
