// plumbline show: a stored run, or one of its cases in full.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/judge/judge.h"
#include "harness/report/invariance_text.h"
#include "harness/run/conclusion.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct ShowOptions {
  DatabaseOption database;
  std::string run = "latest", format = "text";
  std::vector<std::string> cases;
};

Result<void> show(const ShowOptions& options, Store& store) {
  auto run_id = store.resolve_run(options.run);
  if (!run_id) return tl::unexpected(run_id.error());
  auto run = store.run(*run_id);
  auto outcomes = store.outcomes(*run_id);
  auto diffs = store.diffs(*run_id);
  auto scores = store.suite_scores(*run_id);
  auto invariances = store.invariances(*run_id);
  auto changes = store.changes(*run_id);
  if (!run) return tl::unexpected(run.error());
  if (!outcomes) return tl::unexpected(outcomes.error());
  if (!diffs) return tl::unexpected(diffs.error());
  if (!scores) return tl::unexpected(scores.error());
  if (!invariances) return tl::unexpected(invariances.error());
  if (!changes) return tl::unexpected(changes.error());
  if (!options.cases.empty()) {
    std::erase_if(*outcomes, [&](const StoredOutcome& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(), [&](const auto& glob) {
        return glob_match(glob, stored.outcome.case_id);
      });
    });
    std::erase_if(*diffs, [&](const StoredDiff& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(),
                          [&](const auto& glob) { return glob_match(glob, stored.outcome.name); });
    });
    std::erase_if(*invariances, [&](const StoredInvariance& stored) {
      return std::none_of(options.cases.begin(), options.cases.end(), [&](const auto& glob) {
        return glob_match(glob, stored.outcome.case_id);
      });
    });
    if (outcomes->empty() && diffs->empty())
      return fail(fmt::format("no case of run {} matches", *run_id),
                  "see `plumbline show` without a case");
    if (options.format == "text") {
      std::string text;
      for (const auto& stored : *outcomes)
        text += render_case(stored, reproduce_command(run->info), output_style());
      for (const auto& stored : *diffs) text += render_diff(stored, output_style());
      text += render_invariances(*invariances, reproduce_command(run->info), output_style());
      fmt::print("{}", text);
      return {};
    }
  }
  const int code = exit_code_of({*outcomes, *diffs, *invariances, *scores, *changes});
  const RunReport content{&run->info,
                          &*outcomes,
                          &*diffs,
                          &*scores,
                          code,
                          reproduce_command(run->info),
                          invariances->empty() ? nullptr : &*invariances,
                          &*changes};
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
  const Command command = app.add_subcommand("show", "Show a stored run, or cases of it in full");
  auto options = std::make_shared<ShowOptions>();
  command.add_option("run", options->run, "Run id, unique prefix, latest or latest~N")
      .capture_default_str();
  command.add_option("case", options->cases, "Globs over case ids: show these in full");
  options->database.add_to(command);
  add_format(command, options->format, run_formats);
  command.footer(
      "Examples:\n  plumbline show\n  plumbline show latest '*split_kv*'\n  plumbline show "
      "latest~1 --format json");
  command.callback([options, &exit_code] { exit_code = show_command(*options); });
}

}  // namespace plumbline::cli
