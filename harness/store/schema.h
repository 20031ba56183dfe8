// The database's schema as text, and its migrations.
#pragma once

#include <SQLiteCpp/Database.h>

#include <span>
#include <string_view>

namespace plumbline {

// Changes the previous schema to `number`. Must not be edited after its release.
struct Migration {
  int number;
  std::string_view sql;
};

struct Schema {
  int first;             // number of the schema that `sql` creates; older files are refused
  std::string_view sql;  // baselines/schema.sql
  std::span<const Migration> migrations;

  constexpr int number() const { return migrations.empty() ? first : migrations.back().number; }
};

// Creates the schema in an empty file, or applies the missing migrations in order. Uses one
// transaction, which also sets user_version.
void migrate(SQLite::Database& db, const Schema& schema);

}  // namespace plumbline
