// The database of runs: what is stored of them, and how it is asked for. It is SQLite with WAL,
// STRICT tables and content-addressed keys; views are its public interface (baselines/README.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/judge/baseline.h"

namespace SQLite {
class Database;
}

namespace plumbline {

class BatchWriter;
class Series;
struct JudgedResources;
struct Judgement;
struct NightEvent;
struct NightTimes;
struct RunChange;
struct StoredDiff;
struct StoredInvariance;
struct StoredNight;
struct StoredOutcome;
struct SuiteScore;

inline constexpr std::int32_t application_id = 0x706C6D62;  // "plmb"
// Of baselines/schema.sql and its migrations.
extern const int schema_version;

// Declared identity of a kind of machine: part of the key of a series. A run has that of its host,
// an outcome that of what it ran on (class_of in machine.h). What merely accompanies a run
// (compiler, library versions) is in RunInfo.
struct MachineClass {
  std::string device_kind = "cpu";  // cpu (emulated devices too), cuda
  std::string arch;                 // x86-64-v3, sm_90
  std::string model;                // "AMD EPYC …", "NVIDIA H200"
  std::int64_t memory_bytes = 0;    // rounded to GiB
  std::string clock_policy;         // "" unless declared
  bool operator==(const MachineClass&) const = default;
};

// Which series an outcome belongs to: a case on a machine class, by a provider with these options
// ("" for none), so that other options are never compared.
struct SeriesName {
  std::string case_id;
  MachineClass machine;
  std::string provider_options = {};
};

struct RunInfo {
  std::string run_id;      // UUID, lower case hex with dashes
  std::string started_at;  // ISO 8601 UTC
  MachineClass machine;
  std::string commit;  // of the code under test, "" if unknown
  std::string host;
  std::string compiler, flags, versions_json;
  std::string command_line;
  std::string shard = "1/1";
  std::string purpose = "run";  // run, nightly, confirm, test, gpu, resources
  // Names the night that all runs of it share, over all machines; "" = no part of one.
  std::string night_id = {};
  // What of its suites' cases it was asked for; runs of one selection should hold the same cases.
  // "" = an older plumbline's.
  std::string selection = {};
  // Cases that the run is to measure, sides of diffs included; 0 = none, or not known.
  std::int64_t planned_cases = 0;
  // Seconds by which the machine's clock was behind the newest run of the database; 0 = it was not.
  // Such a run is ordered after that one all the same.
  std::int64_t clock_behind_s = 0;
};
// Machines that share a database may differ by so much.
inline constexpr std::int64_t max_clock_skew_s = 60;
inline bool has_wrong_clock(const RunInfo& run) { return run.clock_behind_s > max_clock_skew_s; }
struct StoredRun {
  RunInfo info;
  bool finished = false;  // ended by itself
  bool complete = false;  // and measured all of its suites, or its shard's part
};

// The runs of a selection that did not finish.
struct IncompleteRuns {
  bool any = false;
  std::size_t planned_cases = 0, missing_cases = 0;  // of their plans; those without an outcome
  // Changes nothing for a run that finished.
  void add(const StoredRun& run, std::size_t outcomes) {
    if (run.finished) return;
    const auto planned = static_cast<std::size_t>(run.info.planned_cases);
    any = true;
    planned_cases += planned;
    missing_cases += planned > outcomes ? planned - outcomes : 0;
  }
};

// The new judgement of an outcome.
struct JudgedCase {
  std::string run_id, suite, case_id;
  const Judgement* judgement = nullptr;
};

// A series of which the past is looked up.
struct AskedPast {
  SeriesName series;
  bool timed = false;  // with its times
};

// Runs that somebody named together.
struct RunSelection {
  std::string label;                 // "run 3f2a01bc", "night 2027-01-30", "commit 3f2a01b"
  std::vector<std::string> run_ids;  // at least one, the oldest first
};

// What was accepted.
struct Accepted {
  int outcomes = 0, refused = 0, vanished = 0;
};

// One thread at a time drives one Store; any number of Stores, in any processes of one host, may
// have the same file open. A failed write leaves what was stored before intact and names the file,
// what SQLite says and a remedy. Ids are stored as they are, or refused where they are not UTF-8
// without NUL; other words are repaired.
class Store {
 public:
  // Opens or creates. Errors (each leaves the file untouched): not a database, another program's
  // application_id, a newer schema or one before the first, no permission, directory missing.
  // Migrates older schemas forward (baselines/migrations), in one transaction.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path,
                                             bool read_only = false);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Result<void> begin_run(const RunInfo& run);
  // Batches rows; flushed when 1000 are waiting or, by the next add, 2 seconds after the last
  // flush; by flush(), by finish_run, by whatever reads rows, and when the Store goes away. BEGIN
  // IMMEDIATE with a busy timeout of 20 s. NaN statistics are stored as +Inf; errors of an outcome
  // that is not ok, and times of an untimed one, are not stored. An outcome of the same run, case
  // and suite replaces the earlier one.
  Result<void> add(const std::string& run_id, const StoredOutcome& outcome);
  Result<void> add(const std::string& run_id, const StoredDiff& diff);
  Result<void> flush();
  Result<void> add_suite_scores(const std::string& run_id, const std::vector<SuiteScore>& scores);
  // Invariances of cases whose outcomes were added to the run; one of the same suite and case is
  // replaced.
  Result<void> add_invariances(const std::string& run_id,
                               const std::vector<StoredInvariance>& rows);
  // What the kernels compiled for take of each architecture; a row of the same run, source, kernel,
  // launch and architecture is replaced.
  Result<void> add_resources(const std::string& run_id, const std::vector<JudgedResources>& rows);
  Result<void> finish_run(const std::string& run_id, int exit_code, bool complete);

