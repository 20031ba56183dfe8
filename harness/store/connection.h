// Opens a database of runs: what it refuses, how it migrates, how SQLite's errors become ours.
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

// a merge of a million rows holds the write lock for about 5 s
inline constexpr int busy_timeout_ms = 20'000;

// An open connection with our pragmas, migrated and with the current views unless `read_only`. See
// Store::open for what is refused.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path,
                                                        bool read_only);

// What a writer sets for a database of a connection: "main", or one that is attached.
void set_writer_pragmas(SQLite::Database& db, const char* schema);

// For merging: a connection to a private copy of what the file holds now, migrated and with the
// current views, whatever its schema was. Refuses what open_database refuses, and damage that
// SQLite's integrity_check finds. The file itself is only read. The copy has no name: what exceeds
// the cache lies in a file (under TMPDIR) that SQLite unlinks as it opens it, so that a process
// that is killed leaves nothing behind.
Result<std::unique_ptr<SQLite::Database>> open_copy(const std::filesystem::path& path);

// The same into a database that is attached to `db` as `schema` and has no name either; views stay
// those of the file.
Result<void> copy_database(const std::filesystem::path& path, SQLite::Database& db,
                           const char* schema);

// An error where the file is no longer where it was opened: SQLite would go on writing to what
// nobody can open any more.
Result<void> check_in_place(SQLite::Database& db, const std::filesystem::path& path,
                            const char* schema = "main");

// An error unless SQLite's quick_check finds nothing: every page and row is read, and indexes are
// not held against their tables.
Result<void> check_integrity(SQLite::Database& db, const std::filesystem::path& path);

// Whether a later outcome may be compared with one of this verdict.
bool can_be_baseline(Verdict verdict);

Error error_at(const std::filesystem::path& path, std::string message, std::string remedy);
// "storing outcomes: database or disk is full", the file, and what to do.
Error database_error(const std::filesystem::path& path, std::string_view doing,
                     const SQLite::Exception& exception);

// Runs `body`, which returns a Result, and turns what it throws into an error.
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
