// plumbline baseline: accepts or pins the outcomes that later runs are compared with. Each decision
// is an explicit row: who, when, why.
#include <fmt/format.h>

#include <cstdlib>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct DecisionOptions {
  DatabaseOption database;
  std::string run = "latest", cases = "*", who, why, format = "text";
};

// Opens the database, finds the run, and hands both to `decide`, which prints what it did.
template <class Decide>
int decided(const DecisionOptions& options, Decide&& decide) {
  if (options.why.empty())
    return report_errors({{"", 0, "--why must not be empty", "say why the new outcomes are right"}},
                         exit_usage);
  if (options.who.empty()) {
    return report_errors(
        {{"", 0, "nobody is named who decides this, and $USER is empty", "say --who NAME"}},
        exit_usage);
  }
  auto store = options.database.open_existing();
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto run = (*store)->resolve_run(options.run);
  if (!run) return report_errors(run.error(), exit_usage);
  const Result<std::string> done = decide(**store, *run);
  if (!done) return report_errors(done.error(), exit_usage);
  if (options.format == "json") {
    print_json(json_text({{"decided", *done},
                          {"run_id", *run},
                          {"cases", options.cases},
                          {"who", options.who},
                          {"why", options.why}}));
  } else {
    fmt::print("{} of run {}: {} ({})\n", *done, run->substr(0, 8), options.why, options.who);
  }
  return exit_fine;
}

std::string plural(int count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

int accept(const DecisionOptions& options) {
  return decided(options, [&](Store& store, const std::string& run) -> Result<std::string> {
    auto accepted = store.accept(run, options.cases, options.who, options.why);
    if (!accepted) return tl::unexpected(accepted.error());
    std::string text = fmt::format("accepted {} ({}", options.cases,
                                   plural(accepted->outcomes, "outcome", "outcomes"));
    if (accepted->refused > 0)
      text += fmt::format(", {}", plural(accepted->refused, "refusal", "refusals"));
    if (accepted->vanished > 0)
      text += fmt::format(", {}", plural(accepted->vanished, "vanished case", "vanished cases"));
    return text + ")";
  });
}

int pin(const DecisionOptions& options) {
  return decided(options, [&](Store& store, const std::string& run) -> Result<std::string> {
    auto pinned = store.pin(run, options.cases, options.who, options.why);
    if (!pinned) return tl::unexpected(pinned.error());
    return fmt::format("pinned {} ({})", options.cases, plural(*pinned, "outcome", "outcomes"));
  });
}

constexpr std::array table_formats{Format<Store::Table>{"text", render_query},
                                   Format<Store::Table>{"json", nullptr, json_of_table}};

int list_decisions(const DatabaseOption& database, const std::string& format) {
  auto store = database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = (*store)->query(
      "SELECT 'accept' AS decision, accepted_at AS \"when\", accepted_by AS who, reason, run_id, "
      "case_glob, case_id FROM v_accepted "
      "UNION ALL SELECT 'pin', pinned_at, pinned_by, reason, run_id, case_glob, case_id FROM "
      "v_pinned ORDER BY 2 DESC, case_id");
  if (!table) return report_errors(table.error(), exit_infrastructure);
  write_as(table_formats, format, *table);
  return exit_fine;
}

void add_decision(Command baseline, const std::string& verb, const std::string& help,
                  int (*decide)(const DecisionOptions&), int& exit_code) {
  const Command command = baseline.add_subcommand(verb, help);
  auto options = std::make_shared<DecisionOptions>();
  if (const char* user = std::getenv("USER"); user != nullptr) options->who = user;
  command.add_option("run", options->run, "Run id, unique prefix, latest or latest~N")
      .capture_default_str();
  command.add_option("--cases", options->cases, "Glob over case ids").capture_default_str();
  command.add_option("--who", options->who, "Who decides this (default: $USER)");
  command.add_option("--why", options->why, "Why these outcomes are right").required();
  options->database.add_to(command);
  add_format(command, options->format, {"text", "json"}, "text or json");
  command.callback([options, decide, &exit_code] { exit_code = decide(*options); });
}

}  // namespace

void add_baseline(Command app, int& exit_code) {
  const Command command = app.add_subcommand(
      "baseline",
      "Accept outcomes as the new baseline, pin them, or list what was accepted and pinned");
  command.require_subcommand(1);
  command.footer(
      "accept  the next run is compared with these outcomes; cases listed as vanished or refused "
      "are missed no more\n"
      "pin     all later runs are measured against these outcomes, too, so that small steps do not "
      "add up;\n"
      "        the newest pin of a case counts\n"
      "Both are added to what was decided before, and never changed.\n"
      "Examples:\n  plumbline baseline accept latest --cases 'cpu/flash/*' --why 'tile order "
      "changed, reviewed in #12'\n"
      "  plumbline baseline pin latest --why 'release 1.4'\n  plumbline baseline list");
  add_decision(command, "accept", "Later runs are compared with these outcomes", accept, exit_code);
  add_decision(command, "pin",
               "Later runs are measured against these outcomes for as long as they are pinned", pin,
               exit_code);

  const Command list_command =
      command.add_subcommand("list", "What was accepted and pinned, newest first");
  auto database = std::make_shared<DatabaseOption>();
  auto format = std::make_shared<std::string>("text");
  database->add_to(list_command);
  add_format(list_command, *format, table_formats);
  list_command.callback(
      [database, format, &exit_code] { exit_code = list_decisions(*database, *format); });
}

}  // namespace plumbline::cli