  // The last accepted passing outcome of a series before `before_run` ("" = now): a verdict of
  // pass, improved, first_seen or changed in a finished run; or the outcome of status ok that an
  // accept row names. Same judge_version, reference_version and inputs_version.
  Result<std::optional<Baseline>> baseline(const SeriesName& series, const std::string& before_run);
  // Of runs that may serve as baselines, as above; since somebody accepted an outcome of the series
  // that had failed, where somebody did.
  Result<TimeHistory> time_history(const SeriesName& series, const std::string& before_run);

  // Both, with what is pinned; without times unless `timed`.
  Result<Past> past(const SeriesName& series, const std::string& before_run, bool timed);
  // The same of many series, as they are at one moment, and sooner than one by one.
  Result<std::vector<Past>> pasts(const std::vector<AskedPast>& asked,
                                  const std::string& before_run);

  // An explicit re-baselining: who, when, why. Concerns, of the cases that the glob matches now,
  // the run's outcomes of status ok, and the cases that it lists as vanished or refused, which is
  // no failure of later runs then; an error if there is none.
  Result<Accepted> accept(const std::string& run_id, const std::string& case_glob,
                          const std::string& who, const std::string& why);
  // Makes the run's outcomes that may serve as baselines and that the glob matches now what later
  // runs are measured against, until a later pin: who, when, why. How many; an error if there is
  // none.
  Result<int> pin(const std::string& run_id, const std::string& case_glob, const std::string& who,
                  const std::string& why);

  // Somebody has seen the run's regressions and failures that the glob matches now, and says why
  // they stay: until they are worse than in that run, or the day `until` comes ("2027-01-30", "" =
  // without an end). No baseline. How many; an error if there is none.
  Result<int> acknowledge(const std::string& run_id, const std::string& case_glob,
                          const std::string& who, const std::string& why, const std::string& until);

