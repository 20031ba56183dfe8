// The result of checking one invariance of one case.
#pragma once

#include <cstdint>
#include <string>

#include "harness/outcome/error_statistics.h"
#include "harness/outcome/invariance.h"
#include "harness/problem/problem.h"
#include "harness/provider/status.h"

namespace plumbline {

// One invariance of one case: the same rows, computed by different calls.
struct InvarianceOutcome {
  std::string suite, tier;
  Case c;
  std::string case_id;
  Invariance invariance = Invariance::run_to_run;
  Promise promise = Promise::none;  // the stronger of the contract's and the kernel's promise
  // Status of the first call that failed. `unsupported` if the kernel refused every transformed
  // call, or if there is nothing to transform (`calls` is 0, and `reason` says what is missing).
  Status status = Status::error;
  std::string reason;
  int calls = 0;          // transformed calls compared with the case's own call
  int calls_refused = 0;  // transformed calls that the kernel refused
  // compared elements of out and row outputs, and how many of these have different bits or NaN
  std::int64_t elements = 0, other_bits = 0;
  // The difference with the largest share of its limit. `sigmas` is its ratio to the standard
  // deviation of the difference of two legal results; infinite for NaN.
  std::string statistic;           // "out" or a row output's name; "" if all bits are equal
  ElementId element{0, 0, 0, -1};  // in the case; the column of a row output is column_of()
  double value_a = 0, value_b = 0;
  double sigmas = 0, limit = 0, ulps = 0;
  std::string problem_a, problem_b;  // the problem's id; the other call, in words
  double wall_ms = 0;
};

}  // namespace plumbline
