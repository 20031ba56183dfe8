// Stores what compiled kernels take of a GPU, the rows of table `kernel_resources`. The table is in
// baselines/schema.sql.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/resources/compare.h"

namespace plumbline {

// One transaction; replaces rows of the same run, source, kernel, launch and architecture. The run
// is known.
Result<void> store_resources(SQLite::Database& db, const std::filesystem::path& path,
                             const std::string& run_id, const std::vector<JudgedResources>& rows);

}  // namespace plumbline
