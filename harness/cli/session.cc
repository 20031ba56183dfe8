// Finds suites, registers the shared options, and describes a run and its machine.
#include "harness/cli/session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/base/build_info.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/cli/devices.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/contract/reviewed_text.h"
#include "harness/provider/client/default_providers.h"
#include "harness/report/format.h"
#include "harness/run/judge_runs.h"
#include "harness/run/open_cases.h"
#include "harness/run/plan_devices.h"

namespace plumbline::cli {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string uuid() {
  std::random_device device;
  std::array<std::uint32_t, 4> words{device(), device(), device(), device()};
  words[1] = (words[1] & 0xFFFF0FFFU) | 0x4000U;      // version 4
  words[2] = (words[2] & 0x3FFFFFFFU) | 0x80000000U;  // variant
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16,
                     words[1] & 0xFFFF, words[2] >> 16, words[2] & 0xFFFF, words[3]);
}

// Returns the files that match a pattern with `*` and `?`, as a shell expands it.
std::vector<std::string> files_of(const std::filesystem::path& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::int64_t memory_in_whole_gib() {
  struct sysinfo info {};
  ::sysinfo(&info);
  const auto bytes = static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
  return static_cast<std::int64_t>((bytes + (1ULL << 29)) >> 30 << 30);
}

}  // namespace

std::atomic<bool>& stop_on_signals() {
  static std::atomic<bool> requested{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
  const auto request = [](int signal) {
    requested = true;
    // A second Ctrl-C ends the process. A second write to a closed pipe must not.
    if (signal != SIGPIPE) std::signal(signal, SIG_DFL);
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    // nohup and a shell's background jobs ignore SIGHUP and SIGINT, which stay ignored. Services
    // also ignore SIGPIPE, but a closed pipe must end a run.
    if (std::signal(signal, request) == SIG_IGN && signal != SIGPIPE) std::signal(signal, SIG_IGN);
  }
  // A write beyond `ulimit -f` then fails, and SQLite reports that the disk is full.
  std::signal(SIGXFSZ, SIG_IGN);
  return requested;
}

std::vector<ProviderInfo> need(tl::expected<std::vector<ProviderInfo>, ProviderErrors> found) {
  const bool is_usage = !found && found.error().are_option_errors;
  return need(std::move(found), is_usage ? exit_usage : exit_infrastructure);
}

std::vector<std::string> bundled_suites() {
  std::vector<std::string> names;
  for (const char* pattern : {"cases/*.toml", "cases/*/*.toml"}) {
    for (const auto& file : files_of(home_directory() / pattern))
      names.push_back(std::filesystem::path(file).lexically_relative(home_directory()).string());
  }
  return names;
}

Result<std::vector<std::string>> suite_files(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::is_directory(word, ignored)) {
    return fail(fmt::format("{}: is a folder; suites are files", word),
                fmt::format("name its suites: {}/*.toml",
                            std::filesystem::path(word).lexically_normal().string()));
  }
  if (std::filesystem::exists(word, ignored)) return std::vector{word};
  for (const std::filesystem::path& place :
       {std::filesystem::path(word), home_directory() / word}) {
    if (auto files = files_of(place); !files.empty()) return files;
  }
  const std::vector<std::string> names = bundled_suites();
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto near = nearest_word(word, known);
  return fail(Error{std::string(word), 0,
                    fmt::format("no such suite file, here or in {}", home_directory().string()),
                    near ? fmt::format("did you mean {}?", *near)
                         : "check the path; suites that come with plumbline are found as "
                           "cases/smoke.toml from any folder"});
}

void ProviderOptions::add_to(Command command) {
  command.add_option("--provider", providers, "FILE",
                     "Provider, FILE[:OPTIONS]: a shared library, a Python file, or the name of "
                     "one that comes with plumbline (mutants, torch: `plumbline doctor`); repeat "
                     "for more. Replaces a provider of the same name");
  command.add_flag(
      "--no-default-provider", no_default_provider,
      "Do not load the kernels that come with plumbline (cpu; emulated and cuda if present)");
  command.add_option("--baselines", baselines, "DIR",
                     "Directory with contracts.toml and support.toml (default: plumbline's own)");
  add_pass_env(command);
}

