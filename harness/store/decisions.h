// Decisions of users about the outcomes of a run: accept, pin, acknowledge. Rows are only added.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// A decision about the cases of a run: who made it and why.
struct Decision {
  std::string run_id, case_glob, who, why;
};
// Implementations of Store::accept, Store::pin and Store::acknowledge.
Result<Accepted> accept_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision);
Result<int> pin_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                         const Decision& decision);
Result<int> acknowledge_outcomes(SQLite::Database& db, const std::filesystem::path& path,
                                 const Decision& decision, const std::string& until);

}  // namespace plumbline
