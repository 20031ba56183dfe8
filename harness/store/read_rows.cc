// Reads runs, outcomes, diffs and suite scores, and finds a run by a prefix of its id.
#include "harness/store/read_rows.h"

#include <fmt/format.h>

#include <map>

#include "harness/base/text.h"
#include "harness/store/connection.h"
#include "harness/store/rows.h"
#include "harness/store/run_rows.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string list(const std::string& prefix, const std::vector<std::string>& names) {
  return prefix + fmt::format("{}", fmt::join(names, ", " + prefix));
}

Result<std::string> find_latest(SQLite::Database& db, const fs::path& path,
                                const std::string& text) {
  const std::optional<std::int64_t> back = steps_back(text, "latest");
  if (!back || *back < 0) {
    return fail(error_at(path, fmt::format("'{}' names no run", storable_text(text)),
                         "write latest, latest~1 (the one before), … or a run id"));
  }
  const auto run = first_column(db,
                                "SELECT run_id FROM run WHERE purpose <> 'resources' ORDER BY "
                                "run_order DESC LIMIT 1 OFFSET ?",
                                *back);
  if (!run.empty()) return run.front();
  const int stored =
      db.execAndGet("SELECT count(*) FROM run WHERE purpose <> 'resources'").getInt();
  return fail(error_at(
      path, fmt::format("'{}' goes back further than the {} runs of the database", text, stored),
      "`plumbline query \"SELECT run_id FROM v_runs\"` lists them"));
}

Result<std::string> find_prefix(SQLite::Database& db, const fs::path& path,
                                const std::string& text) {
  const auto found =
      first_column(db,
                   "SELECT run_id FROM run WHERE substr(run_id, 1, length(?1)) = ?1 AND "
                   "?1 <> '' ORDER BY run_id <> ?1, run_order DESC LIMIT 4",
                   text);
  if (found.empty()) {
    return fail(error_at(path, fmt::format("no run's id begins with '{}'", storable_text(text)),
                         "write latest, latest~1, … or the beginning of a run id"));
  }
  if (found.size() == 1 || found.front() == text) return found.front();
  return fail(error_at(
      path, fmt::format("several runs' ids begin with '{}': {}", text, fmt::join(found, ", ")),
      "write more of the id"));
}

std::string select_runs(std::string_view more_columns) {
  return fmt::format("SELECT {}, {}{} FROM run JOIN machine_class USING (machine_key)",
                     list("", column_names<RunInfo>(run_columns)),
                     list("", column_names<MachineClass>(machine_columns)), more_columns);
}

RunInfo load_run(SQLite::Statement& select) {
  RunInfo run;
  Loader load(select);
  run_columns(load, run);
  machine_columns(load, run.machine);
  return run;
}

// Adds the rows of outcome_output to the outcomes.
void read_further_outputs(SQLite::Database& db, const std::string& run_id,
                          std::vector<StoredOutcome>& outcomes) {
  SQLite::Statement select(
      db,
      "SELECT c.case_id, x.suite, x.output, x.z, x.max_abs, x.limit_value FROM outcome_output AS x "
      "JOIN attention_case AS c USING (case_key) WHERE x.run_id = ?");
  select.bind(1, run_id);
  std::map<std::pair<std::string, std::string>, StoredOutcome*> of_case;
  while (select.executeStep()) {
    if (of_case.empty()) {
      for (StoredOutcome& stored : outcomes)
        of_case[{stored.outcome.case_id, stored.outcome.suite}] = &stored;
    }
    const auto output = parse<RowOutput>(select.getColumn(2).getString());
    const auto at =
        of_case.find({select.getColumn(0).getString(), select.getColumn(1).getString()});
    if (!output || at == of_case.end()) continue;
    Loader load(select, 3);
    std::optional<double> limit;
    output_columns(load, at->second->outcome.errors, limit, *output);
    if (std::optional<ContractSnapshot>& terms = at->second->judgement.terms; terms && limit)
      terms->limits.*row_statistics[*output].limit = *limit;
  }
}

}  // namespace

