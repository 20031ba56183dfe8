// Shrinks a failing problem while it keeps failing, to the smallest case to debug.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

struct ReduceStep {
  std::string what;  // "seq_kv 300 -> 150"
  Problem problem;
};

struct Reduced {
  Problem problem;
  std::vector<ReduceStep> steps;  // the steps that were taken, in order
  int tried = 0;                  // problems that `fails` was called with
};

// Returns the next smaller problems: features at their default (lengths full, no window, no mask,
// padded layout, plain input distribution), then smaller sizes, smallest first. All are valid and
// differ from `problem`. There are at least two keys: with one, every weight is 1 and most errors
// look alike.
std::vector<ReduceStep> smaller_problems(const Problem& problem);

// Reduces greedily: takes the first smaller problem for which `fails` returns true, until there is
// none. The result is 1-minimal in the steps above. `problem` itself must fail. `stop` is checked
// between problems and ends the search early.
Reduced reduce(const Problem& problem, const std::function<bool(const Problem&)>& fails,
               const std::function<bool()>& stop);

// Returns true if a case with the cause sentence `second` (harness/diagnose/causes.h) fails like
// one with `first`. If `first` explains the whole error ("would be explained if …"), `second` must
// match it up to the numbers, which change with the sizes. Any other `first` only describes the
// error and its place, which also change with the sizes, so nothing is compared.
bool keeps_cause(std::string_view first, std::string_view second);

}  // namespace plumbline
