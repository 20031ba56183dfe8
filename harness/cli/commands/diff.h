// `plumbline diff`: two dumps, and, where a program brings kernels, two kernels on suites.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/check/diff.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// The question of a `plumbline diff` command line.
struct DiffQuestion {
  std::string a, b;                 // dumps or kernels
  std::vector<std::string> suites;  // of two kernels
  double reference_cost_limit = 0;
  std::string format = "text";
  bool verbose = false;
};

// How a program compares two kernels.
class KernelDiff {
 public:
  virtual ~KernelDiff() = default;
  // Options that only the comparison of kernels takes.
  virtual void add_options_to(Command command) = 0;
  // Prints the answer, or what is wrong, and returns the exit code.
  virtual int run(const DiffQuestion& question) = 0;
};

// `kernels` is null in the judge, which has none and compares dumps alone.
void add_diff(Command app, int& exit_code, std::shared_ptr<KernelDiff> kernels);

// Prints comparisons in the format of the question, and returns the exit code.
int write_diffs(const std::vector<DiffReport>& reports, const DiffQuestion& question);

}  // namespace plumbline::cli
