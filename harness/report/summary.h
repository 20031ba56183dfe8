// A run in one line. Every report says it in these words, so that no two of them give two numbers.
#pragma once

#include <string>

#include "harness/report/tally.h"

namespace plumbline {

// "2 failures in 466 cases, 12 diffs and 30 suite statistics"; "nothing measured in 4 cases" where
// the exit code says so.
std::string headline(const RunReport& report);
// "cases: 139 pass, 2 fail; diffs: 12 pass; suite statistics: 26 pass, 4 not judged"; kinds that
// the run lacks are left out.
std::string verdicts_text(const RunCounts& counts);

}  // namespace plumbline
