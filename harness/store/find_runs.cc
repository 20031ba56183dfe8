// Finds runs by night, commit or id.
#include "harness/store/find_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "harness/store/connection.h"
#include "harness/store/read_rows.h"
#include "harness/store/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view latest_night = "latest-night", night = "night:", commit = "commit:";
constexpr std::size_t min_commit_digits = 4;

std::vector<std::string> runs_with(SQLite::Database& db, const std::string& column,
                                   const std::string& value) {
  return first_column(db,
                      fmt::format("SELECT run_id FROM run WHERE {} = ? AND purpose <> 'resources' "
                                  "ORDER BY run_order",
                                  column),
                      value);
}

Result<RunSelection> runs_of_night(SQLite::Database& db, const std::string& night_id) {
  return RunSelection{"night " + night_id, runs_with(db, "night_id", night_id)};
}

Result<RunSelection> find_latest_night(SQLite::Database& db, const fs::path& path,
                                       const std::string& text) {
  const std::optional<std::int64_t> back = steps_back(text, latest_night);
  if (!back || *back < 0) {
    return fail(error_at(path, fmt::format("'{}' names no night", storable_text(text)),
                         "write latest-night, latest-night~1 (the one before), … or night:ID"));
  }
  const auto nights = first_column(
      db,
      "SELECT night_id FROM run WHERE night_id <> '' AND purpose <> 'resources' GROUP BY night_id "
      "ORDER BY max(run_order) DESC");
  if (static_cast<std::size_t>(*back) < nights.size())
    return runs_of_night(db, nights[static_cast<std::size_t>(*back)]);
  return fail(error_at(
      path,
      fmt::format("'{}' goes back further than the {} nights of the database", text, nights.size()),
      "`plumbline run --night ID` makes a run part of a night; without nights, name runs: latest, "
      "latest~1, …"));
}

Result<RunSelection> select_night(SQLite::Database& db, const fs::path& path,
                                  const std::string& text) {
  const auto found = first_column(
      db,
      "SELECT DISTINCT night_id FROM run WHERE substr(night_id, 1, length(?1)) = ?1 AND ?1 <> '' "
      "AND purpose <> 'resources' ORDER BY night_id <> ?1, night_id LIMIT 4",
      text);
  if (found.empty()) {
    return fail(error_at(path, fmt::format("no night's id begins with '{}'", storable_text(text)),
                         "`plumbline query \"SELECT DISTINCT night_id FROM v_runs\"` lists ids"));
  }
  if (found.size() == 1 || found.front() == text) return runs_of_night(db, found.front());
  return fail(error_at(
      path, fmt::format("several nights' ids begin with '{}': {}", text, fmt::join(found, ", ")),
      "write more of the id"));
}

bool may_be_a_commit(std::string_view text) {
  return text.size() >= min_commit_digits &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Returns nullopt if no run of this commit is stored.
Result<std::optional<RunSelection>> find_commit(SQLite::Database& db, const fs::path& path,
                                                const std::string& text) {
  const auto found = first_column(
      db,
      "SELECT DISTINCT code_commit FROM run WHERE substr(code_commit, 1, length(?1)) = lower(?1) "
      "AND purpose <> 'resources' ORDER BY code_commit LIMIT 4",
      text);
  if (found.empty()) return std::optional<RunSelection>{};
  if (found.size() == 1) {
    return std::optional(
        RunSelection{"commit " + found[0].substr(0, std::max<std::size_t>(7, text.size())),
                     runs_with(db, "code_commit", found[0])});
  }
  return fail(error_at(
      path, fmt::format("several commits begin with '{}': {}", text, fmt::join(found, ", ")),
      "write more of the commit"));
}

Result<RunSelection> find_named_commit(SQLite::Database& db, const fs::path& path,
                                       const std::string& text) {
  if (!may_be_a_commit(text)) {
    return fail(error_at(path, fmt::format("'{}' names no commit", storable_text(text)),
                         "write at least four of its hexadecimal digits"));
  }
  if (const auto found = unwrap(find_commit(db, path, text))) return *found;
  return fail(error_at(path, fmt::format("no run has a commit that begins with '{}'", text),
                       "`plumbline query \"SELECT DISTINCT code_commit FROM v_runs\"` lists all; "
                       "`plumbline run --commit SHA` stores a run's commit"));
}

bool begins_a_run_id(SQLite::Database& db, const std::string& text) {
  return !first_column(
              db, "SELECT run_id FROM run WHERE substr(run_id, 1, length(?1)) = ?1 LIMIT 1", text)
              .empty();
}

}  // namespace

Result<RunSelection> find_runs(SQLite::Database& db, const fs::path& path,
                               const std::string& text) {
  return guarded(path, "looking up runs", [&]() -> Result<RunSelection> {
    if (text.starts_with(latest_night)) return find_latest_night(db, path, text);
    if (text.starts_with(night)) return select_night(db, path, text.substr(night.size()));
    if (text.starts_with(commit)) return find_named_commit(db, path, text.substr(commit.size()));
    if (may_be_a_commit(text) && !begins_a_run_id(db, text)) {
      if (const auto found = unwrap(find_commit(db, path, text))) return *found;
    }
    const std::string run = unwrap(find_run(db, path, text));
    return RunSelection{"run " + run.substr(0, 8), {run}};
  });
}

}  // namespace plumbline
