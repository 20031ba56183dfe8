// Reads the history of cases from v_history.
#include "harness/store/queries/case_history.h"

#include <fmt/format.h>

#include "harness/store/queries/rows.h"

namespace plumbline {

Result<std::vector<std::string>> case_ids_matching(Store& store, const std::string& glob) {
  return rows_of(
      store,
      fmt::format("SELECT case_id FROM attention_case WHERE case_id GLOB {} ORDER BY case_id",
                  sql_literal(glob)),
      [](const TextRow& row) { return text_at(row, 0); });
}

Result<std::vector<SeriesOfCase>> series_of_case(Store& store, const std::string& case_id) {
  return rows_of(
      store,
      fmt::format("SELECT DISTINCT provider_options, machine_class FROM v_history WHERE case_id = "
                  "{} ORDER BY 1, 2",
                  sql_literal(case_id)),
      [](const TextRow& row) {
        return SeriesOfCase{text_at(row, 0), text_at(row, 1)};
      });
}

Result<Store::Table> history_of_series(Store& store, const std::string& case_id,
                                       const SeriesOfCase& series, int limit) {
  return store.query(fmt::format(
      "SELECT case_id, started_at, run_id, verdict, rms, percent_of_limit, CASE WHEN timed THEN "
      "time_ns END AS time_ns, CASE WHEN timed THEN time_ratio END AS time_ratio, output_digest, "
      "code_commit, provider_options, machine, night_id, gate_level, gate_limit, run_order, suite, "
      "gate_finding, finished "
      "FROM v_history WHERE case_id = {} AND provider_options = {} AND machine_class = {} ORDER BY "
      "run_order DESC, timed DESC, suite LIMIT {}",
      sql_literal(case_id), sql_literal(series.provider_options), sql_literal(series.machine_class),
      limit));
}

Result<std::vector<CaseNight>> nights_of_case(Store& store, const std::string& case_id) {
  const auto table = store.query(fmt::format(
      "WITH newest AS (SELECT provider_options AS options, machine_class AS class FROM v_history "
      "WHERE case_id = {0} ORDER BY run_order DESC, timed DESC LIMIT 1) "
      "SELECT run_id, started_at, code_commit, verdict, findings, accepted, is_failure, CASE WHEN "
      "timed THEN time_ratio END, rms FROM v_history, newest WHERE case_id = {0} AND "
      "provider_options = options AND machine_class = class AND purpose <> 'confirm' ORDER BY "
      "run_order DESC, timed DESC LIMIT 366",
      sql_literal(case_id)));
  if (!table) return tl::unexpected(table.error());
  std::vector<CaseNight> nights;
  for (const TextRow& row : table->rows) {
    if (!nights.empty() && nights.back().run_id == row[0]) continue;  // a further suite of the run
    nights.push_back({text_at(row, 0), text_at(row, 1), text_at(row, 2), text_at(row, 3),
                      text_at(row, 4), is_one_at(row, 5), is_one_at(row, 6),
                      number_at(row, 7).value_or(0), number_at(row, 8).value_or(0)});
  }
  return nights;
}

Result<std::map<std::string, double, std::less<>>> recorded_milliseconds(Store& store) {
  const auto table = store.query(R"(
    WITH recent AS (
      SELECT run_id, run_order FROM run
      WHERE purpose <> 'confirm' AND finished_at IS NOT NULL AND started_at >= (
        SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(started_at), '-3 days') FROM run))
    SELECT c.case_id, printf('%.3f', o.wall_ms), max(r.run_order)
    FROM recent AS r JOIN outcome AS o USING (run_id) JOIN attention_case AS c USING (case_key)
    GROUP BY c.case_id)");
  if (!table) return tl::unexpected(table.error());
  std::map<std::string, double, std::less<>> costs;
  for (const TextRow& row : table->rows) {
    if (row[0] && row[1]) costs.emplace(*row[0], *number_at(row, 1));
  }
  return costs;
}

}  // namespace plumbline
