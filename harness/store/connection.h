// Opens and copies databases of runs, checks them, and converts SQLite's errors.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>

#include "harness/base/attempt.h"
#include "harness/base/error.h"
#include "harness/judge/judge.h"

namespace plumbline {

// merging a million rows holds the write lock for 5 s
inline constexpr int busy_timeout_ms = 20'000;

// Opens a connection with our pragmas. Unless `read_only`, migrates the schema and refreshes the
// views. Store::open lists the errors.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path,
                                                        bool read_only);

// Sets the pragmas of a writer for `schema`: "main", or an attached database.
void set_writer_pragmas(SQLite::Database& db, const char* schema);

// Returns a private copy of the file for merging, migrated and with current views. Returns the
// errors of open_database, and an error for damage that SQLite's quick_check finds. The file is
// only read. The copy has no name: what exceeds the cache is in a file under TMPDIR that SQLite
// unlinks at once, so a killed process leaves no file.
Result<std::unique_ptr<SQLite::Database>> open_copy(const std::filesystem::path& path);

// Copies the file into `schema`, a database without a name that is attached to `db`. Does not
// refresh the views.
Result<void> copy_database(const std::filesystem::path& path, SQLite::Database& db,
                           const char* schema);

// Returns an error if the file was moved or deleted, because SQLite still writes to the old file.
Result<void> check_in_place(SQLite::Database& db, const std::filesystem::path& path,
                            const char* schema = "main");

// Returns an error if SQLite's quick_check finds damage. It reads every page and row, but does not
// compare indexes with their tables.
Result<void> check_integrity(SQLite::Database& db, const std::filesystem::path& path);

// Returns true if an outcome with this verdict can be a baseline. A user may also accept others.
bool can_be_baseline(Verdict verdict);

Error error_at(const std::filesystem::path& path, std::string message, std::string remedy);
// Returns an error such as "storing outcomes: database or disk is full", with the file and a
// remedy.
Error database_error(const std::filesystem::path& path, std::string_view doing,
                     const SQLite::Exception& exception);

// Runs `body`, which returns a Result, and converts exceptions to errors.
template <class Body>
auto guarded(const std::filesystem::path& path, std::string_view doing, Body&& body)
    -> decltype(body()) {
  try {
    return body();
  } catch (UnwrapFailed& failed) {
    return tl::unexpected(std::move(failed.errors));
  } catch (const SQLite::Exception& exception) {
    return fail(database_error(path, doing, exception));
  } catch (const std::exception& exception) {
    return fail(error_at(path, std::string(doing) + ": " + exception.what(),
                         "the file was written by another version of plumbline, or is damaged"));
  }
}

}  // namespace plumbline
