// Implements Store on SQLite: checks each call and returns failures as errors.
#include "harness/store/store.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/store/batch_writer.h"
#include "harness/store/bind_key.h"
#include "harness/store/change_rows.h"
#include "harness/store/connection.h"
#include "harness/store/decisions.h"
#include "harness/store/find_runs.h"
#include "harness/store/invariance_rows.h"
#include "harness/store/keys.h"
#include "harness/store/night_rows.h"
#include "harness/store/read_query.h"
#include "harness/store/read_rows.h"
#include "harness/store/resource_rows.h"
#include "harness/store/rows.h"
#include "harness/store/run_rows.h"
#include "harness/store/series.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

Errors check_run_info(const RunInfo& run) {
  Errors errors;
  if (auto error = check_id("run id", run.run_id)) errors.push_back(std::move(*error));
  if (!sortable_time(run.started_at)) {
    errors.push_back({"", 0,
                      fmt::format("started_at '{}' is not an ISO 8601 time in UTC",
                                  storable_text(run.started_at)),
                      "write it like 2026-01-31T12:00:00.123Z"});
  }
  if (!run.versions_json.empty() && (!is_storable_text(run.versions_json) ||
                                     parse_json_if_valid(run.versions_json).is_discarded())) {
    errors.push_back(
        {"", 0, fmt::format("versions_json is not JSON: {}", storable_text(run.versions_json)),
         ""});
  }
  return errors;
}

// Returns a text that sorts runs by start time, then (if start times are equal) by the time of
// recording, then by id. The order is stored, so that merged databases agree.
std::string run_order(const RunInfo& run) {
  const auto recorded = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return fmt::format("{} {:020} {}", sortable_time(run.started_at).value(), recorded.count(),
                     run.run_id);
}

// Returns the order of a run whose clock is slow: one nanosecond after the newest run in the file.
std::string order_after_newest(SQLite::Database& db, const RunInfo& run) {
  SQLite::Statement newest(db, "SELECT max(run_order) FROM run");
  if (!newest.executeStep() || newest.getColumn(0).isNull()) return run_order(run);
  const std::string order = newest.getColumn(0).getString();
  const auto words = split(order, ' ');
  const auto recorded = words.size() == 3 ? parse_unsigned(words[1]) : std::nullopt;
  if (!recorded) return run_order(run);
  return std::max(run_order(run), fmt::format("{} {:020} {}", words[0], *recorded + 1, run.run_id));
}

}  // namespace

Store::Store(std::unique_ptr<SQLite::Database> db, std::filesystem::path path, bool read_only)
    : db_(std::move(db)), path_(std::move(path)) {
  if (!read_only) writer_ = std::make_unique<BatchWriter>(*db_, path_);
}

// Errors are lost here; callers that need them call flush().
Store::~Store() { static_cast<void>(flush()); }

tl::unexpected<Errors> Store::read_only() const {
  return fail(error_at(path_, "was opened for reading only", "open it for writing"));
}

Series& Store::series() {
  if (series_ == nullptr) series_ = std::make_unique<Series>(*db_, path_);
  return *series_;
}

// Returns the result of `read` if the run is stored.
template <class Row>
Result<std::vector<Row>> Store::of_run(
    const std::string& run_id,
    Result<std::vector<Row>> (*read)(SQLite::Database&, const std::filesystem::path&,
                                     const std::string&)) {
  return check_run(run_id).and_then([&] { return read(*db_, path_, run_id); });
}

// Calls `write` if the store is writable and the run is stored.
template <class Write>
auto Store::to_run(const std::string& run_id, Write write) -> decltype(write()) {
  if (!writer_) return read_only();
  return check_run(run_id).and_then(write);
}

