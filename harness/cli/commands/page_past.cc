// Asks the database by SQL, whose rows are texts.
#include "harness/cli/commands/page_past.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/judge/exit_code.h"
#include "harness/judge/verdict.h"
#include "harness/report/json_value.h"
#include "harness/store/machine.h"

namespace plumbline::cli {
namespace {

constexpr int most_nights = 60;

using Row = std::vector<std::optional<std::string>>;

// Doubles the quotes: what is stored is data, never SQL.
std::string sql_string(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string text_of(const Row& row, std::size_t column) { return row[column].value_or(""); }
std::optional<double> number_of(const Row& row, std::size_t column) {
  if (!row[column]) return std::nullopt;
  return std::strtod(row[column]->c_str(), nullptr);
}
std::size_t count_of(const Row& row, std::size_t column) {
  return static_cast<std::size_t>(number_of(row, column).value_or(0));
}

// Rows of runs with their verdicts, the oldest night first.
std::string nights_sql(const RunInfo& newest) {
  const std::string kind =
      newest.night_id.empty()
          ? fmt::format(
                "night_id = '' AND (purpose, selection, machine_key) IN (SELECT purpose, "
                "selection, machine_key FROM run WHERE run_id = {})",
                sql_string(newest.run_id))
          : std::string("night_id <> ''");
  return fmt::format(
      "WITH named AS MATERIALIZED (SELECT CASE WHEN night_id <> '' THEN night_id ELSE "
      "substr(run_id, 1, 8) END AS name, * FROM run WHERE {} AND purpose NOT IN ('confirm', "
      "'resources') AND run_order <= (SELECT run_order FROM run WHERE run_id = {})), "
      "recent AS MATERIALIZED (SELECT name, max(run_order) AS newest FROM named GROUP BY name "
      "ORDER BY newest DESC LIMIT {}) "
      "SELECT n.name, n.run_id, n.started_at, n.code_commit, n.exit_code, "
      "n.finished_at IS NOT NULL, "
      "(SELECT max(t.suspect) FROM night_times AS t WHERE t.run_id = n.run_id), "
      "(SELECT t.common_shift FROM night_times AS t WHERE t.run_id = n.run_id ORDER BY "
      "abs(t.common_shift) DESC LIMIT 1), "
      "(SELECT t.why FROM night_times AS t WHERE t.run_id = n.run_id AND t.suspect LIMIT 1), "
      "o.verdict, count(o.verdict) "
      "FROM recent AS r CROSS JOIN named AS n USING (name) LEFT JOIN outcome AS o ON o.run_id = "
      "n.run_id GROUP BY n.run_order, o.verdict ORDER BY r.newest, n.run_order",
      kind, sql_string(newest.run_id), most_nights);
}

// A newer plumbline may have written a verdict that this one does not know.
Standing standing_in_file(const std::optional<Verdict>& verdict) {
  return verdict ? standing_of(*verdict) : Standing::unmeasured;
}

void add_verdict(PageNight& night, const std::string& word, std::size_t count) {
  switch (standing_in_file(parse<Verdict>(word))) {
    case Standing::failure:
      night.failures += count;
      return;
    case Standing::unmeasured:
      night.unmeasured += count;
      return;
    case Standing::open:
      night.open += count;
      return;
    case Standing::fine:
      night.fine += count;
      return;
  }
}

Result<void> add_events(Store& store, std::vector<PageNight>& nights) {
  Json names = Json::array();
  for (const PageNight& night : nights) names.push_back(night.name);
  const auto rows = store.query(
      fmt::format("SELECT night_id, kind, happened_at, who, detail FROM night_event WHERE night_id "
                  "IN (SELECT value FROM json_each({})) ORDER BY happened_at",
                  sql_string(json_text(names))));
  if (!rows) return tl::unexpected(rows.error());
  std::map<std::string, PageNight*> by_name;
  for (PageNight& night : nights) by_name[night.name] = &night;
  for (const Row& row : rows->rows) {
    by_name.at(text_of(row, 0))
        ->events.push_back({text_of(row, 1), text_of(row, 2), text_of(row, 3), text_of(row, 4)});
  }
  return {};
}

}  // namespace

Result<std::vector<PageNight>> nights_before(Store& store, const StoredRuns& subject) {
  const auto rows = store.query(nights_sql(subject.newest));
  if (!rows) return tl::unexpected(rows.error());
  std::vector<PageNight> nights;
  for (const Row& row : rows->rows) {
    const std::string name = text_of(row, 0), run_id = text_of(row, 1);
    if (nights.empty() || nights.back().name != name) {
      PageNight night;
      night.name = name;
      night.started_at = text_of(row, 2);
      nights.push_back(std::move(night));
    }
    PageNight& night = nights.back();
    if (night.run_ids.empty() || night.run_ids.back() != run_id) {
      const bool finished = text_of(row, 5) == "1" && row[4];
      const RunState state =
          finished ? state_of_exit(static_cast<int>(*number_of(row, 4))) : RunState::incomplete;
      night.state = worse_of(night.state, state);
      night.run_ids.push_back(run_id);
      night.commit = text_of(row, 3);
      if (text_of(row, 6) == "1") night.suspect = true;
      const double shift = number_of(row, 7).value_or(0);
      if (std::abs(shift) > std::abs(night.shift)) night.shift = shift;
      if (night.why.empty()) night.why = text_of(row, 8);
    }
    add_verdict(night, text_of(row, 9), count_of(row, 10));
  }
  if (const auto events = add_events(store, nights); !events) return tl::unexpected(events.error());
  return nights;
}

Result<std::vector<PageDecision>> decisions_about(Store& store,
                                                  const std::vector<PageNight>& nights) {
  Json runs = Json::array();
  for (const PageNight& night : nights)
    for (const std::string& run_id : night.run_ids) runs.push_back(run_id);
  const auto rows = store.query(fmt::format(
      "WITH shown AS (SELECT value AS run_id FROM json_each({})) "
      "SELECT 'accept', run_id, case_glob, accepted_by, reason, accepted_at FROM accept WHERE "
      "run_id IN shown UNION ALL SELECT 'pin', run_id, case_glob, pinned_by, reason, pinned_at "
      "FROM pin WHERE run_id IN shown UNION ALL SELECT 'acknowledge', run_id, case_glob, "
      "acknowledged_by, reason, acknowledged_at FROM acknowledgement WHERE run_id IN shown ORDER "
      "BY 6",
      sql_string(json_text(runs))));
  if (!rows) return tl::unexpected(rows.error());
  std::vector<PageDecision> decisions;
  for (const Row& row : rows->rows) {
    decisions.push_back({text_of(row, 0), text_of(row, 1), text_of(row, 2), text_of(row, 3),
                         text_of(row, 4), text_of(row, 5)});
  }
  return decisions;
}

Result<std::map<std::size_t, std::vector<PagePoint>>> histories_of(
    Store& store, const StoredRuns& subject, const std::vector<std::size_t>& rows,
    const std::vector<PageNight>& nights) {
  std::map<std::size_t, std::vector<PagePoint>> histories;
  if (nights.empty() || rows.empty()) return histories;
  Json wanted = Json::array();
  for (const std::size_t row : rows) {
    const Outcome& outcome = subject.outcomes[row].outcome;
    wanted.push_back(Json::array(
        {row, subject.runs[subject.run_of[row]].run_id, outcome.suite, outcome.case_id}));
  }
  const auto found = store.query(fmt::format(
      "WITH wanted AS MATERIALIZED (SELECT value ->> 0 AS place, value ->> 1 AS run_id, value ->> "
      "2 AS suite, value ->> 3 AS case_id FROM json_each({})) "
      "SELECT w.place, o.run_id, o.verdict, CASE WHEN o.status = 'ok' THEN o.percent_of_limit END, "
      "o.rms, o.time_ratio, o.gate_level, o.gate_limit, o.gate_finding = 'set aside' "
      "FROM wanted AS w "
      "CROSS JOIN attention_case AS c ON c.case_id = w.case_id "
      "CROSS JOIN outcome AS t ON t.case_key = c.case_key AND t.run_id = w.run_id AND t.suite = "
      "w.suite "
      "CROSS JOIN outcome AS o INDEXED BY outcome_in_time ON o.series_key = t.series_key AND "
      "o.machine_key = t.machine_key AND o.provider_options = t.provider_options AND o.run_order "
      ">= (SELECT run_order FROM run WHERE run_id = {}) AND o.run_order <= t.run_order AND o.suite "
      "= t.suite ORDER BY w.place, o.run_order",
      sql_string(json_text(wanted)), sql_string(nights.front().run_ids.front())));
  if (!found) return tl::unexpected(found.error());
  for (const Row& row : found->rows) {
    const auto verdict = parse<Verdict>(text_of(row, 2));
    histories[count_of(row, 0)].push_back(
        {text_of(row, 1), verdict ? std::string(in_words(*verdict)) : text_of(row, 2),
         standing_in_file(verdict), number_of(row, 3), number_of(row, 4), number_of(row, 5),
         number_of(row, 6), number_of(row, 7), count_of(row, 8) != 0});
  }
  return histories;
}

Result<std::vector<PastCommit>> past_commits(Store& store, const StoredRuns& subject) {
  std::vector<PastCommit> past(subject.outcomes.size());
  std::map<std::string, std::string> commits;
  for (std::size_t i = 0; i < past.size(); ++i) {
    const auto& [outcome, judgement] = subject.outcomes[i];
    if (!wants_attention(judgement.verdict)) continue;
    const RunInfo& run = subject.runs[subject.run_of[i]];
    const auto baseline = store.baseline(series_of(outcome, run.machine), run.run_id);
    if (!baseline) return tl::unexpected(baseline.error());
    if (!*baseline) continue;
    const auto [at, is_new] = commits.try_emplace((*baseline)->run_id);
    if (is_new) {
      const auto before = store.run((*baseline)->run_id);
      if (!before) return tl::unexpected(before.error());
      at->second = before->info.commit;
    }
    past[i] = {true, at->second};
  }
  return past;
}

}  // namespace plumbline::cli
