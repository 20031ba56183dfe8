// Stores and reads nights: their events, and the gated times of their runs.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/store/night.h"

namespace plumbline {

// Implementations of the functions of Store.
Result<void> store_night_times(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& run_id, const std::vector<NightTimes>& rows);
Result<std::vector<NightTimes>> read_night_times(SQLite::Database& db,
                                                 const std::filesystem::path& path,
                                                 const std::string& run_id);
Result<void> store_night_event(SQLite::Database& db, const std::filesystem::path& path,
                               const NightEvent& event);
Result<std::vector<std::string>> read_nights(SQLite::Database& db,
                                             const std::filesystem::path& path, int limit);
Result<StoredNight> read_night(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& night_id);
Result<std::string> find_night(SQLite::Database& db, const std::filesystem::path& path,
                               const std::string& text);
Result<std::vector<double>> read_second_differences(SQLite::Database& db,
                                                    const std::filesystem::path& path,
                                                    const MachineClass& machine);

}  // namespace plumbline
