// Measures how close legal kernels come to the limits, by rounding tier. Mutants do not take part.
#pragma once

#include <string>
#include <vector>

#include "harness/outcome/statistics_table.h"
#include "harness/suite/plan.h"

namespace plumbline {

class Contracts;
struct Trial;

// The value of a statistic that came closest to its limit.
struct Headroom {
  double value = 0, limit = 0;
  std::string where;  // case id, or suite and kernel
  double percent() const { return limit > 0 ? 100 * value / limit : 0; }
};

// One tier (what the spec rounds beyond the strict default), dtype of Q and dtype of the output.
struct CalibrationRow {
  std::string tier, dtype, out;
  std::int64_t runs = 0, elements = 0;
  // suite: the larger of shrink and temperature. Limit 0: not judged.
  PerStatistic<Headroom> statistics;
  Headroom suite;
};

struct CalibrationReport {
  std::vector<std::string> suites;
  std::uint64_t first_seed = 1, last_seed = 1;
  std::vector<CalibrationRow> rows;
  std::vector<std::string> kernels;
  // Trials (kernel, problem, seed) with an output. Each was called three times to compare bits.
  std::int64_t runs = 0;
  std::int64_t false_alarms = 0;  // among the runs
  // Scores for shrink and temperature, one for each kernel, dtype and seed.
  std::int64_t suite_sums = 0;
  std::int64_t suite_alarms = 0;    // among the suite sums
  std::int64_t not_measured = 0;    // crashed, out of memory and so on; these are failures
  std::vector<std::string> alarms;  // at most 20 descriptions
  double seconds = 0;
  // Returns 4 if nothing was measured, 1 for a false alarm or a case that could not be measured,
  // otherwise 0.
  int exit_code() const;
};

// Returns the plan's cases with each seed of [first, last]. Suite sums are taken for each seed.
Plan with_seeds(const Plan& plan, std::uint64_t first, std::uint64_t last);

// `complete` as for suite_scores.
CalibrationReport calibrate(const std::vector<Trial>& trials, const Contracts& contracts,
                            bool complete);

}  // namespace plumbline
