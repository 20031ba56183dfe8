// plumbline history: the results of cases over many runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/case_history.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"
#include "harness/store/queries/case_history.h"
#include "harness/store/queries/rows.h"
#include "harness/timing/level_changes.h"
#include "harness/timing/time_gate.h"

namespace plumbline::cli {
namespace {

struct HistoryOptions {
  DatabaseOption database;
  std::string pattern, format = "text";
  int limit = 10, cases = 10;
};

// The maximum number of runs that are read for a case's level and sparklines: a year of nights.
constexpr int max_points = 366;

struct Histories {
  std::vector<CaseHistory> cases;
  std::vector<Store::Table> rows;  // for --format json: those of each of `cases`, newest first
  std::size_t matching = 0;        // number of case ids that match
  std::size_t limit = 0;           // rows to show of each of `cases`
};

std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

HistoryPoint point_of(const TextRow& row) {
  using enum HistoryColumn;
  const auto text = [&](HistoryColumn column) { return text_at(row, at(column)); };
  const auto number = [&](HistoryColumn column) { return number_at(row, at(column)); };
  return {.started_at = text(started_at),
          .run_id = text(run_id),
          .night_id = text(night_id),
          .commit = text(code_commit),
          .verdict = parse<Verdict>(text(verdict)).value_or(Verdict::error),
          .rms = number(rms),
          .percent_of_limit = number(rms) ? number(percent_of_limit) : std::nullopt,
          .time_ns = number(time_ns),
          .time_ratio = number(time_ratio),
          .is_set_aside = text(gate_finding) == "set aside",
          .is_incomplete = text(finished) != "1"};
}

// Finds the changes of the time's level over all runs that were read.
void find_changes(CaseHistory& history) {
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    const auto ratio = history.points[i].time_ratio;
    if (!ratio || !(*ratio > 0) || !std::isfinite(*ratio)) continue;
    values.push_back(std::log(*ratio));
    places.push_back(i);
  }
  for (const std::size_t change : level_changes(values)) history.changes.push_back(places[change]);
}

// Estimates the level that the gate would use in the next night. Failures, unconfirmed and
// acknowledged regressions do not count.
void find_level(CaseHistory& history) {
  std::vector<GateNight> nights;
  for (const HistoryPoint& point : history.points) {
    const auto ratio = point.time_ratio;
    const bool is_usual = !is_failure(point.verdict) && point.verdict != Verdict::acknowledged &&
                          point.verdict != Verdict::unconfirmed;
    if (ratio && *ratio > 0 && std::isfinite(*ratio) && is_usual)
      nights.push_back({std::log(*ratio), {}, false});
  }
  if (nights.size() < min_nights) return;
  if (nights.size() > gate_window) nights.erase(nights.begin(), nights.end() - gate_window);
  const GateOptions options;
  const GateLevel level = level_of(nights, options);
  history.level = std::exp(level.level);
  history.limit = std::exp(level.level + screen(nights, level.level, std::nullopt, options).limit);
}

CaseHistory history_of(const Store::Table& table) {
  CaseHistory history;
  const auto& newest = table.rows.front();
  history.case_id = text_at(newest, at(HistoryColumn::case_id));
  history.provider_options = text_at(newest, at(HistoryColumn::provider_options));
  history.machine = text_at(newest, at(HistoryColumn::machine));
  for (auto row = table.rows.rbegin(); row != table.rows.rend(); ++row) {
    // A case may occur in several suites of a run: the timed one counts, otherwise the first.
    if (!history.points.empty() &&
        history.points.back().run_id == (*row)[at(HistoryColumn::run_id)]) {
      history.points.back() = point_of(*row);
    } else {
      history.points.push_back(point_of(*row));
    }
  }
  find_changes(history);
  // The database has 0 if there was no earlier night.
  history.level = positive(number_at(newest, at(HistoryColumn::gate_level)));
  history.limit = positive(number_at(newest, at(HistoryColumn::gate_limit)));
  if (!history.level) find_level(history);
  return history;
}

Histories read_histories(const HistoryOptions& options, Store& store) {
  Histories all;
  all.limit = static_cast<std::size_t>(options.limit);
  const auto ids = need(case_ids_matching(store, options.pattern));
  all.matching = ids.size();
  for (std::size_t i = 0; i < std::min<std::size_t>(ids.size(), options.cases); ++i) {
    const auto series = need(series_of_case(store, ids[i]));
    for (const SeriesOfCase& one : series) {
      auto rows = need(history_of_series(store, ids[i], one, max_points));
      all.cases.push_back(history_of(rows));
      all.rows.push_back(std::move(rows));
    }
  }
  return all;
}

std::string as_text(const Histories& histories, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < histories.cases.size(); ++i) {
    const CaseHistory& history = histories.cases[i];
    std::string one = render_history(history, histories.limit, style);
    // The machine is shown if the case ran on several.
    const bool is_one_of_many =
        (i > 0 && histories.cases[i - 1].case_id == history.case_id &&
         histories.cases[i - 1].machine != history.machine) ||
        (i + 1 < histories.cases.size() && histories.cases[i + 1].case_id == history.case_id &&
         histories.cases[i + 1].machine != history.machine);
    if (is_one_of_many) one.insert(one.find('\n') + 1, "  on " + history.machine + "\n");
    text += (text.empty() ? "" : "\n") + one;
  }
  std::size_t shown = 0;
  for (std::size_t i = 0; i < histories.cases.size(); ++i)
    shown += i == 0 || histories.cases[i].case_id != histories.cases[i - 1].case_id;
  if (shown < histories.matching) {
    text += fmt::format("\n{} of {} cases that match: --cases {} shows all\n", shown,
                        histories.matching, histories.matching);
  }
  return text;
}

