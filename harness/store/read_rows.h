// Reads stored runs, outcomes, diffs and suite scores.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/VariadicBind.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// Implementations of Store::runs, Store::run and Store::resolve_run.
Result<std::vector<RunInfo>> read_runs(SQLite::Database& db, const std::filesystem::path& path,
                                       int limit);
Result<StoredRun> read_run(SQLite::Database& db, const std::filesystem::path& path,
                           const std::string& run_id);
Result<std::string> find_run(SQLite::Database& db, const std::filesystem::path& path,
                             const std::string& text);

// Return the rows of a run in the order in which they were stored; none for an unknown run.
Result<std::vector<StoredOutcome>> read_outcomes(SQLite::Database& db,
                                                 const std::filesystem::path& path,
                                                 const std::string& run_id);
Result<std::vector<StoredDiff>> read_diffs(SQLite::Database& db, const std::filesystem::path& path,
                                           const std::string& run_id);
Result<std::vector<SuiteScore>> read_suite_scores(SQLite::Database& db,
                                                  const std::filesystem::path& path,
                                                  const std::string& run_id);

// Returns the first column of a statement's rows as text. `values` are bound to its parameters.
template <class... Values>
std::vector<std::string> first_column(SQLite::Database& db, const std::string& sql,
                                      const Values&... values) {
  SQLite::Statement select(db, sql);
  SQLite::bind(select, values...);
  std::vector<std::string> found;
  while (select.executeStep()) found.push_back(select.getColumn(0).getString());
  return found;
}

// Returns 0 for `word`, 2 for "WORD~2", and nullopt for other text.
std::optional<std::int64_t> steps_back(std::string_view text, std::string_view word);

}  // namespace plumbline
