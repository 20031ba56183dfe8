// plumbline history: one case over runs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"

namespace plumbline::cli {
namespace {

struct HistoryOptions {
  DatabaseOption database;
  std::string pattern, format = "text";
  int limit = 30;
};

// Doubles the quotes: an id is data, never SQL.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string sql(const HistoryOptions& options) {
  return fmt::format(
      "SELECT case_id, started_at, substr(run_id, 1, 8) AS run, verdict, printf('%.3f', rms) AS rms, printf('%.0f %%', percent_of_limit) "
      "AS \"of limit\", "
      "CASE WHEN timed THEN printf('%.3f', time_ratio) ELSE '' END AS \"time ratio\", substr(output_digest, 1, 12) AS digest, code_commit "
      "FROM v_history WHERE case_id GLOB {} ORDER BY case_id, started_at DESC LIMIT {}",
      quoted(options.pattern), options.limit);
}

int history(const HistoryOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = (*store)->query(sql(options));
  if (!table) return report_errors(table.error(), exit_infrastructure);
  if (table->rows.empty()) {
    return report_errors(
        {{"", 0, fmt::format("no stored case matches \"{}\"", options.pattern), "a glob over case ids, for example 'cpu/flash/bf16*'"}},
        exit_nothing);
  }
  fmt::print("{}", options.format == "json" ? render_query_json(*table) : render_query(*table, output_style()));
  return exit_fine;
}

}  // namespace

void add_history(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("history", "One case over runs");
  auto options = std::make_shared<HistoryOptions>();
  command->add_option("case", options->pattern, "Case id or glob")->required();
  options->database.add_to(*command);
  command->add_option("--limit", options->limit, "Rows at most")->capture_default_str()->check(CLI::PositiveNumber);
  command->add_option("--format", options->format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  command->footer("Example:\n  plumbline history 'cpu/flash/bf16/*causal*'");
  command->callback([options, &exit_code] { exit_code = history(*options); });
}

}  // namespace plumbline::cli
