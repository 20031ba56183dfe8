// Merges databases, and refuses those that contradict each other.
#include "harness/store/merge.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "harness/store/connection.h"
#include "harness/store/read_rows.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

enum class Part {
  named,     // content-addressed: equal in all databases
  of_run,    // replaced together with its run
  appended,  // the union of both, whichever copy of the run is newer
};
struct Table {
  const char* name;
  std::vector<std::string> key;
  Part part;
};

// The table `run` is merged separately. Referenced tables come before those that reference them.
const std::vector<Table>& tables_before_run() {
  static const std::vector<Table> tables{{"machine_class", {"machine_key"}, Part::named},
                                         {"attention_case", {"case_key"}, Part::named},
                                         {"build", {"build_key"}, Part::named},
                                         {"rounding_spec", {"spec_key"}, Part::named}};
  return tables;
}
const std::vector<Table>& tables_after_run() {
  static const std::vector<Table> tables{
      {"outcome", {"case_key", "run_id", "suite"}, Part::of_run},
      {"outcome_output", {"case_key", "run_id", "suite", "output"}, Part::of_run},
      {"diff", {"run_id", "suite", "name", "case_a", "case_b"}, Part::of_run},
      {"suite_score", {"run_id", "suite", "kernel", "dtype", "statistic"}, Part::of_run},
      {"invariance", {"run_id", "suite", "case_key", "invariance"}, Part::of_run},
      {"run_change", {"run_id", "suite", "case_id", "kind"}, Part::of_run},
      {"night_times", {"run_id", "machine_key"}, Part::of_run},
      {"night_event", {"event_key"}, Part::appended},
      {"kernel_resources", {"run_id", "source", "kernel", "launch", "arch"}, Part::appended},
      {"accept", {"accept_key"}, Part::appended},
      {"accepted_case", {"run_id", "case_key", "accept_key"}, Part::appended},
      {"pin", {"pin_key"}, Part::appended},
      {"pinned_case", {"case_key", "run_id", "pin_key"}, Part::appended},
      {"acknowledgement", {"acknowledgement_key"}, Part::appended},
      {"acknowledged_case", {"case_key", "run_id", "acknowledgement_key"}, Part::appended}};
  return tables;
}

// One side of a merge: a database's schema name in the connection, and its file.
struct Side {
  const char* schema;
  const fs::path& path;
};
constexpr const char* staged_schema = "main";  // the shards merged so far
constexpr const char* next_schema = "more";    // the next shard
constexpr const char* out_schema = "result";

std::vector<std::string> columns_of(SQLite::Database& db, const Side& side, const char* table) {
  std::vector<std::string> columns;
  // This pragma does not list generated columns.
  SQLite::Statement select(db, "SELECT name FROM pragma_table_info(?, ?)");
  select.bind(1, table);
  select.bind(2, side.schema);
  while (select.executeStep()) columns.push_back(select.getColumn(0).getString());
  return columns;
}

// Copies the rows of `from` into `to`, within the caller's transaction.
class Merger {
 public:
  Merger(SQLite::Database& db, const Side& from, const Side& to) : db_(db), from_(from), to_(to) {}

  void run() {
    // Rows of Part::of_run can contradict each other only if the run has equal finish times on both
    // sides. An unfinished run counts as oldest, and ISO 8601 text sorts by time.
    for (const auto& [name, order] : {std::pair{"merge_both", "="}, std::pair{"merge_newer", ">"},
                                      std::pair{"merge_older", "<"}}) {
      db_.exec(
          fmt::format("DROP TABLE IF EXISTS temp.{0}; CREATE TEMP TABLE {0} AS SELECT m.run_id "
                      "FROM {2}.run AS m "
                      "JOIN {3}.run AS r USING (run_id) WHERE coalesce(m.finished_at, '') {1} "
                      "coalesce(r.finished_at, '')",
                      name, order, from_.schema, to_.schema));
    }
    for (const Table& table : tables_before_run()) merge(table);
    merge_runs();
    for (const Table& table : tables_after_run()) merge(table);
  }

