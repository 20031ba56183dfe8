// The past of a case on a machine class.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <optional>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// As the functions of Store of the same names.
Result<std::optional<Baseline>> find_baseline(SQLite::Database& db, const std::filesystem::path& path, const std::string& case_id,
                                              const MachineClass& machine, const std::string& before_run);
Result<TimeHistory> find_time_history(SQLite::Database& db, const std::filesystem::path& path, const std::string& case_id,
                                      const MachineClass& machine, const std::string& before_run);
Result<void> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path, const std::string& run_id,
                             const std::string& case_glob, const std::string& who, const std::string& why);

}  // namespace plumbline