std::string as_json(const Histories& histories) {
  Json rows = Json::array(), series = Json::array();
  for (std::size_t i = 0; i < histories.cases.size(); ++i) {
    Store::Table table = histories.rows[i];
    if (table.rows.size() > histories.limit) {
      table.rows.resize(histories.limit);
      table.types.resize(histories.limit);
    }
    Json of_case = Json::parse(json_of_table(table));
    for (auto& row : of_case["rows"]) rows.push_back(std::move(row));
    const CaseHistory& history = histories.cases[i];
    Json changes = Json::array();
    const auto stretches = time_stretches(history);
    for (std::size_t k = 1; k < stretches.size(); ++k) {
      const HistoryPoint& point = history.points[stretches[k].begin];
      changes.push_back({JSON_FIELDS(point, started_at, run_id, commit),
                         {"level_before", stretches[k - 1].level},
                         {"level_after", stretches[k].level}});
    }
    series.push_back({JSON_FIELDS(history, case_id, provider_options, machine),
                      {"runs", history.points.size()},
                      JSON_FIELDS(history, level, limit),
                      {"changes", std::move(changes)}});
  }
  return json_text(
      {{"rows", std::move(rows)}, {"series", std::move(series)}, JSON_FIELDS(histories, matching)});
}

constexpr std::array history_formats{Format<Histories>{"text", as_text},
                                     Format<Histories>{"json", nullptr, as_json}};

int history(const HistoryOptions& options) {
  auto store = need(options.database.open(true));
  auto histories = read_histories(options, *store);
  if (histories.cases.empty()) {
    end_command(exit_nothing, fmt::format("no stored case matches \"{}\"", options.pattern),
                "give a glob over case ids, for example 'cpu/flash/bf16*'");
  }
  write_as(history_formats, options.format, histories);
  return exit_fine;
}

}  // namespace

void add_history(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, history, "history", "Cases over runs, with level and limit");
  command.add_option("case", options.pattern, "Case id or glob").required();
  options.database.add_to(command);
  command.add_option("--limit", options.limit, "Rows of each series at most")
      .capture_default_str()
      .check(whole_above_zero("a number of rows"));
  command.add_option("--cases", options.cases, "Cases at most")
      .capture_default_str()
      .check(whole_above_zero("a number of cases"));
  add_format(command, options.format, history_formats);
  command.footer(
      "The sparklines show the last 60 runs, oldest first; x is a failure, ^ a change of the "
      "level of the time. Times are also given as ratios to a sentinel, timed alternately with the "
      "kernel. The level is the usual ratio now; a case is slower if its ratio exceeds the limit.\n"
      "Examples:\n  plumbline history 'cpu/flash/bf16/*causal*'\n"
      "  plumbline history 'cpu/*' --cases 100 --limit 1\n"
      "`plumbline report` draws the history of each case.");
}

}  // namespace plumbline::cli
