// Opens databases: refuses files of other programs, migrates old schemas, and refreshes views.
#include "harness/store/connection.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "embedded_sql.h"
#include "harness/judge/exit_code.h"
#include "harness/store/keys.h"
#include "harness/store/store.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::optional<Error> refuse_identity(const fs::path& path, std::uint32_t file_application_id,
                                     std::int64_t user_version) {
  if (file_application_id != 0 &&
      file_application_id != static_cast<std::uint32_t>(application_id)) {
    return error_at(
        path,
        fmt::format("belongs to another program (application_id 0x{:08x}, plumbline's is 0x{:08x})",
                    file_application_id, application_id),
        "name another file");
  }
  if (file_application_id != 0 && user_version > 0 && user_version < embedded_schema.first) {
    return error_at(
        path,
        fmt::format("written by an earlier plumbline (schema {}, this one knows {} and later)",
                    user_version, embedded_schema.first),
        "measure again into another file; the plumbline that wrote this one can still read it");
  }
  if (user_version > schema_version) {
    return error_at(path,
                    fmt::format("written by a newer plumbline (schema {}, this one knows {})",
                                user_version, schema_version),
                    "upgrade plumbline");
  }
  return std::nullopt;
}

// Checks the file without SQLite, which could create, recover or checkpoint files next to one that
// belongs to another program.
std::optional<Error> refuse_file(const fs::path& path, bool read_only) {
  std::error_code ignored;
  const fs::path directory = path.parent_path();
  if (!fs::is_directory(directory, ignored)) {
    return error_at(
        path, fmt::format("directory {} does not exist or cannot be entered", directory.string()),
        fmt::format("mkdir -p {}", directory.string()));
  }
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status))
    return error_at(path, "is a directory",
                    "name a file in it, for example " + (path / "plumbline.db").string());
  const bool empty =
      !fs::exists(status) || (fs::is_regular_file(status) && fs::file_size(path, ignored) == 0);
  if (empty && !read_only) return std::nullopt;
  if (empty)
    return error_at(path, "there is no database of runs here", "`plumbline run --db` writes one");
  if (!std::ifstream(path))
    return error_at(path, "no permission to read the file", "make it readable for this user");
  try {
    const SQLite::Header header = SQLite::Database::getHeaderInfo(path.string());
    return refuse_identity(path, static_cast<std::uint32_t>(header.applicationId),
                           static_cast<std::int64_t>(header.userVersion));
  } catch (const SQLite::Exception&) {
    return error_at(path, "is not an SQLite database", "name another file");
  }
}

std::int64_t pragma(SQLite::Database& db, const std::string& name) {
  return db.execAndGet("PRAGMA " + name).getInt64();
}

// Repeats the check through SQLite, which also reads the write-ahead log.
std::optional<Error> refuse_contents(const fs::path& path, SQLite::Database& db, bool read_only,
                                     int oldest_schema) {
  if (!read_only && sqlite3_db_readonly(db.getHandle(), "main") == 1) {
    return error_at(
        path, "no permission to write the file",
        "make the file and its directory writable for this user, or open it for reading");
  }
  // A single snapshot, because another process may be creating the same file: its id and its tables
  // must be read together.
  const SQLite::Transaction snapshot(db);
  const auto id = static_cast<std::uint32_t>(pragma(db, "application_id"));
  const std::int64_t version = pragma(db, "user_version");
  if (auto refused = refuse_identity(path, id, version)) return refused;
  if (id == 0 && db.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64() > 0) {
    return error_at(path,
                    "is an SQLite database of another program (no application_id, but tables)",
                    "name another file");
  }
  if (read_only && version < oldest_schema) {
    return error_at(path,
                    fmt::format("has schema {}, this plumbline reads {}", version, schema_version),
                    "migrate it by a command that stores rows in it, such as `plumbline run --db`");
  }
  return std::nullopt;
}

std::string uri_of(const fs::path& path, std::string_view options) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' ||
                       c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("{}?{}", uri, options);
}

std::unique_ptr<SQLite::Database> connect_by_uri(const fs::path& path, std::string_view options) {
  return std::make_unique<SQLite::Database>(
      uri_of(path, options), SQLite::OPEN_READONLY | SQLite::OPEN_URI, busy_timeout_ms);
}

// Reads the log with its index in this process's memory, without locks or a checkpoint, and writes
// no files. Safe only if no process can write: on a full disk, or in a read-only directory with a
// log.
std::unique_ptr<SQLite::Database> connect_without_shared_memory(const fs::path& path) {
  auto db = connect_by_uri(path, "mode=ro&vfs=unix-none");
  sqlite3_db_config(db->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  db->exec("PRAGMA locking_mode = EXCLUSIVE");
  return db;
}

// A reader of a WAL database writes its -shm file, which fails if the disk is full or the directory
// is read-only (a shared disk, a CI artefact). In a read-only directory without a log the file is
// opened as immutable: a writer, if any, has not changed it yet.
std::unique_ptr<SQLite::Database> connect_for_reading(const fs::path& path) {
  const bool can_write_beside =
      faccessat(AT_FDCWD, path.parent_path().c_str(), W_OK, AT_EACCESS) == 0;
  if (!can_write_beside && !fs::exists(path.string() + "-wal"))
    return connect_by_uri(path, "immutable=1");
  auto db =
      std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READONLY, busy_timeout_ms);
  try {
    pragma(*db, "user_version");
    return db;
  } catch (const SQLite::Exception& exception) {
    const int code = exception.getErrorCode() & 0xFF;
    if (code != SQLITE_IOERR && code != SQLITE_FULL && code != SQLITE_CANTOPEN) throw;
    return connect_without_shared_memory(path);
  }
}