 private:
  // Returns an error if rows of equal key differ in another column. A content key cannot have two
  // contents, and a run cannot have two histories.
  Result<void> check_same(const Table& table, const std::vector<std::string>& ignored = {}) {
    std::vector<std::string> differs;
    for (const auto& column : columns_of(db_, to_, table.name)) {
      const bool compared = std::ranges::find(ignored, column) == ignored.end();
      if (compared) differs.push_back(fmt::format("m.{0} IS NOT r.{0}", column));
    }
    const bool of_run = std::ranges::find(table.key, "run_id") != table.key.end();
    // CROSS JOIN: look up the few new rows among the many existing ones.
    SQLite::Statement find(
        db_, fmt::format("SELECT {} FROM {}.{} AS m CROSS JOIN {}.{} AS r USING ({}) WHERE ({}){} "
                         "LIMIT 1",
                         of_run ? "m.run_id" : "''", from_.schema, table.name, to_.schema,
                         table.name, fmt::join(table.key, ", "), fmt::join(differs, " OR "),
                         of_run && table.part == Part::of_run
                             ? " AND m.run_id IN (SELECT run_id FROM merge_both)"
                             : ""));
    if (!find.executeStep()) return {};
    const std::string run_id = find.getColumn(0).getString();
    if (run_id.empty()) {
      return fail(error_at(from_.path,
                           fmt::format("a row of table {} differs from that of the same key in {}",
                                       table.name, to_.path.string()),
                           "one of the files was changed by hand or is damaged: measure again, or "
                           "restore it from a backup"));
    }
    return fail(error_at(
        from_.path,
        fmt::format(
            "contradicts {} about run {} (table {}): the run's copies changed independently",
            to_.path.string(), run_id, table.name),
        "leave one of the two files out, or finish or judge the run in the one that counts: the "
        "copy finished last wins"));
  }

  void merge(const Table& table) {
    if (table.part == Part::of_run) {
      db_.exec(fmt::format("DELETE FROM {}.{} WHERE run_id IN (SELECT run_id FROM merge_newer)",
                           to_.schema, table.name));
    }
    unwrap(check_same(table));
    const auto columns = columns_of(db_, to_, table.name);
    // Keeps the order of the rowids, because reports list rows in the order in which they were
    // stored. The other tables have no rowids.
    const bool has_rowid =
        table.part == Part::of_run || std::string_view(table.name) == "kernel_resources";
    db_.exec(fmt::format(
        "INSERT INTO {5}.{0}({1}) SELECT {1} FROM {6}.{0} AS m WHERE {2} {3} ON CONFLICT ({4}) "
        "DO NOTHING",
        table.name, fmt::join(columns, ", "),
        table.part == Part::of_run ? "m.run_id NOT IN (SELECT run_id FROM merge_older)" : "true",
        has_rowid ? "ORDER BY m.rowid" : "", fmt::join(table.key, ", "), to_.schema, from_.schema));
  }

  void merge_runs() {
    const Table table{"run", {"run_id"}, Part::of_run};
    unwrap(check_same(table));
    const auto columns = columns_of(db_, to_, "run");
    std::vector<std::string> updates;
    for (const auto& column : columns) {
      if (column != "run_id") updates.push_back(fmt::format("{0} = excluded.{0}", column));
    }
    db_.exec(
        fmt::format("INSERT INTO {2}.run({0}) SELECT {0} FROM {3}.run AS m WHERE true ON "
                    "CONFLICT (run_id) DO UPDATE SET {1} "
                    "WHERE run_id IN (SELECT run_id FROM merge_newer)",
                    fmt::join(columns, ", "), fmt::join(updates, ", "), to_.schema, from_.schema));
  }

  SQLite::Database& db_;
  const Side from_;
  const Side to_;
};

