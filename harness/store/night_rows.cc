// Stores and reads nights. Events are append-only; storing a run again replaces its times.
#include "harness/store/night_rows.h"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include "harness/store/bind_key.h"
#include "harness/store/connection.h"
#include "harness/store/keys.h"
#include "harness/store/read_rows.h"
#include "harness/store/rows.h"
#include "harness/store/run_rows.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

template <class Columns, class Row>
void night_times_columns(Columns& columns, Row& row) {
  columns("series", row.series);
  columns("common_shift", row.common_shift);
  columns("shift_limit", row.shift_limit);
  columns("suspect", row.suspect);
  columns("why", row.why);
  columns("fresh", row.fresh);
  columns("candidates", row.candidates);
  columns("confirmed", row.confirmed);
  columns("expected_false_alerts", row.expected_false_alerts);
  columns("second_pairs", row.second_pairs);
  columns("second_alarms", row.second_alarms);
  columns("load", row.load);
}

// Texts in the database, in the order of the enumerators.
constexpr std::string_view event_words[] = {"opened", "closed", "suspect", "measured again",
                                            "set aside"};

NightEventKind parse_event(const std::string& word) {
  const auto at = std::find(std::begin(event_words), std::end(event_words), word);
  return static_cast<NightEventKind>(at - std::begin(event_words));
}

// Selects the ids of all nights that have a run or an event, sorted by their beginning, newest
// first.
constexpr const char* nights_of_the_database = R"(
  WITH named AS (
    SELECT night_id, min(started_at) AS began FROM run WHERE night_id <> '' GROUP BY night_id
    UNION ALL SELECT night_id, min(happened_at) FROM night_event GROUP BY night_id)
  SELECT night_id FROM named GROUP BY night_id ORDER BY min(began) DESC, night_id DESC LIMIT ?1 OFFSET ?2
)";

}  // namespace

Result<void> store_night_times(SQLite::Database& db, const fs::path& path,
                               const std::string& run_id, const std::vector<NightTimes>& rows) {
  return store_rows(db, path, "storing the night's times",
                    {"night_times", {"run_id", "machine_key"}, true}, run_id, rows,
                    [](auto& columns, const NightTimes& row) {
                      columns("machine_key", blob_of(machine_key(row.machine)));
                      night_times_columns(columns, row);
                    });
}

Result<std::vector<NightTimes>> read_night_times(SQLite::Database& db, const fs::path& path,
                                                 const std::string& run_id) {
  return read_rows<NightTimes>(
      db, path, "reading the night's times",
      "night_times JOIN machine_class USING (machine_key) WHERE run_id = ? ORDER BY machine_key",
      run_id, [](auto& columns, NightTimes& row) {
        night_times_columns(columns, row);
        machine_columns(columns, row.machine);
      });
}

Result<void> store_night_event(SQLite::Database& db, const fs::path& path,
                               const NightEvent& event) {
  if (auto error = check_id("night id", event.night_id)) return fail(std::move(*error));
  return guarded(path, "storing an event of the night", [&]() -> Result<void> {
    const std::string word(event_words[static_cast<std::size_t>(event.kind)]);
    const Key key = key_of(
        canonical_text({"night_event", event.night_id, word, event.at, event.who, event.detail}));
    SQLite::Statement insert(
        db,
        "INSERT OR IGNORE INTO night_event(event_key, night_id, kind, happened_at, who, detail) "
        "VALUES (?, ?, ?, ?, ?, ?)");
    bind_key(insert, 1, key);
    int index = 2;
    for (const std::string& text : {event.night_id, word, event.at, event.who, event.detail})
      insert.bind(index++, storable_text(text));
    insert.exec();
    return {};
  });
}

Result<std::vector<std::string>> read_nights(SQLite::Database& db, const fs::path& path,
                                             int limit) {
  return guarded(path, "reading nights", [&]() -> Result<std::vector<std::string>> {
    return first_column(db, nights_of_the_database, limit > 0 ? limit : -1, 0);
  });
}

Result<StoredNight> read_night(SQLite::Database& db, const fs::path& path,
                               const std::string& night_id) {
  return guarded(path, "reading a night", [&]() -> Result<StoredNight> {
    StoredNight night{night_id, {}, {}};
    SQLite::Statement events(db,
                             "SELECT kind, happened_at, who, detail FROM night_event WHERE "
                             "night_id = ? ORDER BY happened_at, event_key");
    events.bind(1, night_id);
    while (events.executeStep()) {
      night.events.push_back({night_id, parse_event(events.getColumn(0).getString()),
                              events.getColumn(1).getString(), events.getColumn(2).getString(),
                              events.getColumn(3).getString()});
    }
    for (const std::string& run_id : first_column(
             db, "SELECT run_id FROM run WHERE night_id = ? ORDER BY run_order", night_id)) {
      night.runs.push_back(unwrap(read_run(db, path, run_id)));
    }
    if (night.events.empty() && night.runs.empty()) {
      return fail(error_at(path, fmt::format("there is no night '{}'", storable_text(night_id)),
                           "`plumbline night list` lists the nights"));
    }
    return night;
  });
}

Result<std::string> find_night(SQLite::Database& db, const fs::path& path,
                               const std::string& text) {
  const std::optional<std::int64_t> back = steps_back(text, "latest");
  return guarded(path, "looking up the night", [&]() -> Result<std::string> {
    if (!back) {
      unwrap(read_night(db, path, text));
      return text;
    }
    const auto found = first_column(db, nights_of_the_database, 1, *back);
    if (*back >= 0 && !found.empty()) return found.front();
    return fail(error_at(
        path,
        fmt::format("'{}' goes back further than the nights of the database", storable_text(text)),
        "`plumbline night list` lists the nights; `plumbline night open` begins one"));
  });
}

Result<std::vector<double>> read_second_differences(SQLite::Database& db, const fs::path& path,
                                                    const MachineClass& machine) {
  return guarded(path, "reading second measurements", [&]() -> Result<std::vector<double>> {
    SQLite::Statement select(
        db,
        "SELECT o.second_ratio / o.time_ratio FROM run AS r CROSS JOIN outcome AS o ON o.run_id = "
        "r.run_id WHERE r.run_order >= coalesce((SELECT run_order FROM run WHERE night_id <> '' "
        "ORDER BY run_order DESC LIMIT 1 OFFSET 60), '') AND o.machine_key = ?1 AND o.timed AND "
        "o.second_ratio > 0 AND o.time_ratio > 0 AND o.gate_finding <> 'set aside' ORDER BY "
        "r.run_order DESC LIMIT 400");
    bind_key(select, 1, machine_key(machine));
    std::vector<double> ratios;
    while (select.executeStep()) ratios.push_back(select.getColumn(0).getDouble());
    return ratios;
  });
}

}  // namespace plumbline