// Opens an empty database without a name. SQLite keeps it in a file that it unlinks at once, or in
// memory if temp_store demands that.
std::unique_ptr<SQLite::Database> open_private() {
  auto db = std::make_unique<SQLite::Database>(
      "", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, busy_timeout_ms);
  db->exec("PRAGMA foreign_keys = ON; PRAGMA temp_store = FILE; PRAGMA cache_size = -65536");
  return db;
}

// Turns off SQLite's memory statistics: they are not used, but take a lock for each allocation and
// release. Has no effect if the process has already used SQLite.
void stop_counting_memory() {
  static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(once);
}

// If several processes open a new file at once, the change to WAL needs a lock that SQLite does not
// always wait for.
void use_write_ahead_log(SQLite::Database& db) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  while (true) {
    try {
      if (db.execAndGet("PRAGMA journal_mode").getString() != "wal")
        db.exec("PRAGMA journal_mode = wal");
      return;
    } catch (const SQLite::Exception& exception) {
      const int code = exception.getErrorCode() & 0xFF;
      if ((code != SQLITE_BUSY && code != SQLITE_LOCKED) ||
          std::chrono::steady_clock::now() > deadline)
        throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

std::string views_fingerprint() {
  std::string text(views_sql);
  for (const Verdict verdict : all<Verdict>())
    text += fmt::format("{} {} {}\n", name(verdict), name(standing_of(verdict)),
                        can_be_baseline(verdict));
  for (const RunState state : all<RunState>())
    text += fmt::format("{} {}\n", exit_code_of(state), name(state));
  return hex(key_of(text));
}

void store_verdicts(SQLite::Database& db) {
  SQLite::Statement insert(
      db,
      "INSERT OR REPLACE INTO verdict(verdict, standing, is_failure, is_baseline) VALUES (?, ?, ?, "
      "?)");
  for (const Verdict verdict : all<Verdict>()) {
    insert.bind(1, std::string(name(verdict)));
    insert.bind(2, std::string(name(standing_of(verdict))));
    insert.bind(3, is_failure(verdict));
    insert.bind(4, can_be_baseline(verdict));
    insert.exec();
    insert.reset();
  }
}

void store_run_states(SQLite::Database& db) {
  SQLite::Statement insert(
      db, "INSERT OR REPLACE INTO run_state(exit_code, state, precedence) VALUES (?, ?, ?)");
  for (const RunState state : all<RunState>()) {
    insert.bind(1, exit_code_of(state));
    insert.bind(2, std::string(name(state)));
    insert.bind(3, static_cast<int>(state));
    insert.exec();
    insert.reset();
  }
}

void drop_own_views(SQLite::Database& db) {
  std::string drops;
  SQLite::Statement views(
      db,
      R"(SELECT format('DROP VIEW "%w";', name) FROM sqlite_schema WHERE type = 'view' AND name GLOB 'v_*')");
  while (views.executeStep()) drops += views.getColumn(0).getString();
  views.reset();
  db.exec(drops);
}

// Views and the tables of verdicts and run states belong to the program, not to the schema. This
// function rewrites them if they differ from this program's.
void refresh_views(SQLite::Database& db) {
  const std::string fingerprint = views_fingerprint();
  const auto is_current = [&] {
    SQLite::Statement stored(db, "SELECT value FROM meta WHERE key = 'views'");
    return stored.executeStep() && stored.getColumn(0).getString() == fingerprint;
  };
  if (is_current()) return;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  if (is_current()) return;
  drop_own_views(db);
  db.exec(std::string(views_sql));
  store_verdicts(db);
  store_run_states(db);
  SQLite::Statement remember(db, "INSERT OR REPLACE INTO meta(key, value) VALUES ('views', ?)");
  remember.bind(1, fingerprint);
  remember.exec();
  transaction.commit();
}

std::string remedy_for(int code, const fs::path& path) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("another process has been writing for {} s: try again when it is done",
                         busy_timeout_ms / 1000);
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "check space, quota and health of that disk, then run again; rows stored before are "
             "intact";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "make the file and its directory writable for this user (SQLite keeps a -wal and a "
             "-shm file beside it)";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format("restore it from a backup, or save what can be read: sqlite3 {} .recover",
                         path.string());
    default:
      return "";
  }
}

}  // namespace

constinit const int schema_version = embedded_schema.number();

