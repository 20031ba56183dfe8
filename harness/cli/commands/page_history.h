// The past of a run on its page: the nights before it, decisions, and histories of cases.
#pragma once

#include "harness/cli/commands/stored_runs.h"
#include "harness/report/page_data.h"

namespace plumbline::cli {

// Returns the newest 60 nights up to the subject's. For a run without a night, returns runs with
// the same purpose, selection and host class instead.
std::vector<PageNight> nights_before(Store& store, const StoredRuns& subject);
std::vector<PageDecision> decisions_about(Store& store, const std::vector<PageNight>& nights);
// Returns the charted points of the outcomes with the indices `rows`, in these nights.
std::map<std::size_t, std::vector<PagePoint>> histories_of(Store& store, const StoredRuns& subject,
                                                           const std::vector<std::size_t>& rows,
                                                           const std::vector<PageNight>& nights);
// Returns the commit of each outcome's baseline; empty if the outcome needs no attention.
std::vector<PastCommit> past_commits(Store& store, const StoredRuns& subject);

}  // namespace plumbline::cli
