// plumbline history: one case over runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/format.h"

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
      "SELECT case_id, started_at, run_id, verdict, rms, percent_of_limit, CASE WHEN timed THEN "
      "time_ns END AS time_ns, "
      "CASE WHEN timed THEN time_ratio END AS time_ratio, output_digest, code_commit, "
      "provider_options "
      "FROM v_history WHERE case_id GLOB {} ORDER BY case_id, provider_options, run_order DESC "
      "LIMIT {}",
      quoted(options.pattern), options.limit);
}

double number_of(const std::optional<std::string>& cell) {
  return cell ? std::strtod(cell->c_str(), nullptr) : 0;
}

std::string verdict_in_words(const std::optional<std::string>& cell) {
  const auto verdict = parse<Verdict>(cell.value_or(""));
  return verdict ? std::string(in_words(*verdict)) : "";
}

// A table a case and options of its provider, its newest run first, in 80 columns: run ids and
// commits are cut where they are still told apart, and digests are left to the JSON.
std::string as_text(const Store::Table& table, const Style& style) {
  std::string text;
  for (std::size_t begin = 0; begin < table.rows.size();) {
    const auto &case_id = table.rows[begin][0], &options = table.rows[begin][10];
    std::vector<std::vector<std::string>> rows;
    for (; begin < table.rows.size(); ++begin) {
      const auto& row = table.rows[begin];
      if (row[0] != case_id || row[10] != options) break;
      const auto shown = [](const std::optional<std::string>& cell, std::size_t most) {
        return cell ? cell->substr(0, most) : "";
      };
      std::string started = shown(row[1], 16);  // to the minute
      std::replace(started.begin(), started.end(), 'T', ' ');
      rows.push_back({started, shown(row[2], 8), verdict_in_words(row[3]),
                      row[4] ? number(number_of(row[4])) : "",
                      row[5] ? percent(number_of(row[5])) : "",
                      row[6] ? duration(number_of(row[6])) : "",
                      row[7] ? number(number_of(row[7])) : "", shown(row[9], 7)});
    }
    text += *case_id + "\n";
    if (!options->empty()) text += fmt::format("  with the provider options {}\n", *options);
    text += render_table({"started", "run", "verdict", "rms", "limit", "time", "ratio", "commit"},
                         rows, style) +
            "\n";
  }
  return text;
}

constexpr std::array formats{Format<Store::Table>{"text", as_text},
                             Format<Store::Table>{"json", nullptr, json_of_table}};

int history(const HistoryOptions& options) {
  auto store = options.database.open(true);
  if (!store) return report_errors(store.error(), exit_infrastructure);
  auto table = (*store)->query(sql(options));
  if (!table) return report_errors(table.error(), exit_infrastructure);
  if (table->rows.empty()) {
    return report_errors({{"", 0, fmt::format("no stored case matches \"{}\"", options.pattern),
                           "a glob over case ids, for example 'cpu/flash/bf16*'"}},
                         exit_nothing);
  }
  write_as(formats, options.format, *table);
  return exit_fine;
}

}  // namespace

void add_history(Command app, int& exit_code) {
  const Command command = app.add_subcommand("history", "One case over runs");
  auto options = std::make_shared<HistoryOptions>();
  command.add_option("case", options->pattern, "Case id or glob").required();
  options->database.add_to(command);
  command.add_option("--limit", options->limit, "Rows at most")
      .capture_default_str()
      .check(whole_above_zero("a number of rows"));
  add_format(command, options->format, formats);
  command.footer("Example:\n  plumbline history 'cpu/flash/bf16/*causal*'");
  command.callback([options, &exit_code] { exit_code = history(*options); });
}

}  // namespace plumbline::cli
