// `plumbline diff`: compares two dumps or, in programs with kernels, two kernels on suites.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/check/diff.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// The arguments of a `plumbline diff` command line.
struct DiffArguments {
  std::string a, b;                 // dumps or kernels
  std::vector<std::string> suites;  // for two kernels
  double reference_cost_limit = 0;
  std::string format = "text";
  bool verbose = false;
};

// Compares two kernels, in programs that have any.
class KernelDiff {
 public:
  virtual ~KernelDiff() = default;
  // Adds the options that only this comparison accepts.
  virtual void add_options_to(Command command) = 0;
  // Prints the comparison, or the errors, and returns the exit code.
  virtual int run(const DiffArguments& question) = 0;
};

// `kernels` is null in the judge program, which only compares dumps.
void add_diff(Command app, int& exit_code, std::shared_ptr<KernelDiff> kernels);

// Prints comparisons in the format that `question` names, and returns the exit code.
int write_diffs(const std::vector<DiffReport>& reports, const DiffArguments& question);

}  // namespace plumbline::cli
