// The issues of a run, most important first: cases that fail, are slower, are open or are no longer
// measured, in groups.
#pragma once

#include <string>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

enum class IssueKind {
  broken,    // a failure that is not only a timing finding
  slower,    // a timing regression, or a slowdown that is not judged yet
  open,      // such as ambiguous or unconfirmed
  coverage,  // no longer measured, now refused, or judged less strictly
  faster,    // an improvement; reported but not judged
};

// An issue: results of one kernel with the same verdict and cause. Its first case, the worst, is
// its lead.
struct Issue {
  IssueKind kind = IssueKind::broken;
  std::string title;               // the cause in words; never empty
  std::string text;                // the lead's finding as a sentence; may be empty
  std::string kernel;              // or the name of a diff
  std::string dtype, arch;         // "" = several
  std::string verdict;             // in words; for coverage the kind of change
  std::vector<std::size_t> cases;  // indices of the report's outcomes, worst first
  std::vector<std::string> names;  // results without an outcome: vanished cases, diffs, invariances
  // The commits of the baseline's run and of this run; "" = unknown, or no past.
  std::string since, commit;
  // The first night of the issue if the nights are known; "" otherwise.
  std::string since_night;
  std::size_t size() const { return cases.size() + names.size(); }
};

// The past of an outcome.
struct PastCommit {
  bool has_past = false;
  std::string commit;  // of the baseline's run
};

// `past`: one entry per outcome, or empty if unknown.
std::vector<Issue> find_issues(const RunReport& report, const std::vector<PastCommit>& past);

// Returns the outcome's cause, why it did not run, or its first finding; "" for a plain pass.
std::string cause_in_words(const StoredOutcome& stored);

// Returns, for example, "Not fine: 3 failures in 466 cases. mutants/x in 2 cases since
// 0123abcde..4567defab: the sums are kept in bf16. There is 1 more cause. 40 cases were not
// measured." For an incomplete run it begins with "Incomplete: 178 of 374 cases not measured." If
// commits are unknown, it has "since night 2027-01-05". A cause in several kernels counts once.
std::string sentence_of(const RunReport& report, const std::vector<Issue>& news);

}  // namespace plumbline
