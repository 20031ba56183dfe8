// plumbline show: a stored run or night, or one of its cases in full.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/run/conclusion.h"
#include "harness/store/machine.h"
#include "harness/store/night.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct ShowOptions {
  DatabaseOption database;
  std::string run = "latest", format = "text";
  std::vector<std::string> cases;
};

// What several runs hold together. Of a case that several of them measured on one kind of host the
// newest outcome stands.
struct StoredRuns {
  RunInfo newest;
  std::size_t runs = 0;
  std::vector<StoredOutcome> outcomes;
  std::vector<StoredDiff> diffs;
  std::vector<SuiteScore> scores;
  std::vector<StoredInvariance> invariances;
  std::vector<RunChange> changes;
  std::vector<NightTimes> night_times;
};

template <class Row>
Result<void> append(Result<std::vector<Row>> more, std::vector<Row>& rows) {
  if (!more) return tl::unexpected(more.error());
  rows.insert(rows.end(), std::make_move_iterator(more->begin()),
              std::make_move_iterator(more->end()));
  return {};
}

Result<StoredRuns> read_runs(Store& store, const RunSelection& selection) {
  StoredRuns all;
  all.runs = selection.run_ids.size();
  std::map<std::string, std::size_t> place;  // of the outcome of a case of a suite on a host
  for (const std::string& run_id : selection.run_ids) {
    auto run = store.run(run_id);
    if (!run) return tl::unexpected(run.error());
    all.newest = run->info;
    auto outcomes = store.outcomes(run_id);
    if (!outcomes) return tl::unexpected(outcomes.error());
    for (StoredOutcome& stored : *outcomes) {
      const std::string key = fmt::format("{}\n{}\n{}", stored.outcome.suite,
                                          stored.outcome.case_id, describe(run->info.machine));
      const auto [at, is_new] = place.emplace(key, all.outcomes.size());
      if (is_new)
        all.outcomes.push_back(std::move(stored));
      else
        all.outcomes[at->second] = std::move(stored);
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

Result<void> show(const ShowOptions& options, Store& store) {
  const auto selection = store.resolve_runs(options.run);
  if (!selection) return tl::unexpected(selection.error());
  auto stored_runs = read_runs(store, *selection);
  if (!stored_runs) return tl::unexpected(stored_runs.error());
  auto& [run, runs, outcomes, diffs, scores, invariances, changes, night_times] = *stored_runs;
  if (!options.cases.empty()) {
    std::erase_if(outcomes, [&](const StoredOutcome& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(), [&](const auto& glob) {
        return glob_match(glob, stored.outcome.case_id);
      });
    });
    std::erase_if(diffs, [&](const StoredDiff& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(),
                          [&](const auto& glob) { return glob_match(glob, stored.outcome.name); });
    });
    std::erase_if(invariances, [&](const StoredInvariance& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(), [&](const auto& glob) {
        return glob_match(glob, stored.outcome.case_id);
      });
    });
    if (outcomes.empty() && diffs.empty())
      return fail(fmt::format("no case of {} matches", selection->label),
                  "see `plumbline show` without a case");
    if (options.format == "text") {
      std::string text;
      for (const auto& stored : outcomes)
        text += render_case(stored, reproduce_command(run), output_style());
      for (const auto& stored : diffs) text += render_diff(stored, output_style());
      text += render_invariances(invariances, reproduce_command(run), output_style());
      fmt::print("{}", text);
      return {};
    }
  }
  const int code = exit_code_of({outcomes, diffs, invariances, scores, changes, night_times});
  RunReport content{&run,
                    &outcomes,
                    &diffs,
                    &scores,
                    code,
                    reproduce_command(run),
                    invariances.empty() ? nullptr : &invariances,
                    &changes};
  content.night_times = &night_times;
  if (runs > 1 && options.format == "text")
    fmt::print("{}: {}, the newest outcome of each case\n\n", selection->label,
               plural(runs, "run"));
  write_as(run_formats, options.format, content);
  return {};
}

int show_command(const ShowOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto shown = show(options, **store);
  return shown ? exit_fine : report_errors(shown.error(), exit_usage);
}

}  // namespace

void add_show(Command app, int& exit_code) {
  const Command command =
      app.add_subcommand("show", "Show a stored run or night, or cases of it in full");
  auto options = std::make_shared<ShowOptions>();
  command
      .add_option(
          "run", options->run,
          "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, night:ID; "
          "commit:SHA")
      .capture_default_str();
  command.add_option("case", options->cases, "Globs over case ids: show these in full");
  options->database.add_to(command);
  add_format(command, options->format, run_formats);
  command.footer(
      "Examples:\n  plumbline show\n  plumbline show latest '*split_kv*'\n  plumbline show "
      "latest~1 --format json\n  plumbline show latest-night");
  command.callback([options, &exit_code] { exit_code = show_command(*options); });
}

}  // namespace plumbline::cli