void migrate(SQLite::Database& db, const Schema& schema) {
  if (pragma(db, "user_version") >= schema.number()) return;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  // Old views may refer to columns that a migration removes. refresh_views() creates the new ones.
  if (pragma(db, "user_version") > 0) {
    drop_own_views(db);
    if (db.tableExists("meta")) db.exec("DELETE FROM meta WHERE key = 'views'");
  }
  const auto apply = [&](int number, std::string_view sql) {
    // Another process may have migrated the file in the meantime.
    if (pragma(db, "user_version") >= number) return;
    db.exec(std::string(sql));
    db.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id,
                        number));
  };
  apply(schema.first, schema.sql);
  for (const Migration& migration : schema.migrations) apply(migration.number, migration.sql);
  transaction.commit();
}

Error error_at(const fs::path& path, std::string message, std::string remedy) {
  return {path.string(), 0, std::move(message), std::move(remedy)};
}

bool can_be_baseline(Verdict verdict) {
  return verdict == Verdict::pass || verdict == Verdict::improved ||
         verdict == Verdict::first_seen || verdict == Verdict::changed;
}

Error database_error(const fs::path& path, std::string_view doing,
                     const SQLite::Exception& exception) {
  return error_at(path, fmt::format("{}: {}", doing, exception.what()),
                  remedy_for(exception.getErrorCode(), path));
}

Result<void> check_in_place(SQLite::Database& db, const fs::path& path, const char* schema) {
  int moved = 0;
  if (sqlite3_file_control(db.getHandle(), schema, SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
      moved == 0)
    return {};
  return fail(
      error_at(path, "was deleted or replaced while it was open: rows written now would be lost",
               "put the file back, or begin a new run in another file; nothing was written since"));
}

Result<void> check_integrity(SQLite::Database& db, const fs::path& path) {
  return guarded(path, "checking the database", [&]() -> Result<void> {
    const std::string found = db.execAndGet("PRAGMA quick_check(1)").getString();
    if (found == "ok") return {};
    return fail(error_at(path, "is damaged: " + found, remedy_for(SQLITE_CORRUPT, path)));
  });
}

// A log of 64 MiB and an equal cache: SQLite's defaults (4 MB, 2 MB) took 6 s for 20,000 outcomes
// on a disk where these take 0.7 s. Up to 2 GiB are mapped, because judging reads scattered pages,
// and would spend a sixth of its time in read().
void set_writer_pragmas(SQLite::Database& db, const char* schema) {
  db.exec(
      fmt::format("PRAGMA {0}.synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16384; PRAGMA "
                  "{0}.cache_size = -65536; PRAGMA {0}.mmap_size = 2147418112",
                  schema));
}

Result<void> copy_database(const fs::path& given, SQLite::Database& db, const char* schema) {
  const fs::path path = fs::absolute(given);
  if (auto refused = refuse_file(path, true)) return fail(*refused);
  return guarded(path, "copying the database under TMPDIR", [&]() -> Result<void> {
    const auto from = connect_for_reading(path);
    if (auto refused = refuse_contents(path, *from, true, embedded_schema.first))
      return fail(*refused);
    unwrap(check_integrity(*from, path));
    if (pragma(*from, "user_version") == schema_version) {
      SQLite::Backup(db, schema, *from, "main").executeStep(-1);
      return {};
    }
    const auto older = open_private();  // migrations do not name a schema
    SQLite::Backup(*older, *from).executeStep(-1);
    migrate(*older, embedded_schema);
    SQLite::Backup(db, schema, *older, "main").executeStep(-1);
    return {};
  });
}

Result<std::unique_ptr<SQLite::Database>> open_copy(const fs::path& path) {
  return guarded(path, "copying the database under TMPDIR",
                 [&]() -> Result<std::unique_ptr<SQLite::Database>> {
                   auto copy = open_private();
                   unwrap(copy_database(path, *copy, "main"));
                   refresh_views(*copy);
                   return copy;
                 });
}

Result<std::unique_ptr<SQLite::Database>> open_database(const fs::path& given, bool read_only) {
  // An absolute path keeps SQLite from interpreting names such as "file:" or ":memory:".
  const fs::path path = fs::absolute(given);
  if (auto refused = refuse_file(path, read_only)) return fail(*refused);
  stop_counting_memory();
  // Only one thread at a time uses a Store, so SQLite needs no mutex.
  const int writing = SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX;
  return guarded(path, "opening the database", [&]() -> Result<std::unique_ptr<SQLite::Database>> {
    auto db = read_only
                  ? connect_for_reading(path)
                  : std::make_unique<SQLite::Database>(path.string(), writing, busy_timeout_ms);
    if (auto refused = refuse_contents(path, *db, read_only, schema_version)) return fail(*refused);
    db->exec("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY");
    if (read_only) return db;
    // Before the change to WAL, so that the file's header has the application id from the start.
    migrate(*db, embedded_schema);
    use_write_ahead_log(*db);
    set_writer_pragmas(*db, "main");
    refresh_views(*db);
    return db;
  });
}

}  // namespace plumbline
