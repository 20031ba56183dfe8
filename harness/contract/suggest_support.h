// What kernels refused in a run, as entries for baselines/support.toml.
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
  bool nothing_ran = false;  // what the kernel takes is not known
};

struct SuggestedSupport {
  std::vector<SuggestedEntry> entries;
  // Case ids: one was refused and the other ran, of the same kernel, with the same value in every
  // field. No entry can tell them apart.
  std::vector<std::pair<std::string, std::string>> inseparable;
};

// By kernel and reason the refusals, with the values of the fields that tell them from all that the
// kernel took; likelier fields stand for others that would tell them apart as well. Reasons that
// differ in numbers alone are one. No entry covers a problem that ran.
SuggestedSupport suggest_support(const std::vector<AskedProblem>& asked);

// An entry of one kernel as a table of support.toml.
std::string entry_text(const SupportTable::Entry& entry);

}  // namespace plumbline
