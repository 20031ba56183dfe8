// Code that the subcommands share: suites, common options, and facts about a run.
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
#include "harness/cli/program_folders.h"
#include "harness/cli/terminal.h"
#include "harness/measure/providers.h"
#include "harness/reference/reference_library.h"
#include "harness/report/report.h"
#include "harness/store/store.h"

namespace plumbline {
struct JudgedRuns;
struct MeasureSetup;
struct ReviewedText;
}  // namespace plumbline

namespace plumbline::cli {

// Returns a flag that SIGINT, SIGTERM, SIGHUP and SIGPIPE (stdout has no reader) set from now on. A
// second signal ends the program at once, unless it is SIGPIPE.
std::atomic<bool>& stop_on_signals();

// Returns the result of discover(); its errors end the command. Wrong provider options count as
// wrong usage.
std::vector<ProviderInfo> need(tl::expected<std::vector<ProviderInfo>, ProviderErrors> found);

// Returns the suite files that a word names: a file or a glob, relative to the current folder or,
// if nothing matches, to home_directory() ("cases/smoke.toml" works in any folder).
Result<std::vector<std::string>> suite_files(const std::string& word);

// Returns the suites that come with plumbline, by names that work in any folder:
// "cases/smoke.toml".
std::vector<std::string> bundled_suites();

// Options of commands that load providers and reviewed text.
struct ProviderOptions {
  std::vector<std::string> providers;
  std::filesystem::path baselines;  // directory with contracts.toml and support.toml
  bool no_default_provider = false;
  std::vector<std::string> pass_env;
  void add_to(Command command);
  // Adds --pass-env: variables that look like secrets, but that kernels may see.
  void add_pass_env(Command command);
  // Sets the providers and the variables that they may see.
  void use_in(MeasureOptions& measure) const;
  // Returns the usable providers that come with plumbline (unless switched off), then the named
  // ones.
  std::vector<std::string> libraries() const;
  // Returns `plumbline run` with these options, the start of a command that repeats a case.
  std::string command_line() const;
  std::filesystem::path reviewed_directory() const;  // of contracts.toml and support.toml
  Result<ReviewedText> reviewed_text() const;
};

// Options that choose cases.
struct CaseOptions {
  std::vector<std::string> suites;
  std::vector<std::string> kernels;  // globs that replace the suites' kernels
  std::vector<std::string> devices;  // replace the suites' devices, for kernels that accept them
  CaseFilter filter;
  std::string tier, shard;
  std::string seed;  // for cases whose id has none; "" = as the suites state
  void add_to(Command command);
  void add_seed_to(Command command);
  // Reads the suites and parses tier, shard and seed. --device must name devices that these
  // providers can run on; the cases of kernels that accept the devices run there.
  Result<std::vector<Suite>> read(const std::vector<ProviderInfo>& providers);
  // Reads the suites before the providers are known; the caller must call unknown_devices().
  Result<std::vector<Suite>> read(const std::vector<OfferedKernel>& offered = {});
};

// Adds --timeout: the seconds for every case, instead of a limit from its work
// (harness/timing/time_limit.h).
void add_timeout(Command command, MeasureOptions& measure);
// Adds --row-seed: the seed of the sampled rows that change from night to night.
void add_row_seed(Command command, std::int64_t& seed);
// Returns today's date in UTC as 20260131, the row seed of a night.
std::int64_t row_seed_of_today();

// --reference: the CPU, or the GPU library that computes the fp64 reference.
struct ReferenceOption {
  std::string where = "auto";
  void add_to(Command command);
  // Returns null for the CPU. "auto" returns the GPU's library if it came with plumbline and finds
  // a device. Errors: a named library cannot be opened.
  Result<std::shared_ptr<const ReferenceLibrary>> open() const;
};

struct DatabaseOption {
  std::filesystem::path path = "plumbline.db";
  void add_to(Command command);
  Result<std::unique_ptr<Store>> open(bool read_only) const;
  // Opens an existing database for writing. A mistyped name does not create one.
  Result<std::unique_ptr<Store>> open_existing() const;
};

// Plans the case of an id for an offered kernel. Errors: a malformed id, an invalid problem, an
// unknown kernel, or one for another operation.
Result<PlannedCase> plan_of_id(const std::string& id, const std::vector<OfferedKernel>& kernels,
                               bool timed);

// Describes a new run on this machine. `reproduce` is the beginning of commands that repeat a case;
// it is stored, so that a later `show` prints commands that work.
RunInfo this_run(const std::string& purpose, const std::string& shard, const std::string& reproduce,
                 const std::vector<std::string>& suites);
// Returns the options that another process needs to measure a case in the same way.
MeasureSetup measured_with(const ProviderOptions& providers, const MeasureOptions& measure);
// Returns the day in UTC, "2027-01-31".
std::string today();
// Returns the `reproduce` that this_run() stored.
std::string reproduce_command(const RunInfo& run);
// Returns a report of the judged runs, which points into `judged`.
RunReport report_of(const JudgedRuns& judged);
// Returns "plumbline", or the path if the program was called by one.
std::string program_name();
// Returns this process's arguments, quoted for a shell, without --resume.
std::string command_line();

}  // namespace plumbline::cli
