// Visits every series in order of time, marks the outcomes to keep, and deletes the others.
#include "harness/store/prune.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "harness/store/connection.h"
#include "harness/timing/level_changes.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Enough for the gate's largest pool and for a pin's level
constexpr std::size_t nights_before_a_pin = 14;

struct RunFacts {
  std::string night;
  bool is_finished = false, is_recent = false, is_kept_whole = false;
};

struct Row {
  std::int64_t rowid = 0;
  const RunFacts* run = nullptr;
  std::string run_id, case_key, place;  // place: case and suite
  // Output digest, verdict, status, versions, and " finished" if the run did. Outcomes on both
  // sides of a change are kept.
  std::string state;
  std::optional<double> log_time;  // only for a timed outcome that did not fail
  bool is_failure = false;
  std::optional<KeptFor> kept;
};

std::int64_t bytes_of(const fs::path& path) {
  std::int64_t bytes = 0;
  for (const char* end : {"", "-wal"}) {
    std::error_code error;
    const auto size = fs::file_size(path.string() + end, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

void keep(Row& row, KeptFor reason) {
  if (!row.kept) row.kept = reason;
}

class Pruner {
 public:
  Pruner(SQLite::Database& db, const PruneOptions& options) : db_(db), options_(options) {}

  PruneReport run() {
    read_runs();
    read_decisions();
    mark_outcomes();
    if (!options_.dry_run) {
      delete_outcomes();
      delete_of_runs();
    }
    return report_;
  }

 private:
  void read_runs() {
    const auto whole = static_cast<std::size_t>(options_.nights);
    std::set<std::string> nights, recent;
    SQLite::Statement runs(db_,
                           "SELECT run_id, iif(night_id <> '', night_id, "
                           "substr(started_at, 1, 10)), finished_at IS NOT NULL FROM run "
                           "ORDER BY run_order DESC");
    while (runs.executeStep()) {
      RunFacts& run = runs_[runs.getColumn(0).getString()];
      run.night = runs.getColumn(1).getString();
      run.is_finished = runs.getColumn(2).getInt() != 0;
      if (recent.size() < whole && recent.insert(run.night).second) report_.since = run.night;
      run.is_recent = recent.contains(run.night);
      nights.insert(run.night);
      ++report_.runs_before;
    }
    report_.nights_before = static_cast<int>(nights.size());
    report_.nights_whole = static_cast<int>(recent.size());
  }

  void read_decisions() {
    const auto read = [&](const char* sql, auto&& take) {
      SQLite::Statement select(db_, sql);
      while (select.executeStep())
        take(select.getColumn(0).getString() + select.getColumn(1).getString());
    };
    read("SELECT run_id, case_key FROM pinned_case", [&](auto key) { pinned_.insert(key); });
    read(
        "SELECT run_id, case_key FROM accepted_case UNION SELECT run_id, case_key FROM "
        "acknowledged_case",
        [&](auto key) { accepted_.insert(key); });
    SQLite::Statement complete(
        db_,
        "SELECT r.run_id, max(r.run_order) FROM run AS r "
        "JOIN (SELECT DISTINCT run_id, suite FROM outcome) AS s USING (run_id) WHERE r.complete "
        "GROUP BY r.machine_key, r.purpose, r.shard, r.selection, s.suite");
    while (complete.executeStep()) runs_.at(complete.getColumn(0).getString()).is_kept_whole = true;
  }

  void mark_outcomes() {
    SQLite::Statement select(
        db_,
        "SELECT o.series_key || o.machine_key || o.provider_options, o.rowid, o.run_id, "
        "o.case_key, o.suite, o.output_digest || ' ' || o.verdict || ' ' || o.status || ' ' || "
        "o.judge_version || ' ' || o.reference_version || ' ' || o.inputs_version, "
        "o.time_ratio, o.verdict IN (SELECT verdict FROM verdict WHERE is_failure) "
        "FROM outcome AS o INDEXED BY outcome_in_time "
        "ORDER BY o.series_key, o.machine_key, o.provider_options, o.run_order DESC, o.suite");
    std::string series;
    std::vector<Row> rows;
    while (select.executeStep()) {
      std::string next = select.getColumn(0).getString();
      if (next != series) mark_series(rows);
      series = std::move(next);
      Row& row = rows.emplace_back();
      row.rowid = select.getColumn(1).getInt64();
      row.run_id = select.getColumn(2).getString();
      row.run = &runs_.at(row.run_id);
      row.case_key = select.getColumn(3).getString();
      row.place = row.case_key + select.getColumn(4).getString();
      row.state = select.getColumn(5).getString() + (row.run->is_finished ? " finished" : "");
      row.is_failure = select.getColumn(7).getInt() != 0;
      const double ratio = select.getColumn(6).getDouble();  // 0 for NULL
      if (ratio > 0 && std::isfinite(ratio) && !row.is_failure) row.log_time = std::log(ratio);
    }
    mark_series(rows);
  }

  // Marks the rows of one series, which are newest first, and clears them.
  void mark_series(std::vector<Row>& rows) {
    std::ranges::reverse(rows);
    report_.outcomes_before += static_cast<std::int64_t>(rows.size());
    const bool has_old = !rows.empty() && !std::ranges::all_of(rows, [](const Row& row) {
      return row.run->is_recent;
    });
    if (has_old) {
      for (Row& row : rows) mark_decided(row);
      mark_before_pins(rows);
      mark_changes(rows);
      mark_levels(rows);
      for (Row& row : rows) {
        if (row.run->is_kept_whole) keep(row, KeptFor::complete_run);
      }
      for (const Row& row : rows) {
        if (row.run->is_recent) continue;
        if (row.kept) {
          ++report_.kept[static_cast<std::size_t>(*row.kept)];
        } else {
          rowids_to_delete_.push_back(row.rowid);
        }
      }
    }
    report_.outcomes_deleted = static_cast<std::int64_t>(rowids_to_delete_.size());
    rows.clear();
  }

  void mark_decided(Row& row) const {
    const std::string key = row.run_id + row.case_key;
    if (row.is_failure) keep(row, KeptFor::failure);
    if (accepted_.contains(key)) keep(row, KeptFor::accepted);
    if (pinned_.contains(key)) keep(row, KeptFor::pinned);
  }

  void mark_before_pins(std::vector<Row>& rows) const {
    if (pinned_.empty()) return;
    for (std::size_t pin = 0; pin < rows.size(); ++pin) {
      if (!pinned_.contains(rows[pin].run_id + rows[pin].case_key)) continue;
      std::set<std::string> nights;
      for (std::size_t i = pin; i-- > 0;) {
        nights.insert(rows[i].run->night);
        if (nights.size() > nights_before_a_pin) break;
        keep(rows[i], KeptFor::before_a_pin);
      }
    }
  }

  // Keeps the outcomes on both sides of each change, and the first and the newest outcome. If any
  // deleted outcome could be a baseline, so could one of these, and a later first_seen outcome
  // keeps its past.
  static void mark_changes(std::vector<Row>& rows) {
    std::map<std::string, Row*> before;
    for (Row& row : rows) {
      Row*& last = before[row.place];
      if (last == nullptr) {
        keep(row, KeptFor::end_of_series);
      } else if (last->state != row.state) {
        keep(*last, KeptFor::change);
        keep(row, KeptFor::change);
      }
      last = &row;
    }
    for (const auto& [place, last] : before) keep(*last, KeptFor::end_of_series);
  }

  static void mark_levels(std::vector<Row>& rows) {
    std::vector<double> times;
    std::vector<Row*> timed;
    for (Row& row : rows) {
      if (!row.log_time) continue;
      times.push_back(*row.log_time);
      timed.push_back(&row);
    }
    for (const std::size_t from : level_changes(times)) {
      keep(*timed[from - 1], KeptFor::level);
      keep(*timed[from], KeptFor::level);
    }
  }

  // If many rows are deleted, dropping and recreating the indexes is faster: the order of index
  // pages differs from that of the rows, so each page would be written to the log again and again.
  void delete_outcomes() {
    std::vector<std::pair<std::string, std::string>> indexes;  // name and statement
    if (4 * report_.outcomes_deleted > report_.outcomes_before) {
      SQLite::Statement select(db_,
                               "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND "
                               "tbl_name = 'outcome' AND sql IS NOT NULL ORDER BY name");
      while (select.executeStep())
        indexes.emplace_back(select.getColumn(0).getString(), select.getColumn(1).getString());
    }
    for (const auto& [name, sql] : indexes) db_.exec(fmt::format("DROP INDEX \"{}\"", name));
    std::ranges::sort(rowids_to_delete_);
    {
      SQLite::Statement remove(db_, "DELETE FROM outcome WHERE rowid = ?");
      for (const std::int64_t rowid : rowids_to_delete_) {
        remove.bind(1, rowid);
        remove.exec();
        remove.reset();
      }
    }
    for (const auto& [name, sql] : indexes) db_.exec(sql);
  }

  void delete_of_runs() {
    db_.exec("DROP TABLE IF EXISTS temp.pruned; CREATE TEMP TABLE pruned(run_id TEXT PRIMARY KEY)");
    SQLite::Statement insert(db_, "INSERT INTO temp.pruned VALUES (?)");
    for (const auto& [run_id, run] : runs_) {
      if (run.is_recent || run.is_kept_whole) continue;
      insert.bind(1, run_id);
      insert.exec();
      insert.reset();
    }
    constexpr const char* fails = "verdict IN (SELECT verdict FROM verdict WHERE is_failure)";
    const std::pair<const char*, std::string> kept_rows[] = {
        {"diff", fails},
        {"invariance", fails},
        {"suite_score", "status = 'fail'"},
        {"run_change", "standing IN ('failure', 'open')"},
        {"night_times", "suspect"},
        {"kernel_resources", "verdict <> 'pass'"}};
    std::string is_left;
    for (const auto& [table, kept] : kept_rows) {
      report_.other_rows_deleted += db_.exec(fmt::format(
          "DELETE FROM {} WHERE run_id IN (SELECT run_id FROM temp.pruned) AND NOT ({})", table,
          kept));
      is_left +=
          fmt::format(" AND NOT EXISTS (SELECT 1 FROM {} AS x WHERE x.run_id = run.run_id)", table);
    }
    for (const char* table : {"outcome", "accept", "pin", "acknowledgement"})
      is_left +=
          fmt::format(" AND NOT EXISTS (SELECT 1 FROM {} AS x WHERE x.run_id = run.run_id)", table);
    report_.runs_deleted =
        db_.exec("DELETE FROM run WHERE run_id IN (SELECT run_id FROM temp.pruned)" + is_left);
    db_.exec("DROP TABLE temp.pruned");
  }

  SQLite::Database& db_;
  const PruneOptions& options_;
  PruneReport report_;
  std::unordered_map<std::string, RunFacts> runs_;
  std::unordered_set<std::string> pinned_, accepted_;  // run id and case key
  std::vector<std::int64_t> rowids_to_delete_;         // of table outcome
};

}  // namespace

std::string_view words(KeptFor reason) {
  constexpr std::array<std::string_view, reasons_to_keep> all{
      "failures",
      "accepted or acknowledged",
      "pinned",
      "of the 14 nights before a pinned one",
      "beside a change of bits, verdict or judging",
      "the first or the newest of their series",
      "beside a change of the time",
      "of the newest complete run of its kind"};
  return all[static_cast<std::size_t>(reason)];
}

Result<PruneReport> prune_database(const fs::path& path, const PruneOptions& options) {
  if (options.nights < 1)
    return fail(fmt::format("cannot keep {} nights", options.nights),
                "keep at least 1 night; the gate of times uses 60");
  // Opening read-only first avoids creating a missing file.
  if (auto there = open_database(path, true); !there) return tl::unexpected(there.error());
  auto db = open_database(path, false);
  if (!db) return tl::unexpected(db.error());
  return guarded(path, "pruning", [&]() -> Result<PruneReport> {
    const std::int64_t bytes_before = bytes_of(path);
    (*db)->exec("PRAGMA cache_size = -262144");  // fits the largest index of a year
    PruneReport report;
    {
      SQLite::Transaction transaction(**db, SQLite::TransactionBehavior::IMMEDIATE);
      report = Pruner(**db, options).run();
      if (options.dry_run) return report;
      unwrap(check_in_place(**db, path));
      transaction.commit();
    }
    if (options.vacuum) (*db)->exec("VACUUM");
    (*db)->exec("PRAGMA wal_checkpoint(TRUNCATE)");
    report.bytes_before = bytes_before;
    report.bytes = bytes_of(path);
    return report;
  });
}

}  // namespace plumbline
