// Text for the database: UTF-8 without NUL, so that Python, DuckDB and the sqlite3 shell can read
// it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace plumbline {

bool is_storable_text(std::string_view text);
// Replaces every NUL and every byte outside valid UTF-8 by U+FFFD. For messages, not for ids.
std::string storable_text(std::string_view text);
// Returns an error for an invalid id: "case id 'a\xff' is not UTF-8 without NUL: byte 1 is 0xff".
std::optional<Error> check_id(std::string_view what, std::string_view id);

// Returns, for example, "2026-01-31T12:00:00.123Z".
std::string iso_time(std::chrono::system_clock::time_point time);
// Converts an ISO 8601 UTC time ("…:00Z" or with a fraction) to nine digits of fraction, so that
// text order is time order. Returns nullopt for other text.
std::optional<std::string> sortable_time(std::string_view iso);

}  // namespace plumbline
