// Stores the changes of a run, and finds the cases that its suites should contain.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/store/store.h"

namespace plumbline {

// Implementations of Store::set_changes, Store::changes and Store::expected_cases.
Result<void> store_changes(SQLite::Database& db, const std::filesystem::path& path,
                           const std::string& run_id, const std::vector<RunChange>& changes);
Result<std::vector<RunChange>> read_changes(SQLite::Database& db, const std::filesystem::path& path,
                                            const std::string& run_id);
Result<std::vector<std::pair<std::string, std::string>>> find_expected_cases(
    SQLite::Database& db, const std::filesystem::path& path, const RunInfo& run,
    const std::vector<std::string>& suites, const std::vector<std::string>& judged_with);

}  // namespace plumbline
