// What a run has to tell, most important first: cases that fail, are slower, are open, or are no
// longer measured, in groups of which each is one piece of news.
#pragma once

#include <string>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

enum class NewsKind {
  broken,    // a failure that is not of the time alone
  slower,    // a regression of the time
  open,      // ambiguous or unconfirmed
  coverage,  // no longer measured, refused now, or held to less
  faster,    // not judged, told
};

// Of one kernel, with one verdict and one cause.
struct News {
  NewsKind kind = NewsKind::broken;
  std::string title;               // the cause in words; never empty
  std::string text;                // the lead's finding, a sentence; may be empty
  std::string kernel;              // or what a diff or a suite statistic is called
  std::string dtype, arch;         // "" = several
  std::string verdict;             // in words; of coverage the kind of the change
  std::vector<std::size_t> cases;  // places in the report's outcomes, the farthest beyond first
  std::vector<std::string> names;  // of what has no outcome: vanished cases, diffs, invariances
  // The commit of the newest accepted run before, and this run's; "" = not known, or no past.
  std::string since, commit;
  // The first night in which it was so, where the nights are at hand; "" otherwise.
  std::string since_night;
  std::size_t size() const { return cases.size() + names.size(); }
};

// Per outcome, what is known of its past; empty: nothing is.
struct PastCommit {
  bool has_past = false;
  std::string commit;  // of the run of its baseline
};

// `past`: of each outcome, or empty.
std::vector<News> news_of(const RunReport& report, const std::vector<PastCommit>& past);

// What an outcome is put down to: its cause, why it did not run, or its first finding; "" for a
// plain pass.
std::string cause_in_words(const StoredOutcome& stored);

// "Not fine: 3 failures in 466 cases. mutants/x in 2 cases since 0123abc..4567def: the sums are
// kept in bf16. There is 1 more cause. 40 cases were not measured." An incomplete run begins with
// "Incomplete: 178 of 374 cases not measured." Without commits it says "since night 2027-01-05", if
// the nights are at hand. A cause that several kernels share is one.
std::string sentence_of(const RunReport& report, const std::vector<News>& news);

}  // namespace plumbline
