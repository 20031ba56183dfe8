// Inserts and reads the outcomes of a run's invariances.
#include "harness/store/invariance_rows.h"

#include "harness/store/rows.h"
#include "harness/store/run_rows.h"
#include "harness/store/stored_invariance.h"

namespace plumbline {
namespace {

template <class Columns, class Row>
void invariance_columns(Columns& columns, Row& stored) {
  auto& o = stored.outcome;
  columns("suite", o.suite);
  columns("tier", o.tier);
  columns("invariance", o.invariance);
  columns("promise", o.promise);
  columns("status", o.status);
  columns("reason", o.reason);
  columns("calls", o.calls);
  columns("calls_refused", o.calls_refused);
  columns.measured(o.status == Status::ok);
  columns("elements", o.elements);
  columns("other_bits", o.other_bits);
  columns.measured(!o.statistic.empty());
  columns("statistic", o.statistic);
  columns("sample", o.element.sample);
  columns("head", o.element.head);
  columns("row_index", o.element.row);
  columns.unless_minus_one("column_index", o.element.column);
  columns("value_a", o.value_a);
  columns("value_b", o.value_b);
  columns("sigmas", o.sigmas);
  columns("limit_value", o.limit);
  columns("ulps", o.ulps);
  columns.measured(true);
  columns("problem_a", o.problem_a);
  columns("problem_b", o.problem_b);
  columns("wall_ms", o.wall_ms);
  judgement_columns(columns, stored.judgement);
}

}  // namespace

Result<void> store_invariances(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& run_id,
                               const std::vector<StoredInvariance>& rows) {
  return store_rows(db, path, "storing invariances",
                    {"invariance", {"run_id", "suite", "case_key", "invariance"}}, run_id, rows,
                    [](auto& columns, const StoredInvariance& row) {
                      columns("case_key", blob_of(key_of(row.outcome.case_id)));
                      columns("judge_version", judge_version);
                      invariance_columns(columns, row);
                    });
}

Result<std::vector<StoredInvariance>> read_invariances(SQLite::Database& db,
                                                       const std::filesystem::path& path,
                                                       const std::string& run_id) {
  return read_rows<StoredInvariance>(db, path, "reading invariances",
                                     "invariance AS i JOIN attention_case AS c USING (case_key) "
                                     "WHERE i.run_id = ? ORDER BY i.rowid",
                                     run_id, [](auto& columns, StoredInvariance& row) {
                                       columns("case_id", row.outcome.case_id);
                                       case_columns(columns, row.outcome.c);
                                       invariance_columns(columns, row);
                                     });
}

}  // namespace plumbline
