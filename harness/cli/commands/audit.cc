// plumbline audit: checks that the judge catches known bugs and flags no legal kernel. With
// --calibrate: reports how close legal kernels come to the limits.
#include "harness/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "harness/audit/calibrate.h"
#include "harness/audit/trials.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/devices.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/progress.h"
#include "harness/cli/session.h"
#include "harness/contract/reviewed_text.h"
#include "harness/provider/client/default_providers.h"
#include "harness/report/audit_text.h"
#include "harness/run/shards.h"

namespace plumbline::cli {
namespace {

struct AuditOptions {
  ProviderOptions providers;
  CaseOptions cases;
  MeasureOptions measure;
  std::vector<std::filesystem::path> catalogues;
  std::string seeds, format = "text";
  bool calibrate = false, quiet = false;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

struct Seeds {
  std::uint64_t first = 1, last = 1;
};
// "20" means 1..20; "100..119" is a range.
Seeds parse_seeds(const std::string& text) {
  Seeds seeds;
  if (text.empty()) return seeds;
  const auto read = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::size_t dots = text.find("..");
  const bool parsed = dots == std::string::npos
                          ? read(text, seeds.last)
                          : read(std::string_view(text).substr(0, dots), seeds.first) &&
                                read(std::string_view(text).substr(dots + 2), seeds.last);
  if (!parsed || seeds.first > seeds.last || seeds.last - seeds.first >= 1'000'000 ||
      seeds.last == 0) {
    end_command(exit_usage,
                fmt::format("--seeds \"{}\" is neither a number of seeds nor a range (at most "
                            "1000000 seeds)",
                            text),
                "for example --seeds 10 or --seeds 1000..1019");
  }
  return seeds;
}

std::filesystem::path without_options(const std::string& library) {
  const std::size_t options = library.find(".so:");
  return options == std::string::npos ? library : library.substr(0, options + 3);
}

// Returns the libraries of --provider. Default: those of plumbline's mutants that the suites name,
// or "mutants" if they name none; with --calibrate, "mutants" and "merge_mutants". A library that
// has modes ("mutants") is listed once per mode.
std::vector<std::string> audited_libraries(const AuditOptions& options,
                                           const std::vector<Suite>& suites) {
  if (!options.providers.providers.empty()) return options.providers.providers;
  const auto are_named = [&](std::string_view provider) {
    const auto names = [&](const SuiteCase& c) {
      return provider_of(c.kernel_pattern) == provider;
    };
    return std::ranges::any_of(suites,
                               [&](const Suite& s) { return std::ranges::any_of(s.cases, names); });
  };
  std::vector<std::string> libraries;
  const std::string mutants = (library_directory() / "plumbline_mutants.so").string();
  std::vector<std::string> others;
  for (const char* provider : {"mma_mutants", "merge_mutants"}) {
    const auto path = library_directory() / fmt::format("plumbline_{}.so", provider);
    const bool wanted =
        options.calibrate ? provider == std::string_view("merge_mutants") : are_named(provider);
    if (wanted && std::filesystem::exists(path)) others.push_back(path.string());
  }
  if (std::filesystem::exists(mutants) &&
      (others.empty() || options.calibrate || are_named("mutants"))) {
    libraries = {mutants, mutants + ":mode=tf32", mutants + ":mode=e4m3"};
  }
  libraries.insert(libraries.end(), others.begin(), others.end());
  return libraries;
}

// Returns the files of --catalogue, otherwise NAME.toml or mutants.toml next to each library
// NAME.so.
std::vector<std::filesystem::path> catalogue_files(const AuditOptions& options,
                                                   const std::vector<std::string>& libraries) {
  if (!options.catalogues.empty()) return options.catalogues;
  std::vector<std::filesystem::path> files;
  for (const std::string& library : libraries) {
    std::filesystem::path path = without_options(library).replace_extension(".toml");
    if (!std::filesystem::exists(path)) path = path.parent_path() / "mutants.toml";
    if (std::filesystem::exists(path) && std::ranges::find(files, path) == files.end())
      files.push_back(path);
  }
  if (!files.empty()) return files;
  end_command(exit_usage,
              "there is no mutants.toml beside a provider, so no kernel is known to be a bug",
              "build the target plumbline_mutants, or name its library with --provider or the file "
              "with --catalogue");
}

// Copies the cases of a family's first provider to its other providers: mutants_tf32/NAME runs the
// cases of mutants/NAME. A provider refuses problems that it does not support.
void add_family(Suite& suite, const Family& family, const std::vector<OfferedKernel>& kernels) {
  std::set<std::string> others;
  for (const OfferedKernel& kernel : kernels) {
    if (family.owns(kernel.name) && provider_of(kernel.name) != family.provider)
      others.insert(provider_of(kernel.name));
  }
  std::vector<SuiteCase> cases;
  for (const SuiteCase& c : suite.cases) {
    cases.push_back(c);
    if (provider_of(c.kernel_pattern) != family.provider) continue;
    for (const std::string& other : others) {
      cases.push_back(c);
      cases.back().kernel_pattern = other + c.kernel_pattern.substr(family.provider.size());
    }
  }
  suite.cases = std::move(cases);
}

// Returns the kernels that replace those of the suites: none with --kernel, all legal kernels with
// --calibrate, otherwise the catalogue's kernels unless a suite names one of them.
std::vector<std::string> replacing_kernels(const AuditOptions& options,
                                           const std::vector<Suite>& suites,
                                           const Catalogue& catalogue,
                                           const std::vector<OfferedKernel>& kernels) {
  std::vector<std::string> names;
  if (!options.cases.kernels.empty()) return names;
  const auto names_family = [&](const SuiteCase& c) { return catalogue.owns(c.kernel_pattern); };
  const bool named = std::ranges::any_of(
      suites, [&](const Suite& s) { return std::ranges::any_of(s.cases, names_family); });
  if (named && !options.calibrate) return names;
  for (const OfferedKernel& kernel : kernels) {
    const bool wanted =
        options.calibrate ? catalogue.find(kernel.name) == nullptr : catalogue.owns(kernel.name);
    if (wanted) names.push_back(kernel.name);
  }
  return names;
}

// --provider leaves out the default suites of tensor cores and of merging, because they name
// plumbline's own mutants.
std::vector<Suite> read_suites(AuditOptions& options) {
  const auto standard = [](const char* file) {
    return (home_directory() / "cases" / file).string();
  };
  if (options.cases.suites.empty()) {
    options.cases.suites = {standard(options.calibrate ? "calibrate.toml" : "audit.toml")};
    if (!options.calibrate && options.providers.providers.empty()) {
      for (const char* file : {"audit_mma.toml", "audit_merge.toml"})
        options.cases.suites.push_back(standard(file));
    }
  }
  return need(options.cases.read(), exit_usage);
}

Plan plan_of(const AuditOptions& options, std::vector<Suite> suites, const Catalogue& catalogue,
             const std::vector<OfferedKernel>& kernels) {
  const auto replacing = replacing_kernels(options, suites, catalogue, kernels);
  if (!replacing.empty()) use_kernels(suites, replacing);
  for (Suite& suite : suites) {
    suite.diffs.clear();
    if (!replacing.empty()) continue;
    for (const Family& family : catalogue.families) add_family(suite, family, kernels);
  }
  Plan plan = need(make_plan(suites, kernels, options.cases.filter), exit_usage);
  const bool had_cases = !plan.cases.empty();
  std::erase_if(plan.cases, [&](const PlannedCase& c) {
    return catalogue.is_breaker(c.c.kernel) ||
           (options.calibrate && catalogue.find(c.c.kernel) != nullptr);
  });
  if (options.calibrate && had_cases && plan.cases.empty()) {
    end_command(exit_usage,
                "--calibrate runs only legal kernels, and all chosen ones are known bugs",
                "name legal kernels with --kernel, or leave it out");
  }
  for (PlannedCase& c : plan.cases) c.timed = false;
  return plan;
}

std::vector<std::string> suite_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedCase& c : plan.cases) {
    if (std::ranges::find(names, c.suite) == names.end()) names.push_back(c.suite);
  }
  return names;
}

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr std::array audit_formats{
    Format<AuditReport>{"text", render_audit}, Format<AuditReport>{"json", nullptr, json_of_audit},
    Format<AuditReport>{"markdown", unstyled<render_audit_markdown>}};
constexpr std::array calibration_formats{
    Format<CalibrationReport>{"text", render_calibration},
    Format<CalibrationReport>{"json", nullptr, json_of_calibration},
    Format<CalibrationReport>{"markdown", unstyled<render_calibration_markdown>}};

template <class Formats, class Report>
int print(const AuditOptions& options, const Formats& formats, const Report& report) {
  write_as(formats, options.format, report);
  return report.exit_code();
}

int run(AuditOptions& options) {
  auto seeds = parse_seeds(options.seeds);
  auto text = need(options.providers.reviewed_text(), exit_usage);
  const auto baselines = options.providers.baselines.empty() ? home_directory() / "baselines"
                                                             : options.providers.baselines;
  auto reviewed = need(read_reviewed_survivors(baselines / "audit.toml"), exit_usage);

  auto suites = read_suites(options);
  const std::vector<std::string> audited = audited_libraries(options, suites);
  auto files = catalogue_files(options, audited);
  options.measure.pass_env = options.providers.pass_env;
  if (!options.providers.no_default_provider)
    options.measure.providers = {(library_directory() / "plumbline_cpu.so").string()};
  options.measure.providers.insert(options.measure.providers.end(), audited.begin(), audited.end());
  const auto providers = need(discover(options.measure));
  end_on_errors(unknown_devices(options.cases.devices, providers), exit_usage);
  const auto kernels = offered_kernels(providers);
  auto catalogue = need(read_catalogue(files, kernels), exit_usage);
  auto plan = plan_of(options, std::move(suites), catalogue, kernels);
  if (plan.cases.empty())
    end_command(exit_nothing, "the filters leave no case", "see `plumbline list`");

  const CaseFilter& filter = options.cases.filter;
  plan = part_of(plan, filter.shard, filter.shards);
  const std::vector<std::string> names = suite_names(plan);
  const bool complete = !plan.partial && options.cases.filter.shards == 1;
  if (options.calibrate) plan = with_seeds(plan, seeds.first, seeds.last);
  const std::atomic<bool>& stop_requested = stop_on_signals();
  const Timer timer;
  std::vector<Trial> trials;
  {
    Progress progress(plan.cases.size(), options.quiet);
    trials = run_trials(
        plan, catalogue, options.measure, providers, text.contracts,
        {options.jobs, !options.calibrate, &stop_requested, [&progress] { progress.step(); }});
  }
  if (stop_requested)
    end_command(exit_infrastructure, "stopped by a signal: no conclusion", "run it again");

  if (options.calibrate) {
    CalibrationReport report = calibrate(trials, text.contracts, complete);
    report.suites = names;
    report.first_seed = seeds.first;
    report.last_seed = seeds.last;
    report.seconds = timer.seconds();
    return print(options, calibration_formats, report);
  }
  AuditReport report = summarise(trials, suite_scores(trials, text.contracts, complete), catalogue,
                                 reviewed, complete);
  report.suites = names;
  report.seconds = timer.seconds();
  return print(options, audit_formats, report);
}

}  // namespace

