// What the page shows beside a run: the nights before it, what people decided, and how the cases
// that matter went night by night.
#pragma once

#include "harness/cli/commands/stored_runs.h"
#include "harness/report/page_data.h"

namespace plumbline::cli {

// The newest 60 nights up to the subject's; of a run outside of nights the runs of its kind: the
// same purpose, selection and host class.
std::vector<PageNight> nights_before(Store& store, const StoredRuns& subject);
std::vector<PageDecision> decisions_about(Store& store, const std::vector<PageNight>& nights);
// Of each outcome at `rows` in those nights.
std::map<std::size_t, std::vector<PagePoint>> histories_of(Store& store, const StoredRuns& subject,
                                                           const std::vector<std::size_t>& rows,
                                                           const std::vector<PageNight>& nights);
// Of each outcome the commit of its baseline; of those that are no news nothing is looked up.
std::vector<PastCommit> past_commits(Store& store, const StoredRuns& subject);

}  // namespace plumbline::cli
