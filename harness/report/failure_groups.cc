// Groups failing cases, diffs and invariances by verdict and cause.
#include "harness/report/failure_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/issues.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

class Grouping {
 public:
  FailureGroup* add(Verdict verdict, const std::string& kernel, const std::string& cause,
                    const std::string& name) {
    if (!needs_attention(verdict)) return nullptr;
    const auto [at, is_new] = index_.try_emplace({verdict, without_figures(cause)}, groups_.size());
    if (is_new) {
      groups_.emplace_back();
      groups_.back().verdict = verdict, groups_.back().cause = cause;
    }
    FailureGroup& group = groups_[at->second];
    group.names.push_back(name);
    group.kernels.insert(kernel);
    return &group;
  }
  std::vector<FailureGroup> take() && {
    std::stable_sort(groups_.begin(), groups_.end(),
                     [](const auto& a, const auto& b) { return a.names.size() > b.names.size(); });
    return std::move(groups_);
  }

 private:
  std::vector<FailureGroup> groups_;
  std::map<std::pair<Verdict, std::string>, std::size_t> index_;
};

}  // namespace

std::string without_figures(std::string_view cause) {
  std::string text;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t i = 0; i < cause.size();) {
    if (!is_digit(cause[i])) {
      text += cause[i++];
      continue;
    }
    // Replaces the whole number: sign, point and exponent included.
    if (text.ends_with('-') || text.ends_with('+')) text.pop_back();
    while (i < cause.size() && (is_digit(cause[i]) || cause[i] == '.')) ++i;
    if (i + 1 < cause.size() && cause[i] == 'e' &&
        (is_digit(cause[i + 1]) || cause[i + 1] == '-' || cause[i + 1] == '+')) {
      i += 2;
      while (i < cause.size() && is_digit(cause[i])) ++i;
    }
    text += '#';
  }
  return text;
}

std::vector<FailureGroup> failure_groups(const RunReport& report) {
  Grouping groups;
  for (const StoredOutcome& stored : *report.outcomes) {
    FailureGroup* const group = groups.add(stored.judgement.verdict, stored.outcome.c.kernel,
                                           cause_in_words(stored), stored.outcome.case_id);
    if (group == nullptr) continue;
    ++group->cases;
    if (group->names.size() == 1) group->outcome = &stored;
  }
  for (const StoredDiff& stored : *report.diffs) {
    const std::string name = stored.outcome.suite + "/" + stored.outcome.name;
    FailureGroup* const group =
        groups.add(stored.judgement.verdict, name, why(stored.judgement), name);
    if (group != nullptr && group->names.size() == 1) group->diff = &stored;
  }
  if (report.invariances != nullptr) {
    for (const StoredInvariance& stored : *report.invariances) {
      const std::string invariance(name(stored.outcome.invariance));
      FailureGroup* const group =
          groups.add(stored.judgement.verdict, stored.outcome.c.kernel, "invariance " + invariance,
                     invariance + " of " + stored.outcome.case_id);
      if (group != nullptr && group->names.size() == 1) group->invariance = &stored;
    }
  }
  return std::move(groups).take();
}

std::string render_first(const FailureGroup& group, const std::string& reproduce_command,
                         const Style& style) {
  if (group.outcome != nullptr) return render_case(*group.outcome, reproduce_command, style);
  if (group.diff != nullptr) return render_diff(*group.diff, style);
  return render_invariance(*group.invariance, reproduce_command, style);
}

std::string members_text(const FailureGroup& group) {
  if (group.names.size() == 1) return group.names.front();
  return fmt::format(
      "{} of {}", group.names.size(),
      group.kernels.size() == 1 ? *group.kernels.begin() : plural(group.kernels.size(), "kernel"));
}

}  // namespace plumbline
