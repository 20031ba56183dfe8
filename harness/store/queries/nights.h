// Queries for the nights before a run, their events and the decisions about their runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// The number of a run's outcomes with one verdict.
struct NightVerdicts {
  std::string night, run_id, started_at, commit;  // night: its id, or the start of the run's id
  std::optional<int> exit_code;                   // nullopt: the run did not finish
  bool suspect = false;
  double common_shift = 0;  // relative, 0.01 = 1 %; the largest of the run's machine classes
  std::string why;          // why the run is suspect; one sentence
  std::string verdict;      // "" if the run has no outcome
  std::size_t count = 0;
};
// Returns the newest `limit` nights up to `newest`, oldest first. For a run outside of nights these
// are the runs with its purpose, selection and machine class.
Result<std::vector<NightVerdicts>> verdicts_of_nights(Store& store, const RunInfo& newest,
                                                      int limit);

// Returns names of the GPUs that the run's cases ran on, with architecture and memory, sorted. GPUs
// without a name are left out.
Result<std::vector<std::string>> gpus_of_run(Store& store, const std::string& run_id);

struct EventOfNight {
  std::string night, kind, happened_at, who, detail;
};
Result<std::vector<EventOfNight>> events_of_nights(Store& store,
                                                   const std::vector<std::string>& nights);

struct DecisionAboutRun {
  std::string decision, run_id, cases, who, reason, at;  // decision: accept, pin, acknowledge
};
Result<std::vector<DecisionAboutRun>> decisions_about_runs(Store& store,
                                                           const std::vector<std::string>& runs);

// An outcome whose past is wanted. Its points carry the same `place`.
struct WantedHistory {
  std::size_t place = 0;
  std::string run_id, suite, case_id;
};
struct PointOfHistory {
  std::size_t place = 0;
  std::string run_id, verdict;
  std::optional<double> percent_of_limit, rms, time_ratio, gate_level, gate_limit;
  bool is_set_aside = false;
};
// Returns the points of each outcome's series from `first_run` on, sorted by `place` and run.
Result<std::vector<PointOfHistory>> points_since(Store& store,
                                                 const std::vector<WantedHistory>& wanted,
                                                 const std::string& first_run);

// Return tables for `plumbline baseline list` and `plumbline night list`, newest first.
Result<Store::Table> list_of_decisions(Store& store);
Result<Store::Table> list_of_nights(Store& store, int limit);

}  // namespace plumbline
