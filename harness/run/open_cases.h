// The cases of a night whose regression nobody has been asked about yet: the input of a second job,
// which measures them in fresh processes. docs/fleet.md describes the file.
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

// What of a run's command line bears on an outcome. It is kept in RunInfo::versions_json, so that
// another process can measure a case as the run did.
struct MeasuredWith {
  std::vector<std::string> providers;  // FILE[:OPTIONS], those that come with plumbline left out
  bool no_default_provider = false;
  std::string baselines;                   // directory; "" = plumbline's own
  std::optional<std::int64_t> timeout_ms;  // none: as the work asks
  std::uint64_t memory_limit_mib = 0;      // 0 = none
  double reference_cost = 0;               // multiply-adds
  std::int64_t row_seed = 0;
  int repetitions = 0;
  bool operator==(const MeasuredWith&) const = default;
};
std::string with_measured(const std::string& versions_json, const MeasuredWith& measured);
// nullopt: an older plumbline's run, which does not say.
std::optional<MeasuredWith> read_measured(const std::string& versions_json);

struct OpenCase {
  std::string run_id, suite, group, tier, case_id;
  bool timed = false;
  std::optional<ExpectedFailure> expected;
  MachineClass machine;          // that measured it, and that is to measure it again
  std::string provider_options;  // of its provider, "" for none
  std::string statistic, text;   // of the finding
  int processes = 2;             // fresh ones to ask
  bool operator==(const OpenCase&) const = default;
};
struct OpenRun {
  std::string run_id, commit;
  MeasuredWith measured_with;
  int judged_with = 0;  // runs with the same number were judged together
  bool operator==(const OpenRun&) const = default;
};
struct OpenCases {
  std::string night_id;       // "" = the runs are part of none
  std::vector<OpenRun> runs;  // all that were judged
  std::vector<OpenCase> cases;
  bool operator==(const OpenCases&) const = default;
};

std::string json_text_of(const OpenCases& open);
// Errors name what is wrong with the file, and that `plumbline merge --judge` writes it.
Result<OpenCases> read_open_cases(const std::filesystem::path& file);

// Of a run that asks fresh processes, which runs it asks about: the run whose case it measured is
// that of the case. Kept in its RunInfo::versions_json.
std::string with_confirmed_runs(const std::string& versions_json,
                                const std::vector<std::string>& run_ids);
std::vector<std::string> read_confirmed_runs(const std::string& versions_json);

// What fresh processes answered about the cases of runs, by suite and case id, in the order in
// which they were asked.
using FreshOutcomes = std::map<std::pair<std::string, std::string>, std::vector<StoredOutcome>>;
// From the runs of purpose "confirm" in the database that name one of the runs.
Result<FreshOutcomes> fresh_outcomes(Store& store, const std::vector<std::string>& run_ids);

}  // namespace plumbline
