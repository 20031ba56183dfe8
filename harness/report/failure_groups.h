// Failures of a run by cause: a planted error that hits every kernel is one piece of news.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/verdict.h"
#include "harness/report/report.h"

namespace plumbline {

// A cause without its figures, by which failures are grouped: "the softmax scale is 1 % too large"
// and "… 0.9 % …" are one group. Numbers become '#'.
std::string without_figures(std::string_view cause);

// Failures with one verdict and one cause, whatever their kernels.
struct FailureGroup {
  Verdict verdict = Verdict::fail;
  std::string cause;               // of the first, in words
  std::vector<std::string> names;  // of the cases, diffs or invariances
  std::set<std::string> kernels;   // or the names of diffs
  std::size_t cases = 0;           // how many of the names are cases
  // The first, of which one is not null.
  const StoredOutcome* outcome = nullptr;
  const StoredDiff* diff = nullptr;
  const StoredInvariance* invariance = nullptr;
};

// Everything that fails or is open, the largest group first. The run outlives the groups.
std::vector<FailureGroup> failure_groups(const RunReport& report);

// The report of the group's first.
std::string render_first(const FailureGroup& group, const std::string& reproduce_command,
                         const Style& style);

// "12 of mutants/x", "196 of 13 kernels"; the name itself where there is one.
std::string members_text(const FailureGroup& group);

}  // namespace plumbline