// Writes pending rows and checks that the run is stored.
Result<void> Store::check_run(const std::string& run_id) {
  if (auto flushed = flush(); !flushed) return flushed;
  if (auto in_place = check_in_place(*db_, path_); writer_ && !in_place) return in_place;
  return guarded(path_, "looking up the run", [&]() -> Result<void> {
    SQLite::Statement find(*db_, "SELECT 1 FROM run WHERE run_id = ?");
    find.bind(1, run_id);
    if (find.executeStep()) return {};
    return fail(error_at(path_,
                         fmt::format("run '{}' is not in the database", storable_text(run_id)),
                         "`plumbline query \"SELECT run_id FROM v_runs\"` lists runs"));
  });
}

Result<void> Store::begin_run(const RunInfo& run) {
  if (!writer_) return read_only();
  if (Errors errors = check_run_info(run); !errors.empty())
    return tl::unexpected(std::move(errors));
  return guarded(path_, "beginning a run", [&]() -> Result<void> {
    const Key key = machine_key(run.machine);
    SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement known(*db_, "SELECT 1 FROM run WHERE run_id = ?");
    known.bind(1, run.run_id);
    if (known.executeStep())
      return fail(error_at(path_, fmt::format("run '{}' was begun before", run.run_id),
                           "give every run an id of its own"));

    const auto machine_names = column_names<MachineClass>(machine_columns);
    SQLite::Statement machine(
        *db_, fmt::format(
                  "INSERT OR IGNORE INTO machine_class(machine_key, {}) VALUES (?, ?, ?, ?, ?, ?)",
                  fmt::join(machine_names, ", ")));
    bind_key(machine, 1, key);
    Binder bind_machine(machine, 2);
    machine_columns(bind_machine, run.machine);
    machine.exec();

    std::vector<std::string> names{"machine_key", "run_order"};
    for (const std::string& column : column_names<RunInfo>(run_columns)) names.push_back(column);
    SQLite::Statement insert(*db_, insert_sql("run", names, {"run_id"}, false));
    bind_key(insert, 1, key);
    insert.bind(2, run.clock_behind_s > 0 ? order_after_newest(*db_, run) : run_order(run));
    Binder bind_run(insert, 3);
    run_columns(bind_run, run);
    insert.exec();
    transaction.commit();
    return {};
  });
}

Result<std::int64_t> Store::seconds_behind_newest(const std::string& time) {
  return guarded(path_, "reading the newest run's time", [&]() -> Result<std::int64_t> {
    SQLite::Statement select(
        *db_,
        "SELECT max(0, coalesce(strftime('%s', substr(max(run_order), 1, 19)) - strftime('%s', ?), "
        "0)) FROM run");
    select.bind(1, time);
    select.executeStep();
    return select.getColumn(0).getInt64();
  });
}

Result<void> Store::add(const std::string& run_id, const StoredOutcome& outcome) {
  return writer_ ? writer_->add(run_id, outcome) : read_only();
}

Result<void> Store::add(const std::string& run_id, const StoredDiff& diff) {
  return writer_ ? writer_->add(run_id, diff) : read_only();
}

Result<void> Store::add(const NightEvent& event) {
  return writer_ ? store_night_event(*db_, path_, event) : read_only();
}

Result<void> Store::flush() { return writer_ ? writer_->flush() : Result<void>{}; }

Result<void> Store::add_suite_scores(const std::string& run_id,
                                     const std::vector<SuiteScore>& scores) {
  return to_run(run_id, [&] {
    return store_rows(
        *db_, path_, "storing suite scores",
        {"suite_score", {"run_id", "suite", "kernel", "dtype", "statistic"}}, run_id, scores,
        [](auto& columns, const SuiteScore& score) { suite_score_columns(columns, score); });
  });
}

Result<void> Store::add_invariances(const std::string& run_id,
                                    const std::vector<StoredInvariance>& rows) {
  return to_run(run_id, [&] { return store_invariances(*db_, path_, run_id, rows); });
}

Result<void> Store::add_resources(const std::string& run_id,
                                  const std::vector<JudgedResources>& rows) {
  return to_run(run_id, [&] { return store_resources(*db_, path_, run_id, rows); });
}