  // What is different about the cases of a run beside their verdicts; setting it replaces what was
  // set before.
  Result<void> set_changes(const std::string& run_id, const std::vector<RunChange>& changes);
  Result<std::vector<RunChange>> changes(const std::string& run_id);
  // The cases, as (suite, case id), that a run of these suites should hold: those of each suite in
  // the newest earlier run that was complete, of the same host class, purpose and selection (with
  // the other shards of its night, where it was one), and those that had vanished from that one and
  // were not accepted. `run` need not be in this database: then all runs of the database are
  // earlier. `judged_with`: runs that are no earlier ones, the other shards of `run`.
  Result<std::vector<std::pair<std::string, std::string>>> expected_cases(
      const RunInfo& run, const std::vector<std::string>& suites,
      const std::vector<std::string>& judged_with = {});

  // How the times of a run stood together, a row a machine class (night.h); it replaces what
  // was set before.
  Result<void> set_night_times(const std::string& run_id, const std::vector<NightTimes>& rows);
  Result<std::vector<NightTimes>> night_times(const std::string& run_id);
  Result<void> add(const NightEvent& event);
  // Ids of nights, newest first; all if limit <= 0.
  Result<std::vector<std::string>> nights(int limit);
  Result<StoredNight> night(const std::string& night_id);  // an error if there is none
  // "latest", "latest~1", an id
  Result<std::string> resolve_night(const std::string& text);
  // Second over first ratio of the cases that were measured twice in a night, on this machine
  // class: at most 400, of the last 60 runs that were part of a night.
  Result<std::vector<double>> second_ratios(const MachineClass& machine);

  // Seconds by which a time (ISO 8601 UTC) is before the newest run of the database; 0 = it is not.
  Result<std::int64_t> seconds_behind_newest(const std::string& time);
  Result<std::vector<RunInfo>> runs(int limit);      // newest first; all if limit <= 0
  Result<StoredRun> run(const std::string& run_id);  // an error if there is none
  // "latest", "latest~1", a unique prefix of a run id
  Result<std::string> resolve_run(const std::string& text);
  // Of one run, as above; or of a night: "latest-night", "latest-night~1", "night:" and its id or a
  // unique prefix; or of a commit: "commit:" and a unique prefix of at least 4 digits, or such a
  // prefix alone where no run's id begins with it. Runs without cases (purpose resources) are left
  // out. Errors: there is none, or the prefix is not unique.
  Result<RunSelection> resolve_runs(const std::string& text);
  Result<std::vector<StoredOutcome>> outcomes(const std::string& run_id);
  Result<std::vector<StoredDiff>> diffs(const std::string& run_id);
  Result<std::vector<SuiteScore>> suite_scores(const std::string& run_id);
  Result<std::vector<StoredInvariance>> invariances(const std::string& run_id);
  // Replaces judgements of stored runs (plumbline judge), all of them or, with an error, none.
  Result<void> update_judgements(const std::vector<JudgedCase>& cases);
  Result<void> update_judgement(const std::string& run_id, const std::string& suite,
                                const std::string& case_id, const Judgement& judgement) {
    return update_judgements({{run_id, suite, case_id, &judgement}});
  }

  // Read-only SQL for `plumbline query`: rows as text, with the type that SQLite gives each cell.
  // Anything that writes is refused.
  enum class CellType : std::uint8_t { null, integer, real, text };  // a blob is a text: x'0fa0'
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;
    std::vector<std::vector<CellType>> types;  // of each cell of `rows`
  };
  Result<Table> query(const std::string& sql);

 private:
  Store(std::unique_ptr<SQLite::Database> db, std::filesystem::path path, bool read_only);
  tl::unexpected<Errors> read_only() const;
  Result<void> check_run(const std::string& run_id);
  Series& series();
  template <class Row>
  Result<std::vector<Row>> of_run(const std::string& run_id,
                                  Result<std::vector<Row>> (*read)(SQLite::Database&,
                                                                   const std::filesystem::path&,
                                                                   const std::string&));
  template <class Write>
  auto to_run(const std::string& run_id, Write write) -> decltype(write());

  std::unique_ptr<SQLite::Database> db_;
  std::filesystem::path path_;
  std::unique_ptr<BatchWriter> writer_;  // unless read-only
  std::unique_ptr<Series> series_;       // once the past was asked for
};

}  // namespace plumbline
