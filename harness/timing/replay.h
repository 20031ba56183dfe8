// The gate over a series of somebody else: which points would have been alerts?
//
// No fresh process can be asked, so a step must show again: in two points running where it is
// large, in three otherwise, or in the mean of 7 or 14. An alert uses no later point than its own.
// After an alert the level is learned anew from the point where the step began.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/timing/time_gate.h"

namespace plumbline {

struct ReplayAlert {
  std::size_t point = 0;    // index of the last point that it took
  std::size_t begin = 0;    // index of the first point of the step
  double from = 0, to = 0;  // levels, in the unit of the series
  bool worse = true;        // slower, or less of what is better when higher
  double change() const { return to / from - 1; }
};

// `values`: positive and finite, oldest first; less is better unless `higher_is_better`.
std::vector<ReplayAlert> replay(std::span<const double> values, bool higher_is_better);

// The numbers of a file of comma-separated values with a header: of the column "value", or else of
// the last column whose first entry is a number. Every bad line is an error of its own.
struct ReplaySeries {
  std::string column;
  std::vector<double> values;
};
Result<ReplaySeries> read_series(const std::string& file);

}  // namespace plumbline