Result<void> Store::finish_run(const std::string& run_id, int exit_code, bool complete) {
  return to_run(run_id, [&] {
    return guarded(path_, "finishing the run", [&]() -> Result<void> {
      SQLite::Statement update(
          *db_, "UPDATE run SET finished_at = ?, exit_code = ?, complete = ? WHERE run_id = ?");
      SQLite::bind(update, iso_time(std::chrono::system_clock::now()), exit_code, complete, run_id);
      update.exec();
      return {};
    });
  });
}

Result<std::optional<Baseline>> Store::baseline(const SeriesName& of_series,
                                                const std::string& before_run) {
  return guarded(path_, "looking up a baseline",
                 [&] { return series().baseline(of_series, before_run); });
}

Result<TimeHistory> Store::time_history(const SeriesName& of_series,
                                        const std::string& before_run) {
  return guarded(path_, "looking up times", [&] { return series().times(of_series, before_run); });
}

Result<Past> Store::past(const SeriesName& of_series, const std::string& before_run, bool timed) {
  return guarded(path_, "looking up the past",
                 [&] { return series().past(of_series, before_run, timed); });
}

Result<std::vector<Past>> Store::pasts(const std::vector<PastQuery>& asked,
                                       const std::string& before_run) {
  return flush().and_then([&] {
    return guarded(path_, "looking up the past", [&] { return series().pasts(asked, before_run); });
  });
}

Result<Accepted> Store::accept(const std::string& run_id, const std::string& case_glob,
                               const std::string& who, const std::string& why) {
  return to_run(run_id, [&] {
    return accept_outcomes(*db_, path_, {run_id, case_glob, who, why});
  });
}

Result<int> Store::pin(const std::string& run_id, const std::string& case_glob,
                       const std::string& who, const std::string& why) {
  return to_run(run_id, [&] { return pin_outcomes(*db_, path_, {run_id, case_glob, who, why}); });
}

Result<int> Store::acknowledge(const std::string& run_id, const std::string& case_glob,
                               const std::string& who, const std::string& why,
                               const std::string& until) {
  return to_run(run_id, [&] {
    return acknowledge_outcomes(*db_, path_, {run_id, case_glob, who, why}, until);
  });
}

Result<void> Store::set_changes(const std::string& run_id, const std::vector<RunChange>& changes) {
  return to_run(run_id, [&] { return store_changes(*db_, path_, run_id, changes); });
}

Result<std::vector<RunChange>> Store::changes(const std::string& run_id) {
  return of_run(run_id, read_changes);
}

Result<void> Store::set_night_times(const std::string& run_id,
                                    const std::vector<NightTimes>& rows) {
  return to_run(run_id, [&] { return store_night_times(*db_, path_, run_id, rows); });
}

Result<std::vector<NightTimes>> Store::night_times(const std::string& run_id) {
  return of_run(run_id, read_night_times);
}

Result<std::vector<std::string>> Store::nights(int limit) {
  return read_nights(*db_, path_, limit);
}

Result<StoredNight> Store::night(const std::string& night_id) {
  return read_night(*db_, path_, night_id);
}

Result<std::string> Store::resolve_night(const std::string& text) {
  return find_night(*db_, path_, text);
}

Result<std::vector<double>> Store::second_ratios(const MachineClass& machine) {
  return flush().and_then([&] { return read_second_differences(*db_, path_, machine); });
}

Result<std::vector<std::pair<std::string, std::string>>> Store::expected_cases(
    const RunInfo& run, const std::vector<std::string>& suites,
    const std::vector<std::string>& judged_with) {
  return flush().and_then(
      [&] { return find_expected_cases(*db_, path_, run, suites, judged_with); });
}

Result<StoredRun> Store::run(const std::string& run_id) { return read_run(*db_, path_, run_id); }

Result<std::vector<RunInfo>> Store::runs(int limit) {
  return plumbline::read_runs(*db_, path_, limit);
}

Result<std::string> Store::resolve_run(const std::string& text) {
  return find_run(*db_, path_, text);
}

Result<RunSelection> Store::resolve_runs(const std::string& text) {
  return flush().and_then([&] { return find_runs(*db_, path_, text); });
}