void ProviderOptions::add_pass_env(Command command) {
  command.add_option(
      "--pass-env", pass_env, "NAME",
      "Let kernels see this variable of the environment, although its name looks like that of a "
      "secret (*TOKEN*, *SECRET*, *PASSWORD*, ACTIONS_*); repeat for more");
}

void ProviderOptions::use_in(MeasureOptions& measure) const {
  measure.providers = libraries();
  measure.pass_env = pass_env;
}

std::string ProviderOptions::command_line() const {
  std::string text = program_name() + " run";
  for (const auto& provider : providers) text += fmt::format(" --provider '{}'", provider);
  if (no_default_provider) text += " --no-default-provider";
  if (!baselines.empty()) text += fmt::format(" --baselines '{}'", baselines.string());
  for (const auto& name : pass_env) text += " --pass-env " + shell_word(name);
  return text;
}

std::vector<std::string> ProviderOptions::libraries() const {
  std::vector<std::string> all;
  if (!no_default_provider) all = default_providers(library_directory());
  all.insert(all.end(), providers.begin(), providers.end());
  return all;
}

std::filesystem::path ProviderOptions::reviewed_directory() const {
  return baselines.empty() ? home_directory() / "baselines" : baselines;
}

Result<ReviewedText> ProviderOptions::reviewed_text() const {
  const auto directory = reviewed_directory();
  auto contracts = Contracts::read(directory / "contracts.toml");
  auto support = SupportTable::read(directory / "support.toml");
  Errors errors;
  if (!contracts) errors = contracts.error();
  if (!support) errors.insert(errors.end(), support.error().begin(), support.error().end());
  if (!errors.empty()) return tl::unexpected(errors);
  return ReviewedText{std::move(*contracts), std::move(*support)};
}

void CaseOptions::add_to(Command command) {
  command.add_option("suites", suites, "SUITE.toml", "Suite files (TOML)");
  command.add_option("--kernel", kernels, "KERNEL",
                     "Run the suites' problems on these kernels (glob, e.g. 'mine/*') instead of "
                     "those they name; no diffs");
  command.add_option("--device", devices, "DEVICE",
                     "Device for the kernels that accept it, instead of the suites' own: cuda:N or "
                     "emulated:ARCH; repeat for more");
  command.add_option(
      "--match", filter.match,
      "Only cases that match this glob, on 'suite/group/case id' or the case id; repeat for more");
  command.add_option("--exclude", filter.exclude, "No cases that match this glob");
  command.add_option("--tier", tier, "TIER", "Only cases of this tier and lower ones")
      .offers({names_of<Tier>.begin(), names_of<Tier>.end()});
  command.add_option("--shard", shard, "I/N",
                     "Shard I of N of the cases; shards have whole problems and similar costs");
}

void CaseOptions::add_seed_to(Command command) {
  command.add_option("--seed", seed, "N",
                     "Seed for other inputs in the cases whose ids name none; their ids then name "
                     "it. Cases with a seed of their own keep it");
}

Result<std::vector<Suite>> CaseOptions::read(const std::vector<ProviderInfo>& providers) {
  if (Errors errors = unknown_devices(devices, providers); !errors.empty())
    return tl::unexpected(std::move(errors));
  return read(offered_kernels(providers));
}

