// plumbline baseline: what later runs are compared with. Re-baselining is an explicit row: who, when, why.
#include <fmt/format.h>

#include <cstdlib>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

struct AcceptOptions {
  DatabaseOption database;
  std::string run = "latest", cases = "*", who, why;
};

int accept(const AcceptOptions& options) {
  if (options.why.empty()) return report_errors({{"", 0, "--why must not be empty", "say why the new outcomes are right"}}, exit_usage);
  auto store = options.database.open(false);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto run = (*store)->resolve_run(options.run);
  if (!run) return report_errors(run.error(), exit_usage);
  auto accepted = (*store)->accept(*run, options.cases, options.who, options.why);
  if (!accepted) return report_errors(accepted.error(), exit_usage);
  fmt::print("accepted {} of run {}: {} ({})\n", options.cases, run->substr(0, 8), options.why, options.who);
  return exit_fine;
}

int list_accepted(const DatabaseOption& database, const std::string& format) {
  auto store = database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = (*store)->query("SELECT * FROM v_accepted ORDER BY accepted_at DESC");
  if (!table) return report_errors(table.error(), exit_infrastructure);
  fmt::print("{}", format == "json" ? render_query_json(*table) : render_query(*table, output_style()));
  return exit_fine;
}

}  // namespace

void add_baseline(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("baseline", "Accept outcomes as the new baseline, or list what was accepted");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  plumbline baseline accept latest --cases 'cpu/flash/*' --why 'tile order changed, reviewed in #12'\n  plumbline "
      "baseline list");

  auto* accept_command = command->add_subcommand("accept", "Later runs are compared with these outcomes");
  auto options = std::make_shared<AcceptOptions>();
  if (const char* user = std::getenv("USER"); user != nullptr) options->who = user;
  accept_command->add_option("run", options->run, "Run id, unique prefix, latest or latest~N")->capture_default_str();
  accept_command->add_option("--cases", options->cases, "Glob over case ids")->capture_default_str();
  accept_command->add_option("--who", options->who, "Who accepts (default: $USER)");
  accept_command->add_option("--why", options->why, "Why the new outcomes are right")->required();
  options->database.add_to(*accept_command);
  accept_command->callback([options, &exit_code] { exit_code = accept(*options); });

  auto* list_command = command->add_subcommand("list", "What was accepted, newest first");
  auto database = std::make_shared<DatabaseOption>();
  auto format = std::make_shared<std::string>("text");
  database->add_to(*list_command);
  list_command->add_option("--format", *format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  list_command->callback([database, format, &exit_code] { exit_code = list_accepted(*database, *format); });
}

}  // namespace plumbline::cli