Result<std::vector<StoredOutcome>> Store::outcomes(const std::string& run_id) {
  return of_run(run_id, read_outcomes);
}

Result<std::vector<StoredDiff>> Store::diffs(const std::string& run_id) {
  return of_run(run_id, read_diffs);
}

Result<std::vector<SuiteScore>> Store::suite_scores(const std::string& run_id) {
  return of_run(run_id, read_suite_scores);
}

Result<std::vector<StoredInvariance>> Store::invariances(const std::string& run_id) {
  return of_run(run_id, read_invariances);
}

Result<Store::Table> Store::query(const std::string& sql) {
  return flush().and_then([&] { return read_query(path_, sql); });
}

Result<void> Store::update_judgements(const std::vector<JudgedCase>& cases) {
  if (!writer_) return read_only();
  std::set<std::string_view> runs;
  for (const JudgedCase& judged : cases) {
    if (!runs.insert(judged.run_id).second) continue;
    if (auto known = check_run(judged.run_id); !known) return known;
  }
  return guarded(path_, "storing judgements", [&]() -> Result<void> {
    auto names = column_names<Judgement>(judgement_columns);
    for (std::string& column : column_names<Judgement>(case_judgement_columns))
      names.push_back(std::move(column));
    const int next = static_cast<int>(names.size()) + 1;
    // Most verdicts do not change. Leaving the column out saves updates of four indexes.
    std::vector<std::string> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != "verdict") values.push_back(fmt::format("{} = ?{}", names[i], i + 1));
    }
    const auto verdict = std::ranges::find(names, "verdict") - names.begin() + 1;
    const auto text = [&](std::string_view condition) {
      return fmt::format(
          "UPDATE outcome SET {}{} WHERE run_id = ?{} AND suite = ?{} AND case_key = ?{}{}",
          fmt::join(values, ", "), condition.empty() ? fmt::format(", verdict = ?{}", verdict) : "",
          next, next + 1, next + 2, condition);
    };
    SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement same(*db_, text(fmt::format(" AND verdict = ?{}", verdict)));
    SQLite::Statement other(*db_, text(""));
    SQLite::Statement limit_of_output(
        *db_,
        "UPDATE outcome_output SET limit_value = ?5 "
        "WHERE run_id = ?1 AND suite = ?2 AND case_key = ?3 AND output = ?4");
    for (const JudgedCase& judged : cases) {
      const auto updated = [&](SQLite::Statement& update) {
        Binder binder(update);
        judgement_columns(binder, *judged.judgement);
        case_judgement_columns(binder, *judged.judgement);
        const Key key = key_of(judged.case_id);
        update.bind(next, judged.run_id);
        update.bind(next + 1, judged.suite);
        bind_key(update, next + 2, key);
        const int rows = update.exec();
        update.reset();
        return rows == 1;
      };
      if (!updated(same) && !updated(other)) {
        return fail(error_at(
            path_,
            fmt::format("run '{}' has no outcome of case '{}' in suite '{}'", judged.run_id,
                        storable_text(judged.case_id), storable_text(judged.suite)),
            "`plumbline query \"SELECT * FROM v_history\"` lists outcomes"));
      }
      if (!judged.judgement->terms) continue;
      for (const RowOutput output : further_row_outputs) {
        limit_of_output.bind(1, judged.run_id);
        limit_of_output.bind(2, judged.suite);
        const Key key = key_of(judged.case_id);
        bind_key(limit_of_output, 3, key);
        limit_of_output.bind(4, std::string(name(output)));
        limit_of_output.bind(5, judged.judgement->terms->limits.*row_statistics[output].limit);
        limit_of_output.exec();
        limit_of_output.reset();
      }
    }
    transaction.commit();
    return {};
  });
}

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& path, bool read_only) {
  auto db = open_database(path, read_only);
  if (!db) return tl::unexpected(db.error());
  return guarded(path, "opening the database", [&]() -> Result<std::unique_ptr<Store>> {
    return std::unique_ptr<Store>(
        new Store(std::move(*db), std::filesystem::absolute(path), read_only));
  });
}

}  // namespace plumbline
