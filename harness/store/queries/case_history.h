// Queries for the outcomes of one case over runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// Returns the sorted ids of cases that match a glob.
Result<std::vector<std::string>> case_ids_matching(Store& store, const std::string& glob);

// Key of a series of one case. Each series has a history of its own.
struct SeriesOfCase {
  std::string provider_options, machine_class;
};
Result<std::vector<SeriesOfCase>> series_of_case(Store& store, const std::string& case_id);

// The columns of history_of_series.
enum class HistoryColumn : std::uint8_t {
  case_id,
  started_at,
  run_id,
  verdict,
  rms,
  percent_of_limit,
  time_ns,     // NULL if the case was not timed
  time_ratio,  // NULL if the case was not timed
  output_digest,
  code_commit,
  provider_options,
  machine,
  night_id,
  gate_level,
  gate_limit,
  run_order,
  suite,
  gate_finding,
  finished,
};
inline std::size_t at(HistoryColumn column) { return static_cast<std::size_t>(column); }
// Returns at most `limit` rows, newest first. If several suites of a run have the case, timed rows
// come first.
Result<Store::Table> history_of_series(Store& store, const std::string& case_id,
                                       const SeriesOfCase& series, int limit);

// One outcome in a case's history, for `plumbline bisect`.
struct CaseNight {
  std::string run_id, started_at, commit, verdict, findings;  // findings: as JSON
  bool accepted = false, is_failure = false;
  double time_ratio = 0, rms = 0;  // 0: not measured
};
// Returns one outcome per run, newest first, at most 366, in the series of the newest outcome.
Result<std::vector<CaseNight>> nights_of_case(Store& store, const std::string& case_id);

// Returns each case's wall time in milliseconds, for sharding. Uses the newest finished run with
// the case, started at most three days before the database's newest run.
Result<std::map<std::string, double, std::less<>>> recorded_milliseconds(Store& store);

}  // namespace plumbline