void add_audit(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, run, "audit",
               "Judge the judge: known bugs it must catch, legal kernels it must not flag");
  options.cases.add_to(command);
  options.providers.add_to(command);
  command
      .add_option("--catalogue", options.catalogues, "FILE",
                  "Which kernels are bugs (default: NAME.toml or mutants.toml beside NAME.so)")
      .allow_extra_args(false);
  command.add_flag(
      "--calibrate", options.calibrate,
      "Leave out bugs, also those of --kernel; print legal kernels' largest statistics");
  command.add_option("--seeds", options.seeds, "With --calibrate: N for seeds 1 to N, or A..B")
      .needs("--calibrate");
  add_format(command, options.format, audit_formats, "What goes to stdout");
  command.add_option("--jobs,-j", options.jobs, "Problems measured at once")
      .capture_default_str()
      .check(from_to(1, 256));
  add_timeout(command, options.measure);
  command.add_flag("--quiet,-q", options.quiet, "No progress");
  command.footer(
      "Exit 1: a bug that no case catches and that is not reviewed (baselines/audit.toml), a legal "
      "kernel that is flagged, or a class of "
      "bugs\n"
      "of which none is caught. Suites default to cases/audit.toml and, without --provider, "
      "audit_mma.toml and audit_merge.toml; with --calibrate to cases/calibrate.toml.\n"
      "Examples:\n"
      "  plumbline audit\n"
      "  plumbline audit cases/pr.toml --format markdown\n"
      "  plumbline audit --calibrate --seeds 1000..1019\n"
      "  plumbline audit --calibrate --provider ./mine.so --kernel 'mine/*'   # its legal kernels");
}

}  // namespace plumbline::cli
