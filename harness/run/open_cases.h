// A night's cases with a regression that no fresh process has measured yet. They are the input of a
// second job, which measures them in fresh processes. docs/fleet.md describes the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/store.h"
#include "harness/store/stored.h"

namespace plumbline {

// The command line options that affect an outcome. Stored in RunInfo::versions_json, so that
// another process can measure a case in the same way.
struct MeasureSetup {
  std::vector<std::string> providers;  // FILE[:OPTIONS], without plumbline's own providers
  bool no_default_provider = false;
  std::string baselines;                   // directory; "" = plumbline's own
  std::optional<std::int64_t> timeout_ms;  // unset: derived from the work
  std::uint64_t memory_limit_mib = 0;      // 0 = none
  double reference_cost = 0;               // multiply-adds
  std::int64_t row_seed = 0;
  int repetitions = 0;
  bool operator==(const MeasureSetup&) const = default;
};
std::string add_measure_setup(const std::string& versions_json, const MeasureSetup& measured);
// Returns nullopt for a run of an older plumbline, which did not store this.
std::optional<MeasureSetup> parse_measure_setup(const std::string& versions_json);

struct OpenCase {
  std::string run_id, suite, group, tier, case_id;
  bool timed = false;
  std::optional<ExpectedFailure> expected;
  MachineClass machine;          // measured the case, and must measure it again
  std::string provider_options;  // "" = none
  std::string statistic, text;   // of the first finding
  int processes = 2;             // number of fresh processes to run
  bool operator==(const OpenCase&) const = default;
};
struct OpenRun {
  std::string run_id, commit;
  MeasureSetup measured_with;
  int judged_with = 0;  // equal for runs that were judged together
  bool operator==(const OpenRun&) const = default;
};
struct OpenCases {
  std::string night_id;       // "" = the runs belong to no night
  std::vector<OpenRun> runs;  // all judged runs
  std::vector<OpenCase> cases;
  bool operator==(const OpenCases&) const = default;
};

std::string json_text_of(const OpenCases& open);
// An error names the file's fault and the command that writes such a file.
Result<OpenCases> read_open_cases(const std::filesystem::path& file);

// Add and read a member of RunInfo::versions_json: the ids of the runs whose cases a run with
// purpose "confirm" measured again.
std::string with_confirmed_runs(const std::string& versions_json,
                                const std::vector<std::string>& run_ids);
std::vector<std::string> read_confirmed_runs(const std::string& versions_json);

// The outcomes of fresh processes, by suite and case id, oldest first.
using FreshOutcomes = std::map<std::pair<std::string, std::string>, std::vector<StoredOutcome>>;
// Collects the fresh outcomes of the database's runs with purpose "confirm" that name one of
// `run_ids`.
Result<FreshOutcomes> fresh_outcomes(Store& store, const std::vector<std::string>& run_ids);

}  // namespace plumbline
