// Groups the failures of a run by cause, because one bug can hit every kernel.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// Replaces the numbers in a cause by '#', so that "the softmax scale is 1 % too large" and "… 0.9 %
// …" are one group.
std::string without_figures(std::string_view cause);

// Failures with the same verdict and cause, of any kernel.
struct FailureGroup {
  Verdict verdict = Verdict::fail;
  std::string cause;               // the first failure's, in words
  std::vector<std::string> names;  // ids of cases, names of diffs and invariances
  std::set<std::string> kernels;   // for diffs their names
  std::size_t cases = 0;           // the number of cases among `names`
  // The first failure: one of the three is not null.
  const StoredOutcome* outcome = nullptr;
  const StoredDiff* diff = nullptr;
  const StoredInvariance* invariance = nullptr;
};

// Groups all failing and open results, the largest group first. The groups point into the report.
std::vector<FailureGroup> failure_groups(const RunReport& report);

// Renders the group's first failure.
std::string render_first(const FailureGroup& group, const std::string& reproduce_command,
                         const Style& style);

// Returns "12 of mutants/x" or "196 of 13 kernels"; for one member its name.
std::string members_text(const FailureGroup& group);

}  // namespace plumbline
