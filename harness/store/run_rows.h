// Stores and reads the rows of a run in one table, by their description.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/batch_writer.h"
#include "harness/store/columns.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"

namespace plumbline {

// A table whose first column is run_id; the description adds the others.
struct RunTable {
  std::string name;
  std::vector<std::string> unique;  // columns; a row with equal values is replaced
  bool replaces_run = false;        // first delete the run's earlier rows
};

// Returns a key as a column's value.
inline std::vector<unsigned char> blob_of(const Key& key) { return {key.begin(), key.end()}; }

// `describe` is called with ColumnNames, a Binder or a Loader, and with a row. `doing` is for
// errors: "storing …".
template <class Row, class Describe>
Result<void> store_rows(SQLite::Database& db, const std::filesystem::path& path,
                        std::string_view doing, const RunTable& table, const std::string& run_id,
                        const std::vector<Row>& rows, Describe describe) {
  return guarded(path, doing, [&]() -> Result<void> {
    ColumnNames columns{.names = {"run_id"}};
    const Row nothing{};
    describe(columns, nothing);
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    if (table.replaces_run) {
      SQLite::Statement forget(db, fmt::format("DELETE FROM {} WHERE run_id = ?", table.name));
      forget.bind(1, run_id);
      forget.exec();
    }
    SQLite::Statement insert(db, insert_sql(table.name, columns.names, table.unique, true));
    for (const Row& row : rows) {
      insert.bind(1, run_id);
      Binder binder(insert, 2);
      describe(binder, row);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    return {};
  });
}

// `from`: the part of SELECT after FROM, such as "diff WHERE run_id = ? ORDER BY rowid".
template <class Row, class Describe>
Result<std::vector<Row>> read_rows(SQLite::Database& db, const std::filesystem::path& path,
                                   std::string_view doing, std::string_view from,
                                   const std::string& run_id, Describe describe) {
  return guarded(path, doing, [&]() -> Result<std::vector<Row>> {
    ColumnNames columns;
    Row nothing{};
    describe(columns, nothing);
    SQLite::Statement select(
        db, fmt::format("SELECT {} FROM {}", fmt::join(columns.names, ", "), from));
    select.bind(1, run_id);
    std::vector<Row> rows;
    while (select.executeStep()) {
      Loader load(select);
      describe(load, rows.emplace_back());
    }
    return rows;
  });
}

}  // namespace plumbline
