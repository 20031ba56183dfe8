// From suites to the list of cases and diffs that a run measures.
#pragma once

#include <string>
#include <vector>

#include "harness/problem/suite.h"

namespace plumbline {

struct PlannedCase {
  std::string suite, group, reason;
  Tier tier = Tier::smoke;
  Case c;
  std::string case_id;
  bool timed = false;
};

// A suite's case with its kernel known.
PlannedCase planned(const SuiteCase& from, const std::string& kernel);

struct PlannedDiff {
  std::string suite, name, reason;
  Tier tier = Tier::smoke;
  DiffExpect expect = DiffExpect::rounding;
  PlannedCase a, b;
};

struct Plan {
  std::vector<PlannedCase> cases;  // without duplicates within a suite; sides of diffs are not listed here
  std::vector<PlannedDiff> diffs;
  // A glob left something of the tier out: suite statistics are not judged.
  bool partial = false;
  std::size_t size() const { return cases.size() + diffs.size(); }
};

// Expands kernel globs against `kernels` ("cpu/flash", …) and applies the filter to "suite/group/case id" and to the bare case id (a diff
// is matched by "suite/name" and by both of its case ids, and sharded by its first case). A pattern that matches no kernel is an error
// that names the suite's line and the kernels there are. A shard or a filter may leave nothing: an empty plan.
Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<std::string>& kernels, const CaseFilter& filter);

// Lets other kernels run the suites' problems: every group's kernels become `globs`, and diffs, which name their kernels, are dropped.
void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs);

}  // namespace plumbline
