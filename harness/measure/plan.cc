#include "harness/measure/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace plumbline {
namespace {

std::vector<std::string> matching(const std::vector<std::string>& kernels, const std::string& pattern) {
  std::vector<std::string> found;
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(found), [&](const std::string& k) { return glob_match(pattern, k); });
  return found;
}

Error no_kernel(const SuiteCase& c, const std::vector<std::string>& kernels) {
  return {c.file, c.line, fmt::format("no kernel matches \"{}\"", c.kernel_pattern),
          fmt::format("kernels of the loaded providers: {}; add a provider with --provider", fmt::join(kernels, ", "))};
}

}  // namespace

PlannedCase planned(const SuiteCase& from, const std::string& kernel) {
  PlannedCase to{from.suite, from.group, from.reason, from.tier, Case{kernel, from.device, from.problem}, "", from.timed};
  to.case_id = case_id(to.c);
  return to;
}

Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<std::string>& kernels, const CaseFilter& filter) {
  Plan plan;
  Errors errors;
  std::set<std::pair<std::string, std::string>> seen;  // (suite, case id)
  std::set<std::pair<int, std::string>> reported;      // a pattern is reported once a group
  const auto report = [&](const SuiteCase& c) {
    if (reported.insert({c.line, c.kernel_pattern}).second) errors.push_back(no_kernel(c, kernels));
  };
  for (const Suite& suite : suites) {
    for (const SuiteCase& c : suite.cases) {
      const auto found = matching(kernels, c.kernel_pattern);
      if (found.empty()) report(c);
      for (const std::string& kernel : found) {
        PlannedCase p = planned(c, kernel);
        if (!seen.insert({p.suite, p.case_id}).second || !selects_tier(filter, p.tier)) continue;
        if (!selects_name(filter, {p.suite + "/" + p.group + "/" + p.case_id, p.case_id})) {
          plan.partial = true;
        } else if (selects_shard(filter, p.case_id)) {
          plan.cases.push_back(std::move(p));
        }
      }
    }
    for (const SuiteDiff& d : suite.diffs) {
      const bool known_a = !matching(kernels, d.a.kernel_pattern).empty(), known_b = !matching(kernels, d.b.kernel_pattern).empty();
      if (!known_a) report(d.a);
      if (!known_b) report(d.b);
      if (!known_a || !known_b) continue;
      PlannedDiff p{d.suite, d.name, d.reason, d.tier, d.expect, planned(d.a, d.a.kernel_pattern), planned(d.b, d.b.kernel_pattern)};
      if (!selects_tier(filter, p.tier)) continue;
      if (!selects_name(filter, {p.suite + "/" + p.name, p.a.case_id, p.b.case_id})) {
        plan.partial = true;
      } else if (selects_shard(filter, p.a.case_id)) {
        plan.diffs.push_back(std::move(p));
      }
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return plan;
}

void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs) {
  for (Suite& suite : suites) {
    suite.diffs.clear();
    std::vector<SuiteCase> cases;
    for (const SuiteCase& c : suite.cases) {
      for (const std::string& glob : globs) {
        cases.push_back(c);
        cases.back().kernel_pattern = glob;
      }
    }
    suite.cases = std::move(cases);
  }
}

}  // namespace plumbline
