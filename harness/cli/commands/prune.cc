// plumbline prune: deletes outcomes that no longer matter from all but the newest nights.
#include "harness/store/prune.h"

#include <fmt/format.h>

#include "harness/base/enumeration.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct PruneCommand {
  std::filesystem::path database;
  PruneOptions options;
  std::string format = "text";
};

void print(const PruneCommand& command, const PruneReport& report) {
  fmt::print("{}: {} nights; the last {}{} stay whole\n", command.database.string(),
             report.nights_before, report.nights_whole,
             report.since.empty() ? "" : fmt::format(" (since {})", report.since));
  fmt::print("{} of {} outcomes {}\n", report.outcomes_deleted, report.outcomes_before,
             command.options.dry_run ? "would be deleted" : "deleted");
  for (std::size_t i = 0; i < reasons_to_keep; ++i) {
    if (report.kept[i] > 0)
      fmt::print("  kept of older nights: {:8} {}\n", report.kept[i],
                 words(static_cast<KeptFor>(i)));
  }
  if (command.options.dry_run) return;
  fmt::print("{} other rows and {} of {} runs deleted\n", report.other_rows_deleted,
             report.runs_deleted, report.runs_before);
  fmt::print("{:.1f} MB, {:.1f} MB before{}\n", static_cast<double>(report.bytes) / 1e6,
             static_cast<double>(report.bytes_before) / 1e6,
             command.options.vacuum
                 ? ""
                 : ": later nights reuse the free space; --vacuum returns it to the disk");
}

std::string as_json(const PruneCommand& command, const PruneReport& report) {
  Json kept = Json::object();
  for (std::size_t i = 0; i < reasons_to_keep; ++i)
    kept[std::string(name(static_cast<KeptFor>(i)))] = report.kept[i];
  return json_text(
      {{"database", command.database.string()},
       JSON_FIELDS(command.options, dry_run),
       JSON_FIELDS(report, nights_before, nights_whole, since, outcomes_before, outcomes_deleted),
       {"kept", std::move(kept)},
       JSON_FIELDS(report, other_rows_deleted, runs_before, runs_deleted, bytes_before, bytes)});
}

int prune(const PruneCommand& command) {
  if (command.options.dry_run && command.options.vacuum)
    end_command(exit_usage, "--dry-run changes nothing, and --vacuum would",
                "leave one of them out");
  const auto report = need(prune_database(command.database, command.options));
  if (command.format == "json") {
    print_json(as_json(command, report));
  } else {
    print(command, report);
  }
  return exit_fine;
}

}  // namespace

void add_prune(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, prune, "prune",
               "Delete outcomes of old nights, and keep what matters of them");
  command.add_option("database", options.database, "FILE", "Database of runs").required();
  command.add_option("--nights", options.options.nights, "Newest nights that stay whole")
      .check(from_to(1, 100000))
      .capture_default_str();
  command.add_flag("--dry-run", options.options.dry_run,
                   "Print what would be deleted, and why the rest stays");
  command.add_flag("--vacuum", options.options.vacuum,
                   "Then return the free space to the disk, which rewrites the file");
  add_format(command, options.format, {"text", "json"});
  command.footer(
      "Older nights keep failures, outcomes that were accepted, acknowledged or pinned, the 14\n"
      "nights before a pinned one, both sides of every change of bits, verdict or time, the first\n"
      "and newest outcome of every series, and the newest complete runs. All is deleted in one\n"
      "transaction, so an interruption changes nothing.\n"
      "Examples:\n"
      "  plumbline prune history.db --dry-run\n"
      "  plumbline prune history.db --nights 60 --vacuum");
}

}  // namespace plumbline::cli
