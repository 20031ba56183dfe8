// plumbline show: prints a stored run or night, or one of its cases in full.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/command_end.h"
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

// Returns the exit code: 3 for an incomplete run, otherwise 0.
int show(const ShowOptions& options, Store& store) {
  const auto selection = need(store.resolve_runs(options.run), exit_usage);
  auto stored_runs = read_runs(store, selection, exit_usage);
  const RunInfo& run = stored_runs.newest;
  auto& outcomes = stored_runs.outcomes;
  auto& diffs = stored_runs.diffs;
  auto& invariances = stored_runs.invariances;
  if (!options.cases.empty()) {
    const auto keep_named = [&](auto& rows, auto id_of) {
      std::erase_if(rows, [&](const auto& stored) {
        return std::ranges::none_of(options.cases, [&](const std::string& glob) {
          return glob_match(glob, id_of(stored.outcome));
        });
      });
    };
    const auto case_of = [](const auto& outcome) { return outcome.case_id; };
    keep_named(outcomes, case_of);
    keep_named(diffs, [](const DiffOutcome& diff) { return diff.name; });
    keep_named(invariances, case_of);
    if (outcomes.empty() && diffs.empty())
      end_command(exit_usage, fmt::format("no case of {} matches", selection.label),
                  "see `plumbline show` without a case");
    if (options.format == "text") {
      std::string text;
      Style style = output_style();
      style.verbose = true;
      for (const auto& stored : outcomes)
        text += render_case(stored, reproduce_command(run), style) + render_errors(stored, style);
      for (const auto& stored : diffs) text += render_diff(stored, style);
      text += render_invariances(invariances, reproduce_command(run), style);
      if (stored_runs.incomplete.any) {
        text += fmt::format("Incomplete: {}\n", missing_text(stored_runs.incomplete));
      }
      fmt::print("{}", text);
      return stored_runs.incomplete.any ? exit_infrastructure : exit_fine;
    }
  }
  if (stored_runs.runs.size() > 1 && options.format == "text")
    fmt::print("{}: {}, the newest outcome of each case\n\n", selection.label,
               plural(stored_runs.runs.size(), "run"));
  write_as(run_formats, options.format, stored_runs.report(), options.verbose);
  return stored_runs.incomplete.any ? exit_infrastructure : exit_fine;
}

int show_command(const ShowOptions& options) {
  auto store = need(options.database.open(true));
  return show(options, *store);
}

}  // namespace

void add_show(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, show_command, "show",
                                     "Show a stored run or night, or cases of it in full");
  command
      .add_option(
          "run", options.run,
          "Run id, unique prefix, latest, latest~N; latest-night, latest-night~N, night:ID; "
          "commit:SHA")
      .capture_default_str();
  command.add_option("case", options.cases, "Globs over case ids: show these in full");
  options.database.add_to(command);
  command.add_flag("--verbose,-v", options.verbose,
                   "Print up to 20 failures in full, not only one for each cause");
  add_format(command, options.format, run_formats);
  command.footer(
      "Examples:\n  plumbline show\n  plumbline show latest '*split_kv*'\n  plumbline show "
      "latest~1 --format json\n  plumbline show latest-night");
}

}  // namespace plumbline::cli
