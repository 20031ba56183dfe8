// Shrinks a failing problem while it keeps failing, down to the smallest case to think about.
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
  std::vector<ReduceStep> steps;  // those that were kept, in order
  int tried = 0;                  // problems that `fails` was asked about
};

// The next smaller problems, boldest first: features at their default (lengths full, no window, no
// mask, padded layout, plain laws), one sample, one head, one row, half the keys, half the head
// dimension, …; only valid ones, each differing from `problem`. Two keys are the fewest: with one,
// every weight is 1, and most errors look alike.
std::vector<ReduceStep> smaller_problems(const Problem& problem);

// `fails` says whether a problem still fails as the first one did; `problem` itself does. Greedy:
// the first smaller problem that fails is taken, until none does; the result is 1-minimal in the
// steps above. `stop` (checked between problems) ends it early.
Reduced reduce(const Problem& problem, const std::function<bool(const Problem&)>& fails,
               const std::function<bool()>& stop);

// True if a case with the second sentence of cause (harness/diagnose/causes.h) fails as one with
// the first. A first one that explains the whole error ("would be explained if …") has to come
// again, up to its numbers, which change with the sizes. Any other describes what the error looks
// like and where it sits, which also changes with the sizes: it is not asked for.
bool keeps_cause(std::string_view first, std::string_view second);

}  // namespace plumbline