Result<std::vector<Suite>> CaseOptions::read(const std::vector<OfferedKernel>& offered) {
  Errors errors;
  if (!tier.empty()) {
    filter.tier = parse<Tier>(tier);
    if (!filter.tier)
      errors.push_back({"", 0, fmt::format("--tier \"{}\" is not a tier", tier),
                        suggestion(tier, names_of<Tier>)});
  }
  if (!shard.empty()) {
    char rest = 0;
    const bool parsed =
        std::sscanf(shard.c_str(), "%d/%d%c", &filter.shard, &filter.shards, &rest) == 2;
    if (!parsed || filter.shards < 1 || filter.shard < 1 || filter.shard > filter.shards) {
      errors.push_back({"", 0, fmt::format("--shard \"{}\" is not I/N with 1 <= I <= N", shard),
                        "for example --shard 1/4"});
    }
  }
  Problem seeded;
  if (!seed.empty()) {
    if (set_field(seeded, "seed", seed))
      errors.push_back({"", 0, fmt::format("--seed \"{}\" is not a whole number in 64 bits", seed),
                        "for example --seed 20261123"});
  }
  std::vector<Suite> read_suites;
  std::vector<std::string> files;
  for (const auto& word : suites) {
    auto named = suite_files(word);
    if (named) files.insert(files.end(), named->begin(), named->end());
    if (!named) errors.insert(errors.end(), named.error().begin(), named.error().end());
  }
  for (const auto& path : files) {
    auto suite = read_suite(path);
    if (suite) {
      read_suites.push_back(std::move(*suite));
    } else {
      errors.insert(errors.end(), suite.error().begin(), suite.error().end());
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  use_seed(read_suites, seeded.seed);
  if (!kernels.empty()) use_kernels(read_suites, kernels);
  if (auto moved = use_devices(read_suites, devices, offered); !moved)
    return tl::unexpected(moved.error());
  if (!devices.empty() && !runs_on(read_suites, devices)) {
    return fail(
        fmt::format("--device {} changes nothing: no case of these suites is for a GPU's kernels",
                    fmt::join(devices, ", ")),
        "leave --device out, name a suite with such kernels (cases/pr.toml), or choose kernels: "
        "--kernel 'emulated/*'");
  }
  return read_suites;
}

void add_row_seed(Command command, std::int64_t& seed) {
  command
      .add_option("--row-seed", seed, "N",
                  "Seed of the reference's sampled rows that change from night to night; 0: none "
                  "change (default of `run`: the date, as 20260131)")
      .check(from_to(0, 1e15));
}

std::int64_t row_seed_of_today() {
  return std::stoll(fmt::format("{:%Y%m%d}", fmt::gmtime(std::time(nullptr))));
}

void add_timeout(Command command, MeasureOptions& measure) {
  command
      .add_option_function(
          "--timeout",
          [&measure](double seconds) {
            measure.timeout = std::chrono::milliseconds(
                std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * 1000)));
          },
          "Seconds that a case may take in its worker (default: 60, plus more for its size and "
          "repetitions)")
      .type_name("SECONDS")
      .check(above_zero("a number of seconds"));
}

void ReferenceOption::add_to(Command command) {
  command
      .add_option(
          "--reference", where, "auto|cpu|FILE",
          "Device of the fp64 reference: cpu, auto (a GPU if there is one) or a library's file")
      .capture_default_str();
}

Result<std::shared_ptr<const ReferenceLibrary>> ReferenceOption::open() const {
  if (where == "cpu") return nullptr;
  if (where != "auto") return ReferenceLibrary::open(where);
  const auto beside = library_directory() / "plumbline_reference_cuda.so";
  if (!std::filesystem::exists(beside)) return nullptr;
  auto opened = ReferenceLibrary::open(beside);
  if (opened) return opened;
  if (has_cuda_device())
    fmt::print(stderr, "references are computed on the CPU: {}\n", opened.error().front().message);
  return nullptr;
}

void DatabaseOption::add_to(Command command) {
  command.add_option("--db", path, "FILE", "Database of runs").capture_default_str();
}

Result<std::unique_ptr<Store>> DatabaseOption::open(bool read_only) const {
  return Store::open(path, read_only);
}

Result<std::unique_ptr<Store>> DatabaseOption::open_existing() const {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return open(false);
  return open(true);  // reports the missing file, and creates none
}

