// plumbline show: a stored run or night, or one of its cases in full.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/stored_runs.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/invariance_text.h"
#include "harness/report/summary.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct ShowOptions {
  DatabaseOption database;
  std::string run = "latest", format = "text";
  std::vector<std::string> cases;
  bool verbose = false;
};

// Answers the exit code: 3 for an incomplete run, else 0.
Result<int> show(const ShowOptions& options, Store& store) {
  const auto selection = store.resolve_runs(options.run);
  if (!selection) return tl::unexpected(selection.error());
  auto stored_runs = read_runs(store, *selection);
  if (!stored_runs) return tl::unexpected(stored_runs.error());
  const RunInfo& run = stored_runs->newest;
  auto& outcomes = stored_runs->outcomes;
  auto& diffs = stored_runs->diffs;
  auto& invariances = stored_runs->invariances;
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
      Style style = output_style();
      style.verbose = true;
      for (const auto& stored : outcomes)
        text += render_case(stored, reproduce_command(run), style) + render_errors(stored, style);
      for (const auto& stored : diffs) text += render_diff(stored, style);
      text += render_invariances(invariances, reproduce_command(run), style);
      if (stored_runs->incomplete.any) {
        text += fmt::format("Incomplete: {}\n", missing_text(stored_runs->incomplete));
      }
      fmt::print("{}", text);
      return stored_runs->incomplete.any ? exit_infrastructure : exit_fine;
    }
  }
  if (stored_runs->runs.size() > 1 && options.format == "text")
    fmt::print("{}: {}, the newest outcome of each case\n\n", selection->label,
               plural(stored_runs->runs.size(), "run"));
  write_as(run_formats, options.format, stored_runs->report(), options.verbose);
  return stored_runs->incomplete.any ? exit_infrastructure : exit_fine;
}

int show_command(const ShowOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  const auto shown = show(options, **store);
  return shown ? *shown : report_errors(shown.error(), exit_usage);
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
  command.add_flag("--verbose,-v", options->verbose, "Each failure in full, not one of each cause");
  add_format(command, options->format, run_formats);
  command.footer(
      "Examples:\n  plumbline show\n  plumbline show latest '*split_kv*'\n  plumbline show "
      "latest~1 --format json\n  plumbline show latest-night");
  command.callback([options, &exit_code] { exit_code = show_command(*options); });
}

}  // namespace plumbline::cli
