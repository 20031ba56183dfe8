// Runs SQL of a user, read-only.
#pragma once

#include <filesystem>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Runs one SELECT, VALUES, EXPLAIN or pragma that describes the schema, on its own read-only
// connection. Refuses other statements, several statements, and text without a statement. Blobs
// become x'…' literals, infinities Inf and -Inf.
Result<Store::Table> read_query(const std::filesystem::path& path, const std::string& sql);

}  // namespace plumbline
