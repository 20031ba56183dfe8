// Text as the database keeps it: UTF-8 without NUL, which every reader of the file can read. Such
// readers are Python, DuckDB and the sqlite3 shell.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

bool is_storable_text(std::string_view text);
// Replaces every byte that is not part of valid UTF-8, and every NUL, by U+FFFD. For words of a
// kernel that died, not for ids.
std::string storable_text(std::string_view text);
// Ids are not repaired but refused: "case id 'a\xff' is not UTF-8 at byte 1".
std::optional<Error> check_id(std::string_view what, std::string_view id);

// "2026-01-31T12:00:00.123Z"
std::string iso_time(std::chrono::system_clock::time_point time);
// An ISO 8601 UTC time ("…:00Z" or with a fraction) with nine digits of fraction, so that text
// order is time order.
std::optional<std::string> sortable_time(std::string_view iso);

}  // namespace plumbline
