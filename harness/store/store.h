// The database of runs: SQLite with WAL, STRICT tables and content-addressed keys. Its views are
// the public interface for SQL (baselines/README.md).
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
// The number of the schema after all migrations (baselines/schema.sql).
extern const int schema_version;

// The identity of a kind of machine, part of a series' key. A run has its host's class, an outcome
// the class of the device it ran on (class_of in machine.h). Compiler and library versions are not
// part of it; RunInfo has them.
struct MachineClass {
  std::string device_kind = "cpu";  // cpu (also for emulated devices) or cuda
  std::string arch;                 // x86-64-v3, sm_90
  std::string model;                // "AMD EPYC …", "NVIDIA H200"
  std::int64_t memory_bytes = 0;    // rounded to GiB
  std::string clock_policy;         // "" unless declared
  bool operator==(const MachineClass&) const = default;
};

// A series: a case on a machine class, by a provider with these options ("" = none). Outcomes with
// other options are never compared.
struct SeriesName {
  std::string case_id;
  MachineClass machine;
  std::string provider_options = {};
};

struct RunInfo {
  std::string run_id;      // UUID, lower-case hex with dashes
  std::string started_at;  // ISO 8601 UTC
  MachineClass machine;
  std::string commit;  // commit of the code under test; "" if unknown
  std::string host;
  std::string compiler, flags, versions_json;
  std::string command_line;
  std::string shard = "1/1";
  std::string purpose = "run";  // run, nightly, confirm, test, gpu, resources
  // The id of the night, shared by its runs on all machines; "" = not part of one.
  std::string night_id = {};
  // The user's selection among the cases of its suites. Runs with equal selections should have the
  // same cases. "" = stored by an older plumbline.
  std::string selection = {};
  // Planned cases, including both sides of diffs; 0 = none, or unknown.
  std::int64_t planned_cases = 0;
  // Seconds by which the start, on the machine's clock, precedes the newest run of the database;
  // otherwise 0. The run is ordered after that run regardless.
  std::int64_t clock_behind_s = 0;
};
// Tolerated difference between the clocks of machines that share a database.
inline constexpr std::int64_t max_clock_skew_s = 60;
inline bool has_wrong_clock(const RunInfo& run) { return run.clock_behind_s > max_clock_skew_s; }
struct StoredRun {
  RunInfo info;
  bool finished = false;  // was not interrupted
  bool complete = false;  // finished, and measured all cases of its suites or shard
};

// Totals over the unfinished runs of a selection.
struct IncompleteRuns {
  bool any = false;
  std::size_t planned_cases = 0, missing_cases = 0;  // missing: planned cases without an outcome
  // Adds a run; a finished one is ignored.
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

// A series whose past is wanted.
struct PastQuery {
  SeriesName series;
  bool timed = false;  // with its times
};

// The runs that a user's text names.
struct RunSelection {
  std::string label;                 // "run 3f2a01bc", "night 2027-01-30", "commit 3f2a01b"
  std::vector<std::string> run_ids;  // at least one, oldest first
};

// Numbers of accepted cases: with a result, refused, vanished.
struct Accepted {
  int outcomes = 0, refused = 0, vanished = 0;
};

// A database of runs. Use a Store from one thread at a time; any number of Stores, also in other
// processes of the host, may have the same file open. A failed write leaves earlier rows intact;
// its error names the file, SQLite's message and a remedy. Ids must be UTF-8 without NUL. Other
// texts are repaired.
class Store {
 public:
  // Opens or creates the file. Returns an error, without changing it, if it is not a database, has
  // another application_id, or has a schema newer or older than all known ones. The same holds if
  // its directory or a permission is missing. Migrates an older known schema (baselines/migrations)
  // in one transaction, or returns an error if `read_only`.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path,
                                             bool read_only = false);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Result<void> begin_run(const RunInfo& run);
  // Add a row to the batch. It is flushed at 1000 rows, by the first add 2 seconds after the last
  // flush, by flush() and finish_run(), before most reads, and by the destructor. Uses BEGIN
  // IMMEDIATE with a busy timeout of 20 s. NaN statistics are stored as +Inf. Error statistics are
  // stored only for status ok, times only for timed outcomes. An outcome replaces an earlier one of
  // the same run, case and suite.
  Result<void> add(const std::string& run_id, const StoredOutcome& outcome);
  Result<void> add(const std::string& run_id, const StoredDiff& diff);
  Result<void> flush();
  Result<void> add_suite_scores(const std::string& run_id, const std::vector<SuiteScore>& scores);
  // Stores invariances. The outcomes of their cases must be in the run. Replaces rows of the same
  // suite, case and invariance.
  Result<void> add_invariances(const std::string& run_id,
                               const std::vector<StoredInvariance>& rows);
  // Stores compiled resources. Replaces rows of the same run, source, kernel, launch and
  // architecture.
  Result<void> add_resources(const std::string& run_id, const std::vector<JudgedResources>& rows);
  Result<void> finish_run(const std::string& run_id, int exit_code, bool complete);

