// Reads the rows of each run, and lets the newest outcome of a case stand.
#include "harness/cli/commands/stored_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/cli/session.h"
#include "harness/run/conclusion.h"
#include "harness/store/machine.h"

namespace plumbline::cli {
namespace {

template <class Row>
Result<void> append(Result<std::vector<Row>> more, std::vector<Row>& rows) {
  if (!more) return tl::unexpected(more.error());
  rows.insert(rows.end(), std::make_move_iterator(more->begin()),
              std::make_move_iterator(more->end()));
  return {};
}

}  // namespace

int StoredRuns::exit_code() const {
  return exit_code_of(
      state_of({outcomes, diffs, invariances, scores, changes, night_times, !incomplete.any,
                std::any_of(runs.begin(), runs.end(), has_wrong_clock)}));
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

Result<StoredRuns> read_runs(Store& store, const RunSelection& selection) {
  StoredRuns all;
  std::map<std::string, std::size_t> place;  // of the outcome of a case of a suite on a host
  for (const std::string& run_id : selection.run_ids) {
    auto run = store.run(run_id);
    if (!run) return tl::unexpected(run.error());
    all.newest = run->info;
    all.runs.push_back(run->info);
    auto outcomes = store.outcomes(run_id);
    if (!outcomes) return tl::unexpected(outcomes.error());
    all.incomplete.add(*run, outcomes->size());
    for (StoredOutcome& stored : *outcomes) {
      const std::string key = fmt::format("{}\n{}\n{}", stored.outcome.suite,
                                          stored.outcome.case_id, describe(run->info.machine));
      const auto [at, is_new] = place.emplace(key, all.outcomes.size());
      if (is_new) {
        all.outcomes.push_back(std::move(stored));
        all.run_of.push_back(all.runs.size() - 1);
      } else {
        all.outcomes[at->second] = std::move(stored);
        all.run_of[at->second] = all.runs.size() - 1;
      }
    }
    if (auto added = append(store.diffs(run_id), all.diffs); !added)
      return tl::unexpected(added.error());
    if (auto added = append(store.suite_scores(run_id), all.scores); !added)
      return tl::unexpected(added.error());
    if (auto added = append(store.invariances(run_id), all.invariances); !added)
      return tl::unexpected(added.error());
    if (auto added = append(store.changes(run_id), all.changes); !added)
      return tl::unexpected(added.error());
    if (auto added = append(store.night_times(run_id), all.night_times); !added)
      return tl::unexpected(added.error());
  }
  return all;
}

}  // namespace plumbline::cli
