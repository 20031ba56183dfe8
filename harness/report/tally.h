// What is counted of a run, once for all reports.
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
  std::size_t ran = 0;  // status ok
  std::map<Verdict, std::size_t> verdicts;
  double worst_percent = 0;  // of a limit; NaN if any is NaN
  double wall_ms = 0;        // of measuring, summed
};

// What a case ran on: the architecture of the run's machine where its kernel does not say another.
std::string arch_of(const Outcome& outcome, const RunInfo& run);
// The worse of two percentages of a limit; NaN is the worst of all.
inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }
// One tally per (suite, kernel), in the order in which they first appear.
std::vector<Tally> tallies(const std::vector<StoredOutcome>& outcomes);
// Verdicts that occur in outcomes, in the order of enum Verdict.
std::vector<Verdict> verdicts_of(const std::vector<Tally>& tallies);
// Cases with verdict `changed` by kernel: a new build that changes bits changes them in many cases,
// which is one piece of news.
std::map<std::string, std::size_t> changed_cases(const std::vector<StoredOutcome>& outcomes);
// "139 pass, 2 fail"
std::string counts_text(const std::map<Verdict, std::size_t>& counts);

struct TallyTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
// Cases that failed as expected, a row an entry of the suites; no rows where there are none.
TallyTable expected_failures_table(const std::vector<StoredOutcome>& outcomes);
// Why cases are unsupported, a row a reason, the most frequent first: how many cases, whose (one
// kernel, or how many), and the kernel's reason.
TallyTable refusals_table(const std::vector<StoredOutcome>& outcomes);
// Regressions that somebody has acknowledged, a row a case: what was said of it is its last note.
TallyTable acknowledged_table(const std::vector<StoredOutcome>& outcomes);
// Table of the tallies of one suite, a row a kernel.
TallyTable tally_table(const std::vector<Tally>& tallies);

// Of one kind of thing: cases, diffs, invariances.
struct VerdictCounts {
  std::size_t total = 0, failures = 0;
  std::map<Verdict, std::size_t> verdicts;
};

// A failure is a case, a diff or an invariance whose verdict is one (is_failure), a suite statistic
// beyond its limit, or a change since the last run that fails this one. A case that stands in
// several suites counts in each.
struct RunCounts {
  VerdictCounts cases, diffs, invariances;
  // over suites: judged, of them failed, and not judged (a part of the suite, or too few cases)
  std::size_t statistics = 0, statistics_failed = 0, statistics_not_judged = 0;
  // cases that are refused now, where that fails the run, and cases of a night that vanished
  std::size_t changes_failed = 0, changes_open = 0;
  std::size_t failures() const {
    return cases.failures + diffs.failures + invariances.failures + statistics_failed +
           changes_failed;
  }
};
RunCounts counts_of(const RunReport& report);
// Whether no kernel gave a result or failed to: every case was refused, or there is none.
bool nothing_measured(const RunReport& report);

}  // namespace plumbline
