// Runs one SQL statement with all side effects denied, and reads its rows as text.
#include "harness/store/read_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <array>
#include <memory>
#include <string_view>

#include "harness/store/connection.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPointer = std::unique_ptr<sqlite3_stmt, Finalize>;

// Denies what a read-only connection and sqlite3_stmt_readonly permit: other files, transactions
// and settings of the connection. Only pragmas that describe the schema are allowed. (A list of
// permitted actions would be shorter, but json_each declares its columns by CREATE TABLE.)
int refuse_side_effects(void*, int action, const char* first, const char* second, const char*,
                        const char*) {
  constexpr std::array<std::string_view, 6> describing{"table_info", "table_xinfo", "table_list",
                                                       "index_list", "index_info",  "user_version"};
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return SQLITE_DENY;
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "load_extension" ? SQLITE_DENY
                                                                               : SQLITE_OK;
    case SQLITE_PRAGMA:
      for (std::string_view name : describing) {
        if (first != nullptr && name == first) return SQLITE_OK;
      }
      return SQLITE_DENY;
    default:
      return SQLITE_OK;
  }
}

Error query_error(sqlite3* handle, int code) {
  if (code == SQLITE_AUTH)
    return {"", 0, fmt::format("the query would do more than read ({})", sqlite3_errmsg(handle)),
            "only SELECT is permitted"};
  for (const int of_file : {SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_IOERR, SQLITE_CANTOPEN,
                            SQLITE_FULL, SQLITE_BUSY, SQLITE_LOCKED}) {
    if ((code & 0xFF) == of_file)
      return database_error(sqlite3_db_filename(handle, "main"), "the query failed",
                            SQLite::Exception(handle, code));
  }
  return {"", 0, fmt::format("the query failed: {}", sqlite3_errmsg(handle)),
          "`plumbline query --list` has examples; SELECT name, sql FROM sqlite_schema WHERE type = "
          "'view' has every view with its columns"};
}

// Prepares the first statement of `sql` and removes it from `sql`. Null if only comments are left.
Result<StatementPointer> prepare_next(sqlite3* handle, std::string_view& sql) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &statement, &rest);
  if (code != SQLITE_OK) return fail(query_error(handle, code));
  sql.remove_prefix(static_cast<std::size_t>(rest - sql.data()));
  return StatementPointer(statement);
}

Result<StatementPointer> prepare_only_statement(sqlite3* handle, std::string_view sql) {
  StatementPointer only;
  while (!sql.empty()) {
    auto next = prepare_next(handle, sql);
    if (!next) {
      if (only) return fail("the query has more than one statement", "run them one by one");
      return tl::unexpected(next.error());
    }
    if (!*next) continue;
    if (only) return fail("the query has more than one statement", "run them one by one");
    only = std::move(*next);
  }
  if (!only) return fail("the query is empty", "for example: SELECT * FROM v_latest");
  if (sqlite3_stmt_readonly(only.get()) == 0)
    return fail("the query would write", "only SELECT is permitted");
  return only;
}

std::optional<std::string> value_text(sqlite3_stmt* statement, int column) {
  const int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) return std::nullopt;
  if (type == SQLITE_BLOB) {
    const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
    return fmt::format("x'{:02x}'",
                       fmt::join(bytes, bytes + sqlite3_column_bytes(statement, column), ""));
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

Store::CellType value_type(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return Store::CellType::null;
    case SQLITE_INTEGER:
      return Store::CellType::integer;
    case SQLITE_FLOAT:
      return Store::CellType::real;
    default:
      return Store::CellType::text;
  }
}

Result<Store::Table> run(sqlite3* handle, sqlite3_stmt* statement) {
  Store::Table table;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) table.columns.emplace_back(sqlite3_column_name(statement, i));
  while (true) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return table;
    if (code != SQLITE_ROW) return fail(query_error(handle, code));
    auto& row = table.rows.emplace_back();
    auto& types = table.types.emplace_back();
    for (int i = 0; i < columns; ++i) {
      // Read the type first: reading the text converts the value.
      types.push_back(value_type(statement, i));
      row.push_back(value_text(statement, i));
    }
  }
}

}  // namespace

Result<Store::Table> read_query(const std::filesystem::path& path, const std::string& sql) {
  if (!is_storable_text(sql))
    return fail("the query is not UTF-8, or contains a NUL", "correct its encoding");
  auto db = open_database(path, true);
  if (!db) return tl::unexpected(db.error());
  sqlite3* handle = (*db)->getHandle();
  // By default SQLite reads a misspelt "column" in double quotes as text.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_set_authorizer(handle, refuse_side_effects, nullptr);
  auto statement = prepare_only_statement(handle, sql);
  if (!statement) return tl::unexpected(statement.error());
  return run(handle, statement->get());
}

}  // namespace plumbline