std::string program_name() {
  std::ifstream file("/proc/self/cmdline");
  std::string name;
  std::getline(file, name, '\0');
  return name.find('/') == std::string::npos ? "plumbline" : name;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    if (word == "--resume") continue;
    text += (text.empty() ? "" : " ") + shell_word(word);
  }
  return text;
}

MeasureSetup measured_with(const ProviderOptions& providers, const MeasureOptions& measure) {
  MeasureSetup with;
  with.providers = providers.providers;
  with.no_default_provider = providers.no_default_provider;
  with.baselines = providers.baselines.string();
  if (measure.timeout) with.timeout_ms = measure.timeout->count();
  with.memory_limit_mib = measure.memory_limit_bytes >> 20;
  with.reference_cost = measure.reference_cost_limit;
  with.row_seed = measure.row_seed;
  with.repetitions = measure.time_repetitions;
  return with;
}

std::string today() { return fmt::format("{:%F}", fmt::gmtime(std::time(nullptr))); }

std::string reproduce_command(const RunInfo& run) {
  const auto versions = parse_json_if_valid(run.versions_json);
  return versions.is_object() ? versions.value("reproduce", "plumbline run") : "plumbline run";
}

RunReport report_of(const JudgedRuns& judged) {
  RunReport report{&judged.runs.front(), &judged.outcomes, &judged.diffs,
                   &judged.scores,       judged.exit_code, reproduce_command(judged.runs.front())};
  report.changes = &judged.changes;
  report.night_times = &judged.night_times;
  report.unsettled = unsettled_of(judged.runs);
  if (!judged.invariances.empty()) report.invariances = &judged.invariances;
  return report;
}

Result<PlannedCase> plan_of_id(const std::string& id, const std::vector<OfferedKernel>& kernels,
                               bool timed) {
  auto c = parse_case_id(id);
  if (!c) return tl::unexpected(c.error());
  Errors errors;
  for (const auto& message : validate(c->problem))
    errors.push_back({"", 0, fmt::format("{}: {}", id, message), ""});
  const auto kernel =
      std::ranges::find_if(kernels, [&](const OfferedKernel& k) { return k.name == c->kernel; });
  if (kernel == kernels.end()) {
    errors.push_back({"", 0, fmt::format("{}: there is no kernel {}", id, c->kernel),
                      missing_kernel_remedy(c->kernel, kernels)});
  } else if (kernel->question != operation_of(c->problem)) {
    errors.push_back({"", 0,
                      fmt::format("{}: {} is a kernel for {}, and the case asks for {}", id,
                                  c->kernel, kernel->question, operation_of(c->problem)),
                      "name another kernel, or correct the id's field merge"});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return PlannedCase{"case",      "case", "named on the command line", Tier::smoke, *c,
                     case_id(*c), timed,  kernel->tensor_cores};
}

RunInfo this_run(const std::string& purpose, const std::string& shard, const std::string& reproduce,
                 const std::vector<std::string>& suites) {
  RunInfo run;
  run.run_id = uuid();
  run.started_at = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  run.machine = {"cpu", "x86-64-v3", cpu_model(), memory_in_whole_gib(),
                 environment_text("PLUMBLINE_CLOCK_POLICY")};
  utsname host{};
  ::uname(&host);
  run.host = host.nodename;
  run.commit = environment_text("PLUMBLINE_COMMIT").empty() ? environment_text("GITHUB_SHA")
                                                            : environment_text("PLUMBLINE_COMMIT");
  run.compiler = build::compiler;
  run.flags = build::flags;
  run.versions_json = write_json(
      {{"plumbline", build::version}, {"kernel", host.release}, {"reproduce", reproduce}});
  run.command_line = fmt::format("{} {}", reproduce, fmt::join(suites, " "));
  run.shard = shard.empty() ? "1/1" : shard;
  run.purpose = purpose;
  return run;
}

}  // namespace plumbline::cli
