// Runs SQL from outside, which can only read.
#pragma once

#include <filesystem>
#include <string>

#include "harness/store/store.h"

namespace plumbline {

// Runs one statement on a read-only connection of its own. Refused: more than one statement, none,
// and everything but SELECT, VALUES, EXPLAIN and the pragmas that describe tables. Blobs come as
// x'…' literals, infinities as Inf and -Inf.
Result<Store::Table> read_query(const std::filesystem::path& path, const std::string& sql);

}  // namespace plumbline
