// Reads the rows of each run, and keeps the newest outcome of each case.
#include "harness/cli/commands/stored_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/cli/command_end.h"
#include "harness/cli/session.h"
#include "harness/run/run_result.h"
#include "harness/store/machine.h"

namespace plumbline::cli {
namespace {

template <class Row>
void append(std::vector<Row> more, std::vector<Row>& rows) {
  std::ranges::move(more, std::back_inserter(rows));
}

}  // namespace

int StoredRuns::exit_code() const {
  return exit_code_of(state_of({outcomes, diffs, invariances, scores, changes, night_times,
                                !incomplete.any, std::ranges::any_of(runs, has_wrong_clock)}));
}

RunReport StoredRuns::report() const {
  RunReport content{&newest,
                    &outcomes,
                    &diffs,
                    &scores,
                    exit_code(),
                    reproduce_command(newest),
                    invariances.empty() ? nullptr : &invariances,
                    &changes};
  content.night_times = &night_times;
  content.incomplete = incomplete;
  content.unsettled = unsettled_of(runs);
  return content;
}

StoredRuns read_runs(Store& store, const RunSelection& selection, int exit_code) {
  StoredRuns all;
  std::map<std::string, std::size_t> place;  // index of an outcome, by suite, case and host
  for (const std::string& run_id : selection.run_ids) {
    const StoredRun run = need(store.run(run_id), exit_code);
    all.newest = run.info;
    all.runs.push_back(run.info);
    auto outcomes = need(store.outcomes(run_id), exit_code);
    all.incomplete.add(run, outcomes.size());
    for (StoredOutcome& stored : outcomes) {
      const std::string key = fmt::format("{}\n{}\n{}", stored.outcome.suite,
                                          stored.outcome.case_id, describe(run.info.machine));
      const auto [at, is_new] = place.emplace(key, all.outcomes.size());
      if (is_new) {
        all.outcomes.push_back(std::move(stored));
        all.run_of.push_back(all.runs.size() - 1);
      } else {
        all.outcomes[at->second] = std::move(stored);
        all.run_of[at->second] = all.runs.size() - 1;
      }
    }
    append(need(store.diffs(run_id), exit_code), all.diffs);
    append(need(store.suite_scores(run_id), exit_code), all.scores);
    append(need(store.invariances(run_id), exit_code), all.invariances);
    append(need(store.changes(run_id), exit_code), all.changes);
    append(need(store.night_times(run_id), exit_code), all.night_times);
  }
  return all;
}

}  // namespace plumbline::cli
