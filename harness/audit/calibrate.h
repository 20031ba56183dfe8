// How near legal kernels come to the limits, by how much their rounding spec allows. No mutant
// (known bug) takes part.
#pragma once

#include <string>
#include <vector>

#include "harness/outcome/statistics_table.h"
#include "harness/suite/plan.h"

namespace plumbline {

class Contracts;
struct Trial;

// The largest value of one statistic, where it was nearest to its limit.
struct Headroom {
  double value = 0, limit = 0;
  std::string where;  // case id, or suite and kernel
  double percent() const { return limit > 0 ? 100 * value / limit : 0; }
};

// One tier (what the spec rounds beyond the strict default, in words), dtype of Q and of the
// output.
struct CalibrationRow {
  std::string tier, dtype, out;
  std::int64_t runs = 0, elements = 0;
  // suite: the larger of shrink and temperature; limit 0: not judged
  PerStatistic<Headroom> statistics;
  Headroom suite;
};

struct CalibrationReport {
  std::vector<std::string> suites;
  std::uint64_t first_seed = 1, last_seed = 1;
  std::vector<CalibrationRow> rows;
  std::vector<std::string> kernels;
  // (kernel, problem, seed) that gave an output, each called three times for the same bits
  std::int64_t runs = 0;
  std::int64_t false_alarms = 0;  // of them
  std::int64_t suite_sums = 0;  // shrink and temperature judged, each of one kernel, dtype and seed
  std::int64_t suite_alarms = 0;    // of them
  std::int64_t not_measured = 0;    // crashed, out of memory, …: failures too
  std::vector<std::string> alarms;  // each in words, at most 20
  double seconds = 0;
  // 4: nothing was measured; 1: a false alarm or something that could not be measured; else 0.
  int exit_code() const;
};

// The plan's cases with each seed of [first, last]; the suite sums are taken per seed.
Plan with_seeds(const Plan& plan, std::uint64_t first, std::uint64_t last);

// `complete` as for suite_scores.
CalibrationReport calibrate(const std::vector<Trial>& trials, const Contracts& contracts,
                            bool complete);

}  // namespace plumbline
