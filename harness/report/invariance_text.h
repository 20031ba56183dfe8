// Renders invariances: what kernels promise and what was found.
#pragma once

#include <string>
#include <vector>

#include "harness/outcome/invariance.h"
#include "harness/report/report.h"

namespace plumbline {

// The results of one kernel on one device for one invariance.
struct InvarianceTally {
  std::string kernel, device;
  Invariance invariance = Invariance::run_to_run;
  Promise promise = Promise::none;  // the strongest of its cases
  // Cases by result. `not_judged`: beyond rounding, but no promise covers the difference.
  // `nothing`: the kernel rejects the transformed call, or nothing can be transformed.
  std::size_t bitwise = 0, rounding = 0, violated = 0, not_judged = 0, nothing = 0;
  double sigmas = 0;  // largest difference, in standard deviations of two legal outputs
};
// Returns one tally per kernel, device and invariance, sorted in this order.
std::vector<InvarianceTally> tallies(const std::vector<StoredInvariance>& invariances);

// Renders a violated invariance: both problems, the element, the size and the reproduce line.
std::string render_invariance(const StoredInvariance& stored, const std::string& reproduce_command,
                              const Style& style);
// Renders the violations, then a table per kernel with its promises and its counts of cases: equal
// bits, within rounding, violated.
std::string render_invariances(const std::vector<StoredInvariance>& invariances,
                               const std::string& reproduce_command, const Style& style);
// Returns one table of all kernels with a column per invariance and a legend, as GitHub-flavoured
// Markdown; "" without rows.
std::string render_invariances_markdown(const std::vector<StoredInvariance>& invariances);

}  // namespace plumbline
