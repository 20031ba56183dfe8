// The outcomes of one case over runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// Ids of cases that match a glob, in order.
Result<std::vector<std::string>> case_ids_matching(Store& store, const std::string& glob);

// Key of a series: one case has a history for each.
struct SeriesOfCase {
  std::string provider_options, machine_class;
};
Result<std::vector<SeriesOfCase>> series_of_case(Store& store, const std::string& case_id);

// Columns of history_of_series.
enum class HistoryColumn : std::uint8_t {
  case_id,
  started_at,
  run_id,
  verdict,
  rms,
  percent_of_limit,
  time_ns,     // NULL if the case was not timed
  time_ratio,  // likewise
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
// At most `limit` rows, newest first. A case may stand in several suites of a run: timed rows come
// first.
Result<Store::Table> history_of_series(Store& store, const std::string& case_id,
                                       const SeriesOfCase& series, int limit);

// An outcome of a case, for `plumbline bisect`.
struct CaseNight {
  std::string run_id, started_at, commit, verdict, findings;  // findings: JSON
  bool accepted = false, is_failure = false;
  double time_ratio = 0, rms = 0;  // 0: not measured
};
// One of each run, newest first, at most a year of nights, in the series of the newest outcome.
Result<std::vector<CaseNight>> nights_of_case(Store& store, const std::string& case_id);

// Milliseconds of the newest outcome of each case in the last three days of the file, for shards.
// Each in the newest run that measured it.
Result<std::map<std::string, double, std::less<>>> recorded_milliseconds(Store& store);

}  // namespace plumbline
