// What became of one invariance of one case.
#pragma once

#include <cstdint>
#include <string>

#include "harness/outcome/error_statistics.h"
#include "harness/outcome/invariance.h"
#include "harness/problem/problem.h"
#include "harness/provider/status.h"

namespace plumbline {

// The same rows asked for in several ways: what became of one invariance of one case.
struct InvarianceOutcome {
  std::string suite, tier;
  Case c;
  std::string case_id;
  Invariance invariance = Invariance::run_to_run;
  Promise promise = Promise::none;  // the stronger of the pinned and the declared one
  // Of the first call that did not end well; `unsupported` where no transformed call was taken.
  // Also that where there is nothing to transform: `reason` says what is missing and `calls` is 0.
  Status status = Status::error;
  std::string reason;
  int calls = 0;          // transformed calls that were compared with the case's own
  int calls_refused = 0;  // that the kernel does not take
  // of outputs and LSE: compared; with other bits, NaN included
  std::int64_t elements = 0, other_bits = 0;
  // The difference that is nearest to its limit, or beyond it: in standard deviations of two legal
  // answers, infinite for NaN.
  std::string statistic;           // "out" or a row output's name; "" where all bits are the same
  ElementId element{0, 0, 0, -1};  // of the case; of row outputs column_of()
  double value_a = 0, value_b = 0;
  double sigmas = 0, limit = 0, ulps = 0;
  std::string problem_a, problem_b;  // how the two asked, in words
  double wall_ms = 0;
};

}  // namespace plumbline
