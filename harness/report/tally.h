// Counts of a run, shared by all reports.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

struct Outcome;

struct Tally {
  std::string suite, kernel;
  std::size_t cases = 0;
  std::size_t ran = 0;  // with status ok
  std::map<Verdict, std::size_t> verdicts;
  double worst_percent = 0;  // percent of a limit; infinite if any case has NaN
  double wall_ms = 0;        // total measuring time
};

// Returns the architecture that a case ran on: its kernel's, or the run's machine's if unstated.
std::string arch_of(const Outcome& outcome, const RunInfo& run);
// Returns the larger of two percentages of a limit; NaN counts as largest.
inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }
// Returns one tally per (suite, kernel), in the order of the outcomes.
std::vector<Tally> tallies(const std::vector<StoredOutcome>& outcomes);
// Returns the verdicts that occur, in the order of enum Verdict.
std::vector<Verdict> verdicts_of(const std::vector<Tally>& tallies);
// Counts the cases with verdict `changed` per kernel: a new build may change all cases of a kernel.
std::map<std::string, std::size_t> changed_cases(const std::vector<StoredOutcome>& outcomes);
// Returns "139 pass, 2 fail".
std::string counts_text(const std::map<Verdict, std::size_t>& counts);

struct TallyTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
// Returns expected failures, one row per entry of a suite; no rows if there are none.
TallyTable expected_failures_table(const std::vector<StoredOutcome>& outcomes);
// Returns why cases are unsupported, one row per reason, most frequent first: the number of cases,
// the kernel (or the number of kernels), and the kernel's reason.
TallyTable refusals_table(const std::vector<StoredOutcome>& outcomes);
// Returns acknowledged regressions, one row per case. The text is the note that says who
// acknowledged it and why.
TallyTable acknowledged_table(const std::vector<StoredOutcome>& outcomes);
// Returns the tallies of one suite, one row per kernel.
TallyTable tally_table(const std::vector<Tally>& tallies);

// Counts for one kind of result: cases, diffs or invariances.
struct VerdictCounts {
  std::size_t total = 0, failures = 0;
  std::map<Verdict, std::size_t> verdicts;
};

struct InvarianceCounts : VerdictCounts {
  std::size_t not_judged = 0;  // StoredInvariance::is_not_judged
};

// Counts of a run. A failure is a case, diff or invariance with a failing verdict (is_failure), a
// suite statistic above its limit, or a change since the last run that fails this one. A case in
// several suites counts in each.
struct RunCounts {
  VerdictCounts cases, diffs;
  InvarianceCounts invariances;
  // Statistics over suites: judged; failed among them; not judged (partial suite or too few cases).
  std::size_t statistics = 0, statistics_failed = 0, statistics_not_judged = 0;
  // Changes that fail the run (cases now refused), and changes that leave the run open (cases that
  // vanished from a night).
  std::size_t changes_failed = 0, changes_open = 0;
  std::size_t failures() const {
    return cases.failures + diffs.failures + invariances.failures + statistics_failed +
           changes_failed;
  }
};
RunCounts counts_of(const RunReport& report);
// Returns true if no kernel returned a result or failed: every case was refused, or there is none.
bool nothing_measured(const RunReport& report);

}  // namespace plumbline
