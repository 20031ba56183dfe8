// Entries for baselines/support.toml that explain what kernels refused in a run.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/contract/place.h"
#include "harness/contract/support.h"
#include "harness/problem/problem.h"

namespace plumbline {

// A problem that a kernel was asked in a run.
struct AskedProblem {
  std::string kernel;
  Problem problem;
  Place place;
  std::string case_id;
  bool refused = false;     // and no entry explains it; else it ran, however it ended
  std::string reason = {};  // of the refusal
};

struct SuggestedEntry {
  SupportTable::Entry entry;
  std::size_t refusals = 0;  // that it explains
  std::string example;       // case id of one of them
  bool nothing_ran = false;  // of one of its kernels: what that takes is not known
};

struct SuggestedSupport {
  std::vector<SuggestedEntry> entries;
  // Case ids: one was refused and the other ran, of the same kernel, with the same value in every
  // field. No entry can tell them apart.
  std::vector<std::pair<std::string, std::string>> inseparable;
};

// As few entries as a greedy choice finds, each as wide as what ran allows: none covers a problem
// that the kernel took, and a value that the run never asked for is covered where the list of
// excluded values is the shorter one. Entries that say the same of several kernels are one. Fields
// that no kernel sees (input laws, seed) are used only where nothing else tells refused problems
// from the others.
SuggestedSupport suggest_support(const std::vector<AskedProblem>& asked);

// As a table of support.toml.
std::string entry_text(const SupportTable::Entry& entry);

}  // namespace plumbline
