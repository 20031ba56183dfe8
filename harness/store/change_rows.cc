// Stores and reads the changes of a run, and finds the cases that its suites should contain.
#include "harness/store/change_rows.h"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/json.h"
#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"
#include "harness/store/run_rows.h"

namespace plumbline {
namespace {

constexpr auto change_columns = [](auto& columns, auto& row) {
  columns("suite", row.suite);
  columns("case_id", row.case_id);
  columns("kind", row.change.kind);
  columns("value", row.change.value);
  columns("limit_value", row.change.limit);
  columns("explanation", row.change.text);
  columns("standing", row.change.standing);
};

// SQL condition: run w is a complete shard of the same full plan as shard r, which may be w.
constexpr const char* is_other_shard = R"(
  r.shard <> '1/1' AND w.night_id = r.night_id AND w.complete
    AND CASE WHEN json_valid(w.versions_json) THEN json_extract(w.versions_json, '$.shard.partition') END
      = CASE WHEN json_valid(r.versions_json) THEN json_extract(r.versions_json, '$.shard.partition') END
)";

// Finds the newest complete run of the suite: unsharded, or a shard whose shard set is complete. ?1
// machine class of the host, ?2 run_order, ?3 suite, ?4 purpose, ?5 selection, ?6 runs to skip.
std::string earlier_run_sql() {
  return fmt::format(R"(
  SELECT r.run_id FROM run AS r
  WHERE r.machine_key = ?1 AND r.run_order < ?2 AND r.purpose = ?4 AND r.selection = ?5 AND r.complete
    AND r.run_id NOT IN (SELECT value FROM json_each(?6))
    AND (EXISTS (SELECT 1 FROM outcome AS o WHERE o.run_id = r.run_id AND o.suite = ?3)
      OR EXISTS (SELECT 1 FROM run_change AS x WHERE x.run_id = r.run_id AND x.suite = ?3))
    AND (r.shard = '1/1' OR CAST(substr(r.shard, instr(r.shard, '/') + 1) AS INTEGER)
      = (SELECT count(DISTINCT w.shard) FROM run AS w WHERE {}))
  ORDER BY r.run_order DESC LIMIT 1
)",
                     is_other_shard);
}

// Selects run ?1 and the other shards of its full plan.
std::string shard_set_sql() {
  return fmt::format(
      "SELECT w.run_id FROM run AS r JOIN run AS w ON w.run_id = r.run_id OR ({}) WHERE r.run_id = "
      "?1",
      is_other_shard);
}

constexpr const char* cases_of_run = R"(
  SELECT c.case_id FROM outcome AS o JOIN attention_case AS c USING (case_key) WHERE o.run_id = ?1 AND o.suite = ?2
  UNION
  SELECT x.case_id FROM run_change AS x WHERE x.run_id = ?1 AND x.suite = ?2 AND x.kind = 'vanished' AND NOT EXISTS (
    SELECT 1 FROM accepted_case AS a JOIN attention_case AS c USING (case_key) WHERE a.run_id = x.run_id AND c.case_id = x.case_id)
)";

}  // namespace

Result<void> store_changes(SQLite::Database& db, const std::filesystem::path& path,
                           const std::string& run_id, const std::vector<RunChange>& changes) {
  return store_rows(db, path, "storing what changed",
                    {"run_change", {"run_id", "suite", "case_id", "kind"}, true}, run_id, changes,
                    change_columns);
}

Result<std::vector<RunChange>> read_changes(SQLite::Database& db, const std::filesystem::path& path,
                                            const std::string& run_id) {
  return read_rows<RunChange>(db, path, "reading what changed",
                              "run_change WHERE run_id = ? ORDER BY rowid", run_id, change_columns);
}

Result<std::vector<std::pair<std::string, std::string>>> find_expected_cases(
    SQLite::Database& db, const std::filesystem::path& path, const RunInfo& run,
    const std::vector<std::string>& suites, const std::vector<std::string>& judged_with) {
  using Cases = std::vector<std::pair<std::string, std::string>>;
  return guarded(path, "looking up what was measured before", [&]() -> Result<Cases> {
    std::set<std::pair<std::string, std::string>> cases;
    std::string order = "~";  // greater than any run_order
    SQLite::Statement find_order(db, "SELECT run_order FROM run WHERE run_id = ?");
    find_order.bind(1, run.run_id);
    if (find_order.executeStep()) order = find_order.getColumn(0).getString();
    const Key host = machine_key(run.machine);
    const std::string together = write_json(nlohmann::json(judged_with));
    for (const std::string& suite : suites) {
      SQLite::Statement find_run(db, earlier_run_sql());
      bind_key(find_run, 1, host);
      int index = 2;
      for (const std::string& text : {order, suite, run.purpose, run.selection, together})
        find_run.bind(index++, text);
      if (!find_run.executeStep()) continue;
      SQLite::Statement find_shards(db, shard_set_sql());
      find_shards.bind(1, find_run.getColumn(0).getString());
      while (find_shards.executeStep()) {
        SQLite::Statement select(db, cases_of_run);
        select.bind(1, find_shards.getColumn(0).getString());
        select.bind(2, suite);
        while (select.executeStep()) cases.emplace(suite, select.getColumn(0).getString());
      }
    }
    return Cases(cases.begin(), cases.end());
  });
}

}  // namespace plumbline
