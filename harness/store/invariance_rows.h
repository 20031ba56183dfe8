// Stores and reads outcomes of invariances: table `invariance` of baselines/schema.sql.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// Uses one transaction. Replaces rows of the same run, suite, case and invariance. The run and the
// outcomes of the cases must be stored.
Result<void> store_invariances(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& run_id,
                               const std::vector<StoredInvariance>& rows);
Result<std::vector<StoredInvariance>> read_invariances(SQLite::Database& db,
                                                       const std::filesystem::path& path,
                                                       const std::string& run_id);

}  // namespace plumbline
