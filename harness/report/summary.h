// What is counted of a run, once for all reports. Every report says it in these words, so that no
// two of them give two numbers.
#pragma once

#include <map>
#include <string>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

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
  std::size_t statistics = 0, statistics_failed = 0, statistics_not_judged = 0;
  // cases that vanished or are refused now, where that fails the run
  std::size_t changes_failed = 0;
  std::size_t failures() const {
    return cases.failures + diffs.failures + invariances.failures + statistics_failed +
           changes_failed;
  }
};
RunCounts counts_of(const RunReport& report);

// "2 failures in 466 cases, 12 diffs and 30 suite statistics"; "nothing measured in 4 cases" where
// the exit code says so.
std::string headline(const RunReport& report);
// "cases: 139 pass, 2 fail; diffs: 12 pass; suite statistics: 26 pass, 4 not judged"; kinds that
// the run lacks are left out.
std::string verdicts_text(const RunCounts& counts);

}  // namespace plumbline
