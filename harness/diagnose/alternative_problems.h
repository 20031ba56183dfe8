// Alternative problems that a kernel may have solved instead of the stated one. Text for reports;
// no verdict depends on it.
#pragma once

#include <functional>
#include <string>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// An alternative problem, and its sentence: "if the mask were causal".
struct AlternativeProblem {
  std::string sentence;
  Problem problem;
  StatedLayout layout;
  int lse_base = 0;  // base of the returned LSE, as in OutputView
};

// Receives an alternative. Returns false if no further one is needed.
using VisitAlternative = std::function<bool(AlternativeProblem)>;

// Makes the alternatives one after another and passes each to `visit`. Stops if `visit` returns
// false or failing.late() returns true. If few keys are visible, several may explain an output, so
// the simplest comes first:
//   1. the pages, the mask or the window are missing or different
//   2. the first or last key is off by one; padding, softcap, ALiBi, sinks, a bias or the scale are
//      missing or different
//   3. bounds, or tiles of keys or queries, of sizes that the problem does not state
//   4. one key of each tile is missing
void visit_alternatives(const FailingOutput& failing, const VisitAlternative& visit);

}  // namespace plumbline
