// Each query lists its columns once, in the order in which the code reads them.
#include "harness/store/queries/nights.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/store/queries/rows.h"

namespace plumbline {
namespace {

std::string sql_of_verdicts(const RunInfo& newest, int limit) {
  const std::string kind =
      newest.night_id.empty()
          ? fmt::format(
                "night_id = '' AND (purpose, selection, machine_key) IN (SELECT purpose, "
                "selection, machine_key FROM run WHERE run_id = {})",
                sql_literal(newest.run_id))
          : std::string("night_id <> ''");
  return fmt::format(
      "WITH named AS MATERIALIZED (SELECT CASE WHEN night_id <> '' THEN night_id ELSE "
      "substr(run_id, 1, 8) END AS name, * FROM run WHERE {} AND purpose NOT IN ('confirm', "
      "'resources') AND run_order <= (SELECT run_order FROM run WHERE run_id = {})), "
      "recent AS MATERIALIZED (SELECT name, max(run_order) AS newest FROM named GROUP BY name "
      "ORDER BY newest DESC LIMIT {}) "
      "SELECT n.name, n.run_id, n.started_at, n.code_commit, "
      "CASE WHEN n.finished_at IS NOT NULL THEN n.exit_code END, "
      "(SELECT max(t.suspect) FROM night_times AS t WHERE t.run_id = n.run_id), "
      "(SELECT t.common_shift FROM night_times AS t WHERE t.run_id = n.run_id ORDER BY "
      "abs(t.common_shift) DESC LIMIT 1), "
      "(SELECT t.why FROM night_times AS t WHERE t.run_id = n.run_id AND t.suspect LIMIT 1), "
      "o.verdict, count(o.verdict) "
      "FROM recent AS r CROSS JOIN named AS n USING (name) LEFT JOIN outcome AS o ON o.run_id = "
      "n.run_id GROUP BY n.run_order, o.verdict ORDER BY r.newest, n.run_order",
      kind, sql_literal(newest.run_id), limit);
}

std::size_t count_at(const TextRow& row, std::size_t column) {
  return static_cast<std::size_t>(number_at(row, column).value_or(0));
}

}  // namespace

Result<std::vector<NightVerdicts>> verdicts_of_nights(Store& store, const RunInfo& newest,
                                                      int limit) {
  return rows_of(store, sql_of_verdicts(newest, limit), [](const TextRow& row) {
    NightVerdicts night;
    night.night = text_at(row, 0);
    night.run_id = text_at(row, 1);
    night.started_at = text_at(row, 2);
    night.commit = text_at(row, 3);
    if (const auto code = number_at(row, 4)) night.exit_code = static_cast<int>(*code);
    night.suspect = is_one_at(row, 5);
    night.common_shift = number_at(row, 6).value_or(0);
    night.why = text_at(row, 7);
    night.verdict = text_at(row, 8);
    night.count = count_at(row, 9);
    return night;
  });
}

Result<std::vector<std::string>> gpus_of_run(Store& store, const std::string& run_id) {
  return rows_of(store,
                 fmt::format("SELECT DISTINCT m.machine_arch || ' ' || m.model || ' ' || "
                             "m.memory_bytes FROM outcome AS o JOIN machine_class AS m USING "
                             "(machine_key) WHERE o.run_id = {} AND m.device_kind = 'cuda' AND "
                             "m.model NOT LIKE 'unknown GPU beside %' ORDER BY 1",
                             sql_literal(run_id)),
                 [](const TextRow& row) { return text_at(row, 0); });
}

Result<std::vector<EventOfNight>> events_of_nights(Store& store,
                                                   const std::vector<std::string>& nights) {
  return rows_of(
      store,
      fmt::format("SELECT night_id, kind, happened_at, who, detail FROM night_event WHERE night_id "
                  "IN (SELECT value FROM json_each({})) ORDER BY happened_at",
                  sql_array(nights)),
      [](const TextRow& row) {
        return EventOfNight{text_at(row, 0), text_at(row, 1), text_at(row, 2), text_at(row, 3),
                            text_at(row, 4)};
      });
}

Result<std::vector<DecisionAboutRun>> decisions_about_runs(Store& store,
                                                           const std::vector<std::string>& runs) {
  const std::string sql = fmt::format(
      "WITH shown AS (SELECT value AS run_id FROM json_each({})) "
      "SELECT 'accept', run_id, case_glob, accepted_by, reason, accepted_at FROM accept WHERE "
      "run_id IN shown UNION ALL SELECT 'pin', run_id, case_glob, pinned_by, reason, pinned_at "
      "FROM pin WHERE run_id IN shown UNION ALL SELECT 'acknowledge', run_id, case_glob, "
      "acknowledged_by, reason, acknowledged_at FROM acknowledgement WHERE run_id IN shown ORDER "
      "BY 6",
      sql_array(runs));
  return rows_of(store, sql, [](const TextRow& row) {
    return DecisionAboutRun{text_at(row, 0), text_at(row, 1), text_at(row, 2),
                            text_at(row, 3), text_at(row, 4), text_at(row, 5)};
  });
}

Result<std::vector<PointOfHistory>> points_since(Store& store,
                                                 const std::vector<WantedHistory>& wanted,
                                                 const std::string& first_run) {
  auto list = nlohmann::json::array();
  for (const WantedHistory& one : wanted)
    list.push_back(nlohmann::json::array({one.place, one.run_id, one.suite, one.case_id}));
  const std::string sql = fmt::format(
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
      sql_literal(list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
      sql_literal(first_run));
  return rows_of(store, sql, [](const TextRow& row) {
    return PointOfHistory{count_at(row, 0),  text_at(row, 1),   text_at(row, 2),
                          number_at(row, 3), number_at(row, 4), number_at(row, 5),
                          number_at(row, 6), number_at(row, 7), is_one_at(row, 8)};
  });
}

Result<Store::Table> list_of_decisions(Store& store) {
  return store.query(
      "SELECT 'accept' AS decision, accepted_at AS \"when\", accepted_by AS who, reason, run_id, "
      "case_glob, '' AS until, case_id FROM v_accepted "
      "UNION ALL SELECT 'pin', pinned_at, pinned_by, reason, run_id, case_glob, '', case_id FROM "
      "v_pinned UNION ALL SELECT 'acknowledge', acknowledged_at, acknowledged_by, reason, run_id, "
      "case_glob, until, case_id FROM v_acknowledged ORDER BY 2 DESC, 1, 5, 6, case_id");
}

Result<Store::Table> list_of_nights(Store& store, int limit) {
  return store.query(fmt::format(
      "SELECT night_id AS night, opened_at AS opened, closed_at AS closed, runs, machines, state, "
      "failing_runs AS failing, suspect, code_commit AS \"commit\" FROM v_nights ORDER BY began "
      "DESC LIMIT {}",
      limit));
}

}  // namespace plumbline
