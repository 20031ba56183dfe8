// Runs SQL of a user, read-only.
#pragma once

#include <filesystem>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Runs one statement on its own read-only connection. Refuses several statements, none, and all but
// SELECT, VALUES, EXPLAIN and pragmas that describe the schema. Blobs become x'…' literals,
// infinities Inf and -Inf.
Result<Store::Table> read_query(const std::filesystem::path& path, const std::string& sql);

}  // namespace plumbline
