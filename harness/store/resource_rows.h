// Stores compiled resources of kernels: table `kernel_resources` of baselines/schema.sql.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/resources/compare.h"

namespace plumbline {

// Uses one transaction. Replaces rows of the same run, source, kernel, launch and architecture. The
// run must be stored.
Result<void> store_resources(SQLite::Database& db, const std::filesystem::path& path,
                             const std::string& run_id, const std::vector<JudgedResources>& rows);

}  // namespace plumbline