  // Returns the newest outcome of a series before `before_run` ("" = now) that can be a baseline.
  // Its status is ok. Either its verdict is pass, improved, first_seen or changed, in a finished
  // run that is not a confirmation, or a user accepted it. Its judge_version, reference_version and
  // inputs_version are the current ones.
  Result<std::optional<Baseline>> baseline(const SeriesName& series, const std::string& before_run);
  // Returns the newest times of ambiguous outcomes and of outcomes that can be baselines, at most
  // 60. Marks times that start a level: accepted failures and confirmed improvements.
  Result<TimeHistory> time_history(const SeriesName& series, const std::string& before_run);

  // Returns all that the judge needs of the past; times only if `timed`.
  Result<Past> past(const SeriesName& series, const std::string& before_run, bool timed);
  // Returns the past of many series from one snapshot, faster than one by one.
  Result<std::vector<Past>> pasts(const std::vector<PastQuery>& asked,
                                  const std::string& before_run);

  // Accepts new baselines. Applies to the run's matching outcomes of status ok, and to matching
  // cases that it lists as vanished or refused, which then do not fail later runs. Returns an error
  // if no case matches.
  Result<Accepted> accept(const std::string& run_id, const std::string& case_glob,
                          const std::string& who, const std::string& why);
  // Pins the run's matching outcomes that may serve as baselines: later runs are compared with them
  // until a later pin. Returns their number, or an error if no case matches.
  Result<int> pin(const std::string& run_id, const std::string& case_glob, const std::string& who,
                  const std::string& why);

  // Acknowledges the run's matching regressions and failures. They fail no run until they are worse
  // than in that run, or until the date `until` ("2027-01-30"; "" = no end). They do not become
  // baselines. Returns their number, or an error if no case matches.
  Result<int> acknowledge(const std::string& run_id, const std::string& case_glob,
                          const std::string& who, const std::string& why, const std::string& until);

  // Replaces the stored changes of a run.
  Result<void> set_changes(const std::string& run_id, const std::vector<RunChange>& changes);
  Result<std::vector<RunChange>> changes(const std::string& run_id);
  // Returns the cases, as (suite, case id), that a run of these suites should have. Each suite
  // should have the cases of its newest earlier complete run (or complete shard set) with equal
  // host class, purpose and selection. Cases that had vanished there and were not accepted are also
  // expected. If `run` is not in this database, all of the database's runs are earlier.
  // `judged_with`: the other shards of `run`, to be skipped.
  Result<std::vector<std::pair<std::string, std::string>>> expected_cases(
      const RunInfo& run, const std::vector<std::string>& suites,
      const std::vector<std::string>& judged_with = {});

  // Replaces the gated times of a run, one row per machine class (night.h).
  Result<void> set_night_times(const std::string& run_id, const std::vector<NightTimes>& rows);
  Result<std::vector<NightTimes>> night_times(const std::string& run_id);
  Result<void> add(const NightEvent& event);
  // Returns ids, newest first; all if limit <= 0.
  Result<std::vector<std::string>> nights(int limit);
  Result<StoredNight> night(const std::string& night_id);  // error if unknown
  // `text`: "latest", "latest~1" or an id.
  Result<std::string> resolve_night(const std::string& text);
  // Returns the ratio of second to first time for cases measured twice in a night on this machine
  // class: at most 400, from about the last 60 runs of nights.
  Result<std::vector<double>> second_ratios(const MachineClass& machine);

  // Returns the seconds from `time` (ISO 8601 UTC) to the newest run of the database; 0 if `time`
  // is later.
  Result<std::int64_t> seconds_behind_newest(const std::string& time);
  Result<std::vector<RunInfo>> runs(int limit);      // newest first; all if limit <= 0
  Result<StoredRun> run(const std::string& run_id);  // error if unknown
  // `text`: "latest", "latest~1" or a unique prefix of a run id.
  Result<std::string> resolve_run(const std::string& text);
  // `text`: a run as above; "latest-night", "latest-night~1", or "night:" and a unique prefix of an
  // id; "commit:" and a unique prefix of at least 4 digits, or only the prefix if no run id begins
  // with it. Leaves out runs without cases (purpose resources). Returns an error if nothing matches
  // or the prefix is not unique.
  Result<RunSelection> resolve_runs(const std::string& text);
  Result<std::vector<StoredOutcome>> outcomes(const std::string& run_id);
  Result<std::vector<StoredDiff>> diffs(const std::string& run_id);
  Result<std::vector<SuiteScore>> suite_scores(const std::string& run_id);
  Result<std::vector<StoredInvariance>> invariances(const std::string& run_id);
  // Replaces judgements of stored runs; after an error none is replaced.
  Result<void> update_judgements(const std::vector<JudgedCase>& cases);
  Result<void> update_judgement(const std::string& run_id, const std::string& suite,
                                const std::string& case_id, const Judgement& judgement) {
    return update_judgements({{run_id, suite, case_id, &judgement}});
  }

  // The result of `query`, which runs SQL for `plumbline query` and refuses statements that write.
  // Cells are text, with SQLite's type of each.
  enum class CellType : std::uint8_t { null, integer, real, text };  // a blob is text: x'0fa0'
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;
    std::vector<std::vector<CellType>> types;  // per cell of `rows`
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
  std::unique_ptr<BatchWriter> writer_;  // null if read-only
  std::unique_ptr<Series> series_;       // created by the first query about the past
};

}  // namespace plumbline
