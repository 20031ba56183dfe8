// Alternative problems that a kernel may have solved instead of the stated one. Text for reports;
// no verdict depends on it.
#pragma once

#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// An alternative problem, and its sentence: "if the mask were causal".
struct AlternativeProblem {
  std::string sentence;
  Problem problem;
  StatedLayout layout;
  int lse_base = 0;  // base of the returned LSE, as in OutputView
};

// Returns the alternatives, the likeliest first.
std::vector<AlternativeProblem> alternative_problems(const FailingOutput& failing);

}  // namespace plumbline
