// The entries [[expect_failure]] of a suite file, before its cases are known.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/expected_failure.h"
#include "harness/suite/suite.h"
#include "harness/suite/suite_space.h"

namespace plumbline {

struct FailureEntry {
  std::shared_ptr<const FailureRule> rule;
  std::vector<std::string> groups;  // empty = any
  std::vector<Dimension> match;
  const ConfigNode* node = nullptr;  // place in the file
};

// Reads the entries. Wrong ones are reported as errors and left out.
std::vector<FailureEntry> read_expected_failures(const ConfigNode& file, Errors& errors);

// Returns true if the entry may cover the case in `group`, judged by the case's kernel pattern.
bool concerns(const FailureEntry& entry, const SuiteCase& c, std::string_view group);

}  // namespace plumbline
