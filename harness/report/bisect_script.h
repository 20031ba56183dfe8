// Writes a script that finds the commit since which a case is slower, less accurate or fails.
#pragma once

#include <string>

#include "harness/base/enumeration.h"

namespace plumbline {

// The value that decides if a commit is good.
enum class BisectBy {
  verdict,  // the case's own failure: a limit, a fault, a crash
  time,     // the time ratio
  rms,      // the rms error in units of sigma
};

struct BisectPlan {
  std::string case_id;
  std::string good, bad;  // git revisions
  BisectBy by = BisectBy::verdict;
  double limit = 0;                      // a commit above it is bad; unused with BisectBy::verdict
  double good_value = 0, bad_value = 0;  // stored values; 0 = unknown
  std::string build;                     // shell command, run in the repository's folder
  std::string program;                   // path or name of plumbline, for the shell
  std::string arguments;                 // options of `plumbline run`, quoted: its providers
};

// Returns a Bash script, to be run in the repository. It first measures the bad and the good commit
// and stops with exit code 1 if one is not as expected. Then it runs git bisect, prints the first
// bad commit and restores the checkout. With the argument `step` it is the command for `git bisect
// run`: it builds and measures the checkout, and exits 0 (good), 1 (bad) or 125 (cannot be built or
// measured).
std::string bisect_script(const BisectPlan& plan);

}  // namespace plumbline
