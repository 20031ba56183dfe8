// Inserts and reads the outcomes of a run's invariances.
#include "harness/store/invariance_rows.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/store/batch_writer.h"
#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"
#include "harness/store/rows.h"
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
  return guarded(path, "storing invariances", [&]() -> Result<void> {
    std::vector<std::string> names{"run_id", "case_key", "judge_version"};
    for (const std::string& column : column_names<StoredInvariance>(invariance_columns))
      names.push_back(column);
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(
        db, insert_sql("invariance", names, {"run_id", "suite", "case_key", "invariance"}, true));
    for (const StoredInvariance& row : rows) {
      const Key key = key_of(row.outcome.case_id);
      insert.bind(1, run_id);
      bind_key(insert, 2, key);
      insert.bind(3, judge_version);
      Binder binder(insert, 4);
      invariance_columns(binder, row);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    return {};
  });
}

Result<std::vector<StoredInvariance>> read_invariances(SQLite::Database& db,
                                                       const std::filesystem::path& path,
                                                       const std::string& run_id) {
  return guarded(path, "reading invariances", [&]() -> Result<std::vector<StoredInvariance>> {
    const auto cases = column_names<Case>(case_columns);
    const auto columns = column_names<StoredInvariance>(invariance_columns);
    SQLite::Statement select(db, fmt::format("SELECT c.case_id, c.{}, i.{} FROM invariance AS i "
                                             "JOIN attention_case AS c USING (case_key) "
                                             "WHERE i.run_id = ? ORDER BY i.rowid",
                                             fmt::join(cases, ", c."), fmt::join(columns, ", i.")));
    select.bind(1, run_id);
    std::vector<StoredInvariance> rows;
    while (select.executeStep()) {
      StoredInvariance& stored = rows.emplace_back();
      Loader load(select);
      load("case_id", stored.outcome.case_id);
      case_columns(load, stored.outcome.c);
      invariance_columns(load, stored);
    }
    return rows;
  });
}

}  // namespace plumbline
