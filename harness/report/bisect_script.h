// A script that finds the commit from which on a case is slower, less accurate or fails.
#pragma once

#include <string>

#include "harness/base/enumeration.h"

namespace plumbline {

// What a step looks at.
enum class BisectBy {
  verdict,  // whether the case fails by itself: a limit, a fault, a crash
  time,     // its time ratio
  rms,      // its error in units of sigma
};

struct BisectPlan {
  std::string case_id;
  std::string good, bad;  // commits, as git understands them
  BisectBy by = BisectBy::verdict;
  double limit = 0;                      // above it a step is bad; not by verdict
  double good_value = 0, bad_value = 0;  // as stored; 0 = unknown
  std::string build;                     // a command of a shell, run in the repository's folder
  std::string program;                   // plumbline, as the shell finds it
  std::string arguments;                 // of `plumbline run`, quoted for a shell: its providers
};

// Bash. Called in the repository it first measures the bad commit, which must be bad, and the good
// one, which must be good, and stops with a message and exit code 1 where one is not; then it runs
// git bisect, names the first bad commit and leaves the checkout as it was. Called with the word
// `step` it is what `git bisect run` wants: it builds and measures what is checked out, and exits 0
// (good), 1 (bad) or 125 (cannot be built or measured).
std::string bisect_script(const BisectPlan& plan);

}  // namespace plumbline
