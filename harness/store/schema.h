// The schema of the database as text, and how a file comes to it.
#pragma once

#include <SQLiteCpp/Database.h>

#include <span>
#include <string_view>

namespace plumbline {

// From the number before to this one. Never edited once it has been released.
struct Migration {
  int number;
  std::string_view sql;
};

struct Schema {
  int first;             // the number of a file that `sql` made; earlier files are refused
  std::string_view sql;  // baselines/schema.sql
  std::span<const Migration> migrations;

  constexpr int number() const { return migrations.empty() ? first : migrations.back().number; }
};

// Makes an empty file one of this schema, and applies to any other the migrations that it has not
// seen, in their order: in one transaction, which also raises user_version.
void migrate(SQLite::Database& db, const Schema& schema);

}  // namespace plumbline