// Merges in one transaction.
Result<void> merge_side(SQLite::Database& db, const Side& from, const Side& to) {
  return guarded(to.path,
                 fmt::format("merging {}, by way of a copy under TMPDIR", from.path.string()),
                 [&]() -> Result<void> {
                   SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
                   Merger(db, from, to).run();
                   // The private copies have no name, so they cannot be moved.
                   if (to.schema == out_schema) unwrap(check_in_place(db, to.path, out_schema));
                   transaction.commit();
                   return {};
                 });
}

Result<void> attach(SQLite::Database& db, const fs::path& file, const char* schema) {
  return guarded(file, "opening the database", [&]() -> Result<void> {
    SQLite::Statement statement(db, fmt::format("ATTACH ? AS {}", schema));
    statement.bind(1, file.string());
    statement.exec();
    return {};
  });
}

// Merges a shard into `staged`.
Result<void> stage(SQLite::Database& staged, const fs::path& shard, const fs::path& first) {
  if (auto attached = attach(staged, "", next_schema); !attached) return attached;
  auto merged = copy_database(shard, staged, next_schema);
  if (merged) merged = merge_side(staged, {next_schema, shard}, {staged_schema, first});
  staged.tryExec(fmt::format("DETACH {}", next_schema));
  return merged;
}

std::map<std::string, std::string> finish_times(SQLite::Database& db) {
  std::map<std::string, std::string> times;
  SQLite::Statement select(db, "SELECT run_id, coalesce(finished_at, '') FROM run");
  while (select.executeStep())
    times[select.getColumn(0).getString()] = select.getColumn(1).getString();
  return times;
}

// `db` keeps `out` open and counts its rows. The connection of the shards writes the rows, because
// their database has no file that `db` could attach.
Result<MergeReport> merge_into(const fs::path& out, SQLite::Database& staged,
                               const fs::path& shards) {
  auto db = open_database(out, false);
  if (!db) return tl::unexpected(db.error());
  return guarded(out, "merging", [&]() -> Result<MergeReport> {
    MergeReport report;
    const auto before = finish_times(**db), more = finish_times(staged);
    report.outcomes_before = (*db)->execAndGet("SELECT count(*) FROM outcome").getInt64();
    auto runs = unwrap(read_runs(staged, shards, 0));
    unwrap(attach(staged, fs::absolute(out), out_schema));
    set_writer_pragmas(staged, out_schema);
    unwrap(merge_side(staged, {staged_schema, shards}, {out_schema, out}));
    staged.exec(fmt::format("DETACH {}", out_schema));
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      const auto known = before.find(run->run_id);
      auto state = MergedRun::State::added;
      if (known != before.end())
        state = more.at(run->run_id) > known->second ? MergedRun::State::replaced
                                                     : MergedRun::State::kept;
      report.runs.push_back({std::move(*run), state});
    }
    report.outcomes = (*db)->execAndGet("SELECT count(*) FROM outcome").getInt64();
    return report;
  });
}

}  // namespace

std::vector<std::string> merged_tables() {
  std::vector<std::string> names{"run"};
  for (const auto* tables : {&tables_before_run(), &tables_after_run()}) {
    for (const Table& table : *tables) names.emplace_back(table.name);
  }
  return names;
}

// All shards are first merged in a private copy (open_private), so that contradictions between them
// are found before `out` is changed.
Result<MergeReport> merge_databases(const fs::path& out, const std::vector<fs::path>& shards) {
  if (shards.empty()) return fail("there is nothing to merge", "name the files of the shards");
  std::unique_ptr<SQLite::Database> staged;
  for (const fs::path& shard : shards) {
    std::error_code ignored;
    if (fs::equivalent(shard, out, ignored))
      return fail(error_at(shard, "is the file that is merged into", "name only the other files"));
    if (staged != nullptr) {
      if (auto done = stage(*staged, shard, shards.front()); !done)
        return tl::unexpected(done.error());
      continue;
    }
    auto first = open_copy(shard);
    if (!first) return tl::unexpected(first.error());
    staged = std::move(*first);
  }
  return merge_into(out, *staged, shards.size() == 1 ? shards.front() : "the shards");
}

}  // namespace plumbline
