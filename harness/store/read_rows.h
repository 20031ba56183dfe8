// Reads stored runs, outcomes, diffs and suite scores as values.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// As Store::runs, Store::run and Store::resolve_run.
Result<std::vector<RunInfo>> read_runs(SQLite::Database& db, const std::filesystem::path& path,
                                       int limit);
Result<StoredRun> read_run(SQLite::Database& db, const std::filesystem::path& path,
                           const std::string& run_id);
Result<std::string> find_run(SQLite::Database& db, const std::filesystem::path& path,
                             const std::string& text);

// What is stored of a run, in the order of storing; nothing for an unknown run.
Result<std::vector<StoredOutcome>> read_outcomes(SQLite::Database& db,
                                                 const std::filesystem::path& path,
                                                 const std::string& run_id);
Result<std::vector<StoredDiff>> read_diffs(SQLite::Database& db, const std::filesystem::path& path,
                                           const std::string& run_id);
Result<std::vector<SuiteScore>> read_suite_scores(SQLite::Database& db,
                                                  const std::filesystem::path& path,
                                                  const std::string& run_id);

}  // namespace plumbline
