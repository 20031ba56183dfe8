// The past of a case on a machine class.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <filesystem>
#include <optional>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Its queries, prepared once: a run asks for each of its cases. What SQLite throws leaves them.
class Series {
 public:
  Series(SQLite::Database& db, std::filesystem::path path);

  // As Store::baseline and Store::time_history.
  Result<std::optional<Baseline>> baseline(const std::string& case_id, const MachineClass& machine, const std::string& before_run);
  Result<TimeHistory> times(const std::string& case_id, const MachineClass& machine, const std::string& before_run);

 private:
  Result<std::string> order_before(const std::string& before_run);

  std::filesystem::path path_;
  std::string order_of_, order_;  // the run asked for last; its order never changes
  SQLite::Statement find_order_, find_baseline_, find_times_;
};

// As Store::accept.
Result<void> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path, const std::string& run_id,
                             const std::string& case_glob, const std::string& who, const std::string& why);

}  // namespace plumbline
