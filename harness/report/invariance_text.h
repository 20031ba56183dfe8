// Invariances as text: what was promised, what was found.
#pragma once

#include <string>
#include <vector>

#include "harness/outcome/invariance.h"
#include "harness/report/report.h"

namespace plumbline {

// What the cases of one kernel on one device showed of one invariance.
struct InvarianceTally {
  std::string kernel, device;
  Invariance invariance = Invariance::run_to_run;
  Promise promise = Promise::none;  // the strongest over the cases
  // Cases by what was found; nothing: the kernel takes no transformed call, or there is nothing to
  // transform.
  std::size_t bitwise = 0, rounding = 0, violated = 0, nothing = 0;
  double sigmas = 0;  // the largest difference, in standard deviations of two legal answers
};
// One a kernel, device and invariance that occurs, in this order.
std::vector<InvarianceTally> tallies(const std::vector<StoredInvariance>& invariances);

// One invariance that was not kept: the two problems, the element, the size, and the line that
// repeats it.
std::string render_invariance(const StoredInvariance& stored, const std::string& reproduce_command,
                              const Style& style);
// A table a kernel: cases with the same bits, within rounding, violated, against the promise.
// Violations before them.
std::string render_invariances(const std::vector<StoredInvariance>& invariances,
                               const std::string& reproduce_command, const Style& style);
// One table of all kernels, a column for each invariance, with its legend. GitHub-flavoured
// Markdown; "" without rows.
std::string render_invariances_markdown(const std::vector<StoredInvariance>& invariances);

}  // namespace plumbline
