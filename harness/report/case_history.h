// One case over runs: what it measured each time, and at which level its time is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// What one run measured. Times are ratios to the sentinel beside the time of a call.
struct HistoryPoint {
  std::string started_at, run_id, night_id, commit;  // night and commit "" where unknown
  Verdict verdict = Verdict::pass;
  std::optional<double> rms;               // of the error, in units of sigma
  std::optional<double> percent_of_limit;  // of the statistic nearest to its limit
  std::optional<double> time_ns, time_ratio;
  bool is_set_aside = false;   // the time is not judged: the night or the case was disturbed
  bool is_incomplete = false;  // the run did not finish
};

struct CaseHistory {
  std::string case_id, provider_options, machine;  // the class in words
  std::vector<HistoryPoint> points;                // the oldest first; at least one
  // Of `time_ratio`: its level now, and from which value on it is found to be slower. Absent where
  // it was never timed, or is known for too few nights.
  std::optional<double> level, limit;
  // Ascending indices of `points` from which on the time has another level.
  std::vector<std::size_t> changes;
};

// The level of the time of each stretch between changes: the median of its points.
struct TimeStretch {
  std::size_t begin = 0, end = 0;  // of points
  double level = 0;
};
std::vector<TimeStretch> time_stretches(const CaseHistory& history);

// A column each, low to high on the scale of all values, which spans at least a tenth of the
// median, so that noise looks flat. Blank where there is no value. `unicode`: block elements;
// ASCII else.
std::string sparkline(const std::vector<std::optional<double>>& values, bool unicode);

// The case id, a sparkline of error and time with what they are now, changes of the level, and a
// table of the newest `rows` runs, newest first.
std::string render_history(const CaseHistory& history, std::size_t rows, const Style& style);

}  // namespace plumbline