std::optional<std::int64_t> steps_back(std::string_view text, std::string_view word) {
  if (text == word) return 0;
  if (!text.starts_with(word) || text.substr(word.size(), 1) != "~") return std::nullopt;
  return parse_integer(text.substr(word.size() + 1));
}

Result<std::vector<RunInfo>> read_runs(SQLite::Database& db, const fs::path& path, int limit) {
  return guarded(path, "reading runs", [&]() -> Result<std::vector<RunInfo>> {
    SQLite::Statement select(db, select_runs("") + " ORDER BY run_order DESC LIMIT ?");
    select.bind(1, limit > 0 ? limit : -1);
    std::vector<RunInfo> runs;
    while (select.executeStep()) runs.push_back(load_run(select));
    return runs;
  });
}

Result<StoredRun> read_run(SQLite::Database& db, const fs::path& path, const std::string& run_id) {
  return guarded(path, "reading the run", [&]() -> Result<StoredRun> {
    SQLite::Statement select(
        db, select_runs(", finished_at IS NOT NULL AS finished, complete") + " WHERE run_id = ?");
    select.bind(1, run_id);
    if (!select.executeStep())
      return fail(error_at(path, fmt::format("there is no run {}", storable_text(run_id)),
                           "see `plumbline show`"));
    return StoredRun{load_run(select), select.getColumn("finished").getInt() != 0,
                     select.getColumn("complete").getInt() != 0};
  });
}

Result<std::string> find_run(SQLite::Database& db, const fs::path& path, const std::string& text) {
  return guarded(path, "looking up the run", [&] {
    return text.starts_with("latest") ? find_latest(db, path, text) : find_prefix(db, path, text);
  });
}

Result<std::vector<StoredOutcome>> read_outcomes(SQLite::Database& db, const fs::path& path,
                                                 const std::string& run_id) {
  return guarded(path, "reading outcomes", [&]() -> Result<std::vector<StoredOutcome>> {
    SQLite::Statement select(
        db,
        fmt::format(
            "SELECT c.case_id, b.build_id, b.launched, ds.spec, js.spec, {}, {} FROM outcome AS o "
            "JOIN attention_case AS c USING (case_key) JOIN build AS b USING (build_key) "
            "JOIN rounding_spec AS ds ON ds.spec_key = o.declared_spec_key "
            "JOIN rounding_spec AS js ON js.spec_key = o.judged_spec_key WHERE o.run_id = ? ORDER "
            "BY o.rowid",
            list("c.", column_names<Case>(case_columns)),
            list("o.", column_names<StoredOutcome>(outcome_columns))));
    select.bind(1, run_id);
    SQLite::Statement count(db, "SELECT count(*) FROM outcome WHERE run_id = ?");
    count.bind(1, run_id);
    count.executeStep();
    std::vector<StoredOutcome> rows;
    rows.reserve(count.getColumn(0).getUInt());
    while (select.executeStep()) {
      StoredOutcome& stored = rows.emplace_back();
      Outcome& outcome = stored.outcome;
      Loader load(select);
      load("case_id", outcome.case_id);
      load("build_id", outcome.description.build_id);
      load("launched", outcome.description.launched);
      std::string declared;
      load("declared_spec", declared);
      load("judged_spec", outcome.spec_judged);
      outcome.description.spec = unwrap(parse_spec_text(declared));
      case_columns(load, outcome.c);
      outcome_columns(load, stored);
    }
    read_further_outputs(db, run_id, rows);
    return rows;
  });
}

Result<std::vector<StoredDiff>> read_diffs(SQLite::Database& db, const fs::path& path,
                                           const std::string& run_id) {
  return read_rows<StoredDiff>(db, path, "reading diffs", "diff WHERE run_id = ? ORDER BY rowid",
                               run_id,
                               [](auto& columns, StoredDiff& row) { diff_columns(columns, row); });
}

Result<std::vector<SuiteScore>> read_suite_scores(SQLite::Database& db, const fs::path& path,
                                                  const std::string& run_id) {
  return read_rows<SuiteScore>(
      db, path, "reading suite scores", "suite_score WHERE run_id = ? ORDER BY rowid", run_id,
      [](auto& columns, SuiteScore& row) { suite_score_columns(columns, row); });
}

}  // namespace plumbline
