// Replays the gate over a third-party series: which points would have been alerts?
//
// No fresh process can confirm a step, so it must show again: in two consecutive points if it is
// large, in three otherwise, or in the mean of 7 or 14. An alert uses no point after its own. After
// an alert, the level is learned again from the start of the step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/timing/time_gate.h"

namespace plumbline {

struct ReplayAlert {
  std::size_t point = 0;    // index of the last point that was used
  std::size_t begin = 0;    // index of the first point of the step
  double from = 0, to = 0;  // levels, in the unit of the series
  bool worse = true;        // slower; or lower, if higher is better
  double change() const { return to / from - 1; }
};

// `values`: positive and finite, oldest first. Lower is better unless `higher_is_better`.
std::vector<ReplayAlert> replay(std::span<const double> values, bool higher_is_better);

// The numbers of a CSV file with a header: those of the column "value", otherwise of the last
// column whose first entry is a number.
struct ReplaySeries {
  std::string column;
  std::vector<double> values;
};
// Reads a series. Each bad line is an error of its own.
Result<ReplaySeries> read_series(const std::string& file);

}  // namespace plumbline
