// The database of runs. SQLite, WAL, STRICT tables, content-addressed keys; views are the public interface (baselines/README.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/measure/outcome.h"
#include "harness/resources/compare.h"

namespace plumbline {

inline constexpr std::int32_t application_id = 0x706C6D62;  // "plmb"
inline constexpr int schema_version = 7;

// Declared identity of a kind of machine: the key of a series. What merely accompanies a run (compiler, library versions) is in RunInfo.
struct MachineClass {
  std::string device_kind = "cpu";  // cpu, cuda, emulated
  std::string arch;                 // x86-64-v3, sm_90
  std::string model;                // "AMD EPYC …", "NVIDIA H200"
  std::int64_t memory_bytes = 0;    // rounded to GiB
  std::string clock_policy;         // "" unless declared
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
  std::string purpose = "run";  // run, nightly, confirm, test, resources
};

struct StoredRun {
  RunInfo info;
  bool finished = false;  // ended by itself
  bool complete = false;  // and measured all of its suites, or its shard's part
};

struct StoredOutcome {
  Outcome outcome;
  Judgement judgement;
};
struct StoredDiff {
  DiffOutcome outcome;
  Judgement judgement;
};
struct StoredInvariance {
  InvarianceOutcome outcome;
  Judgement judgement;
};

// One thread at a time drives one Store; any number of Stores, in any processes of one host, may have the same file open. A failed write
// leaves what was stored before intact and names the file, what SQLite says and a remedy. Ids are stored as they are, or refused where they
// are not UTF-8 without NUL; other words are repaired.
class Store {
 public:
  // Opens or creates. Errors (each leaves the file untouched): not a database, another program's application_id, a newer schema,
  // no permission, directory missing. Migrates older schemas forward, in one transaction.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path, bool read_only = false);
  virtual ~Store() = default;

  virtual Result<void> begin_run(const RunInfo& run) = 0;
  // Batches rows; flushed when 1000 are waiting or, by the next add, 2 seconds after the last flush; by flush(), by finish_run, by whatever
  // reads rows, and when the Store goes away. BEGIN IMMEDIATE with a busy timeout of 20 s. NaN statistics are stored as +Inf; errors of an
  // outcome that is not ok, and times of an untimed one, are not stored.
  // An outcome of the same run, case and suite replaces the earlier one.
  virtual Result<void> add(const std::string& run_id, const StoredOutcome& outcome) = 0;
  virtual Result<void> add(const std::string& run_id, const StoredDiff& diff) = 0;
  virtual Result<void> flush() = 0;
  virtual Result<void> add_suite_scores(const std::string& run_id, const std::vector<SuiteScore>& scores) = 0;
  // Invariances of cases whose outcomes were added to the run; one of the same suite and case is replaced.
  virtual Result<void> add_invariances(const std::string& run_id, const std::vector<StoredInvariance>& rows) = 0;
  // What the kernels compiled for take of each architecture; a row of the same run, source, kernel, launch and architecture is replaced.
  virtual Result<void> add_resources(const std::string& run_id, const std::vector<JudgedResources>& rows) = 0;
  virtual Result<void> finish_run(const std::string& run_id, int exit_code, bool complete) = 0;

  // The last accepted passing outcome of a case on a machine class before `before_run` ("" = now): a verdict of pass, improved, new or
  // changed in a finished run; or the outcome of status ok that an accept row names. Same judge_version, reference_version and
  // inputs_version.
  virtual Result<std::optional<Baseline>> baseline(const std::string& case_id, const MachineClass& machine,
                                                   const std::string& before_run) = 0;
  virtual Result<TimeHistory> time_history(const std::string& case_id, const MachineClass& machine, const std::string& before_run) = 0;

  // An explicit re-baselining: who, when, why. Concerns the run's outcomes of status ok that the glob matches now; an error if none does.
  virtual Result<void> accept(const std::string& run_id, const std::string& case_glob, const std::string& who, const std::string& why) = 0;

  virtual Result<std::vector<RunInfo>> runs(int limit) = 0;              // newest first; all if limit <= 0
  virtual Result<StoredRun> run(const std::string& run_id) = 0;          // an error if there is none
  virtual Result<std::string> resolve_run(const std::string& text) = 0;  // "latest", "latest~1", a unique prefix of a run id
  virtual Result<std::vector<StoredOutcome>> outcomes(const std::string& run_id) = 0;
  virtual Result<std::vector<StoredDiff>> diffs(const std::string& run_id) = 0;
  virtual Result<std::vector<SuiteScore>> suite_scores(const std::string& run_id) = 0;
  virtual Result<std::vector<StoredInvariance>> invariances(const std::string& run_id) = 0;
  // Replaces judgements of a stored run (plumbline judge).
  virtual Result<void> update_judgement(const std::string& run_id, const std::string& suite, const std::string& case_id,
                                        const Judgement& judgement) = 0;

  // Read-only SQL for `plumbline query`: rows as text. Anything that writes is refused.
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;
  };
  virtual Result<Table> query(const std::string& sql) = 0;
};

}  // namespace plumbline
