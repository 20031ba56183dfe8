// The history of one case over runs: its errors, its times and their level.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// One run's measurement of the case.
struct HistoryPoint {
  std::string started_at, run_id, night_id, commit;  // night_id, commit: "" if unknown
  Verdict verdict = Verdict::pass;
  std::optional<double> rms;               // in units of sigma
  std::optional<double> percent_of_limit;  // for the statistic nearest to its limit
  std::optional<double> time_ns, time_ratio;
  bool is_set_aside = false;   // the time is excluded: the night or the case was disturbed
  bool is_incomplete = false;  // the run did not finish
};

struct CaseHistory {
  std::string case_id, provider_options, machine;  // machine: the class in words
  std::vector<HistoryPoint> points;                // oldest first; at least one
  // The current level of `time_ratio`, and the value above which the case counts as slower. Absent
  // if the case is untimed or has too few nights.
  std::optional<double> level, limit;
  // Indices of the points at which the level of the time changes, ascending.
  std::vector<std::size_t> changes;
};

// The points between two changes of level. `level` is the median of their time ratios.
struct TimeStretch {
  std::size_t begin = 0, end = 0;  // indices of points
  double level = 0;
};
std::vector<TimeStretch> time_stretches(const CaseHistory& history);

// Returns one character per value, blank if there is none. The scale covers all values and at least
// a tenth of their median, so that noise looks flat. `unicode`: block elements instead of ASCII.
std::string sparkline(const std::vector<std::optional<double>>& values, bool unicode);

// Returns the case id, sparklines of error and time with their newest values, the changes of level,
// and a table of the newest `rows` runs, newest first.
std::string render_history(const CaseHistory& history, std::size_t rows, const Style& style);

}  // namespace plumbline
