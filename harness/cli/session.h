// What the subcommands share: where files are found, common options, how errors are printed.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/command_end.h"
#include "harness/cli/command_line.h"
#include "harness/cli/places.h"
#include "harness/cli/terminal.h"
#include "harness/measure/providers.h"
#include "harness/reference/reference_library.h"
#include "harness/report/report.h"
#include "harness/store/store.h"

namespace plumbline {
struct JudgedRuns;
struct MeasuredWith;
struct ReviewedText;
}  // namespace plumbline

namespace plumbline::cli {

// Set by SIGINT, SIGTERM and SIGHUP from the call on, and by SIGPIPE: nobody reads the output any
// more. A second signal ends the program at once, but for SIGPIPE.
std::atomic<bool>& stop_on_signals();

// Returns what discover() found; errors end the command. Wrong options count as wrong usage.
std::vector<ProviderInfo> need(tl::expected<std::vector<ProviderInfo>, ProviderErrors> found);

// The suite files that a word names: the file itself or the files of a glob, from here or else from
// home_directory() ("cases/smoke.toml" is found from any folder).
Result<std::vector<std::string>> suite_files(const std::string& word);

// The suites that come with plumbline, as they are named from any folder: "cases/smoke.toml".
std::vector<std::string> bundled_suites();

// Options of commands that load providers and reviewed text.
struct ProviderOptions {
  std::vector<std::string> providers;
  std::filesystem::path baselines;  // directory with contracts.toml and support.toml
  bool no_default_provider = false;
  std::vector<std::string> pass_env;
  void add_to(Command command);
  // --pass-env: variables that look like secrets and are to reach the kernels.
  void add_pass_env(Command command);
  // The providers and what they get of the environment.
  void use_in(MeasureOptions& measure) const;
  // The providers that come with plumbline and can be used here (unless switched off), then those
  // named.
  std::vector<std::string> libraries() const;
  // `plumbline run` with these options: the start of a line that repeats a case.
  std::string command_line() const;
  std::filesystem::path reviewed_directory() const;  // where contracts.toml and support.toml are
  Result<ReviewedText> reviewed_text() const;
};

// Options that choose cases.
struct CaseOptions {
  std::vector<std::string> suites;
  std::vector<std::string> kernels;  // globs that replace the suites' own
  std::vector<std::string> devices;  // that replace the suites' own for kernels that take them
  CaseFilter filter;
  std::string tier, shard;
  std::string seed;  // of cases whose id names none; "" = as the suites say
  void add_to(Command command);
  void add_seed_to(Command command);
  // Reads the suites and parses tier, shard and seed. --device must name what these providers can
  // run on; their kernels that take the devices move there.
  Result<std::vector<Suite>> read(const std::vector<ProviderInfo>& providers);
  // The same before providers are known: `unknown_devices` remains to be asked.
  Result<std::vector<Suite>> read(const std::vector<OfferedKernel>& offered = {});
};

// --timeout: seconds that bound every case, in place of what its work asks
// (harness/timing/time_limit.h).
void add_timeout(Command command, MeasureOptions& measure);
// --row-seed: of the rows that change from night to night, where a sample is compared.
void add_row_seed(Command command, std::int64_t& seed);
// The date of today in UTC, as 20260131: the row seed of a night.
std::int64_t row_seed_of_today();

// --reference: where the fp64 reference is computed.
struct ReferenceOption {
  std::string where = "auto";
  void add_to(Command command);
  // Null: on the CPU. "auto" answers the GPU's library if it came with plumbline and finds a
  // device; a library that is named must open.
  Result<std::shared_ptr<const ReferenceLibrary>> open() const;
};

struct DatabaseOption {
  std::filesystem::path path = "plumbline.db";
  void add_to(Command command);
  Result<std::unique_ptr<Store>> open(bool read_only) const;
  // For writing to runs that are there: a name that was mistyped does not become a database.
  Result<std::unique_ptr<Store>> open_existing() const;
};

// The case of an id, planned for a kernel that is offered. Errors, all at once: an id that is none,
// an invalid problem, an unknown kernel.
Result<PlannedCase> plan_of_id(const std::string& id, const std::vector<OfferedKernel>& kernels,
                               bool timed);

// This machine as a machine class and the facts that accompany a run. `reproduce` starts the lines
// that repeat a case; it is stored, so that a later `show` prints lines that work.
RunInfo this_run(const std::string& purpose, const std::string& shard, const std::string& reproduce,
                 const std::vector<std::string>& suites);
// What of a command line another process needs to measure a case as this one does.
MeasuredWith measured_with(const ProviderOptions& providers, const MeasureOptions& measure);
// This day in UTC, "2027-01-31".
std::string today();
// What this_run stored of it.
std::string reproduce_command(const RunInfo& run);
// What was judged, as a report; it points into `judged`.
RunReport report_of(const JudgedRuns& judged);
// "plumbline", or the path it was called by where that is needed to find it.
std::string program_name();
// This process's arguments as a shell would take them again, without --resume.
std::string command_line();

}  // namespace plumbline::cli
