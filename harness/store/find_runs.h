// Finds the runs that a user names: a night, a commit or one run.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Implementation of Store::resolve_runs.
Result<RunSelection> find_runs(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& text);

}  // namespace plumbline
