// Suggests entries for baselines/support.toml from the refusals in a run.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/contract/run_target.h"
#include "harness/contract/support.h"
#include "harness/problem/problem.h"

namespace plumbline {

// A problem that a run gave to a kernel.
struct TriedProblem {
  std::string kernel;
  Problem problem;
  RunTarget place;
  std::string case_id;
  bool refused = false;     // refused, and no entry explains it; false: it ran, with any outcome
  std::string reason = {};  // of the refusal
};

struct SuggestedEntry {
  SupportTable::Entry entry;
  std::size_t refusals = 0;  // number of refusals that it explains
  std::string example;       // case id of one refusal
  bool nothing_ran = false;  // the run shows no problem that the kernel accepts
};

struct SuggestedSupport {
  std::vector<SuggestedEntry> entries;
  // Pairs of case ids of one kernel with equal values in every field: the first was refused, and
  // the second ran. No entry can tell them apart.
  std::vector<std::pair<std::string, std::string>> inseparable;
};

// Suggests entries for each kernel and reason, with the field values that separate the refusals
// from everything the kernel accepted. If several fields separate them, the likelier cause is used.
// Reasons that differ only in numbers count as one. No entry covers a problem that ran.
SuggestedSupport suggest_support(const std::vector<TriedProblem>& asked);

// Returns an entry of one kernel as a table of support.toml.
std::string entry_text(const SupportTable::Entry& entry);

}  // namespace plumbline
