// plumbline resources: compares the resources of CUDA kernels on each GPU architecture with
// approved figures. Needs no GPU.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "harness/base/text.h"
#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/outputs.h"
#include "harness/cli/session.h"
#include "harness/report/resources_text.h"
#include "harness/resources/compare.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

struct ResourceOptions {
  fs::path reports, baseline, database;
  std::string run, who, reason, format = "text";
  std::vector<std::string> archs;
  bool accept = false, strict = false, of_run = false;
};

bool nvcc_is_on_the_path() {
  const std::string path = environment_text("PATH");
  for (const auto directory : split(path, ':')) {
    if (::access((fs::path(directory) / "nvcc").c_str(), X_OK) == 0) return true;
  }
  return false;
}

int nothing_compiled(const fs::path& directory) {
  const char* reason = nvcc_is_on_the_path() ? "the CUDA kernels were not built here"
                                             : "nvcc is absent, so no CUDA kernel was compiled";
  end_command(exit_nothing,
              {directory.string(), 0, fmt::format("no resource reports: {}", reason),
               "build where nvcc is on the PATH (cmake --workflow --preset dev), or name "
               "a folder with --reports"});
}

// Rewrites the approved figures of each source that differs from them.
int accept(const ResourceOptions& options, const fs::path& baseline,
           const std::vector<CompiledSource>& compiled,
           const std::vector<ApprovedSource>& approved) {
  const Acceptance acceptance{options.who, today(), options.reason};
  for (const CompiledSource& source : compiled) {
    const auto old =
        std::ranges::find_if(approved, [&](const auto& a) { return a.name == source.name; });
    const auto comparison = compare_resources(
        {source}, old == approved.end() ? std::vector<ApprovedSource>{} : std::vector{*old}, {},
        true);
    const bool same = old != approved.end() && old->toolkit == source.toolkit &&
                      std::ranges::all_of(comparison.rows, [](const auto& row) {
                        return row.verdict == ResourceVerdict::pass;
                      });
    if (same) {
      fmt::print("{} is as approved\n", source.source);
      continue;
    }
    const fs::path file = baseline / (source.name + ".toml");
    need(write_text(file, approved_text(source, acceptance)));
    fmt::print("accepted {} in {} ({}): {} ({})\n", source.source, file.string(),
               resource_totals(comparison), options.reason, options.who);
  }
  return exit_fine;
}

int exit_code_of(const ResourceComparison& comparison) {
  const auto any = [&](ResourceVerdict verdict) {
    return std::ranges::any_of(comparison.rows,
                               [&](const auto& row) { return row.verdict == verdict; });
  };
  if (any(ResourceVerdict::regressed) || any(ResourceVerdict::missing)) return exit_failure;
  if (any(ResourceVerdict::not_comparable)) return exit_not_comparable;
  return comparison.rows.empty() ? exit_nothing : exit_fine;
}

// Adds the figures to the run of --run, otherwise to a run of their own.
void store(const ResourceOptions& options, const ResourceComparison& comparison, int code) {
  auto database = need(Store::open(options.database, false));
  if (!options.run.empty()) {
    const auto run = need(database->resolve_run(options.run));
    need(database->add_resources(run, comparison.rows));
    return;
  }
  RunInfo run = this_run("resources", "", program_name() + " resources", {});
  need(database->begin_run(run));
  need(database->add_resources(run.run_id, comparison.rows));
  need(database->finish_run(run.run_id, code, true));
}

// Returns true if a kernel of a run, "emulated/prefill_mma_acc16", may consist of the compiled
// kernel `compiled`, "prefill_mma<BFloat16, 64>". The variants of a source begin with its name.
bool is_made_of(const std::string& kernel, const std::string& compiled) {
  const std::size_t slash = kernel.find('/');
  const std::string provider = kernel.substr(0, slash), name = kernel.substr(slash + 1);
  if (provider != "cuda" && provider != "emulated") return false;
  const std::string function = compiled.substr(0, compiled.find('<'));
  return function.starts_with(name) || name.starts_with(function);
}

// Returns the rows to list with a run: its own kernels, and those with a remark (`why`).
ResourceComparison listed_with_run(const ResourceOptions& options, ResourceComparison comparison) {
  auto database = need(Store::open(options.database, true));
  const auto run = need(database->resolve_run(options.run));
  const auto outcomes = need(database->outcomes(run));
  std::set<std::string> kernels;
  for (const StoredOutcome& stored : outcomes) kernels.insert(stored.outcome.c.kernel);
  std::erase_if(comparison.rows, [&](const JudgedResources& row) {
    return row.why.empty() && std::ranges::none_of(kernels, [&](const auto& kernel) {
             return is_made_of(kernel, row.kernel);
           });
  });
  return comparison;
}

std::string as_text(const ResourceComparison& comparison, const Style& style) {
  std::string text = render_resources(comparison, style);
  if (!occupancy_is_known())
    text += "occupancy is unknown: this plumbline was built without cuda_occupancy.h\n";
  if (exit_code_of(comparison) != exit_fine) {
    text += fmt::format(
        "to accept the figures: {} resources --accept --reason \"…\" (reviewed with the "
        "change)\n",
        program_name());
  }
  return text;
}

constexpr std::array resources_formats{
    Format<ResourceComparison>{"text", as_text},
    Format<ResourceComparison>{"markdown", unstyled<render_resources_markdown>},
    Format<ResourceComparison>{"json", nullptr, json_of_resources}};

// Returns an error for each architecture of --arch for which nothing was compiled.
Errors unknown_archs(const std::vector<std::string>& wanted,
                     const std::vector<CompiledSource>& compiled) {
  std::set<std::string> there;
  for (const CompiledSource& source : compiled) {
    for (const Resources& kernel : source.kernels) there.insert(kernel.usage.arch);
  }
  const std::vector<std::string_view> known(there.begin(), there.end());
  Errors errors;
  for (const std::string& arch : wanted) {
    if (there.contains(arch)) continue;
    errors.push_back(
        {"", 0, fmt::format("--arch {}: no kernel was compiled for it", arch),
         fmt::format("{}there are {}", did_you_mean(arch, known), fmt::join(known, ", "))});
  }
  return errors;
}

Errors usage_errors(const ResourceOptions& options) {
  Errors errors;
  if (options.accept && options.reason.empty()) {
    errors.push_back({"", 0, "--accept needs --reason", "say why the new figures are right"});
  }
  if (options.accept && options.who.empty())
    errors.push_back({"", 0, "no user name: $USER is empty", "add --who NAME"});
  if (options.of_run && options.run.empty())
    errors.push_back({"", 0, "--of-run needs a run", "name it with --run"});
  if (!options.run.empty() && options.database.empty())
    errors.push_back({"", 0, "--run needs a database", "name it with --db"});
  if (!options.reports.empty() && !fs::is_directory(options.reports)) {
    errors.push_back({options.reports.string(), 0, "is not a folder",
                      "--reports names the folder with NAME.ptxas.txt"});
  }
  return errors;
}

int resources(const ResourceOptions& options) {
  end_on_errors(usage_errors(options), exit_usage);
  const fs::path reports =
      options.reports.empty() ? library_directory() / "resources" : options.reports;
  const fs::path baseline =
      options.baseline.empty() ? home_directory() / "baselines" / "resources" : options.baseline;
  const auto compiled = need(read_resources(reports));
  if (compiled.empty()) return nothing_compiled(reports);
  const auto approved = need(read_approved(baseline), exit_usage);

  end_on_errors(unknown_archs(options.archs, compiled), exit_usage);
  const ResourceComparison comparison =
      compare_resources(compiled, approved, options.archs, options.strict);
  const int code = exit_code_of(comparison);
  if (!options.database.empty()) store(options, comparison, code);
  if (options.accept) return accept(options, baseline, compiled, approved);
  if (options.of_run) {
    const auto listed = listed_with_run(options, comparison);
    // Markdown is for summaries, which leave out an empty table.
    if (!listed.rows.empty() || options.format != "markdown")
      write_as(resources_formats, options.format, listed);
    return code;
  }
  write_as(resources_formats, options.format, comparison);
  return code;
}

}  // namespace

void add_resources(Command app, int& exit_code) {
  auto [command, options] = add_verb(
      app, exit_code, resources, "resources",
      "Registers, spills, shared memory and occupancy of the compiled CUDA kernels; no GPU needed");
  options.who = environment_text("USER");
  command.add_option("--reports", options.reports, "DIR",
                     "Folder of NAME.ptxas.txt and NAME.launch.toml (default: this build's)");
  command.add_option("--baseline", options.baseline, "DIR",
                     "Folder of the approved figures (default: plumbline's baselines/resources)");
  command.add_option("--arch", options.archs,
                     "Only this architecture, for example sm_90a; repeat for more");
  command.add_flag("--strict", options.strict,
                   "Also compare figures if the approved ones are of another toolkit");
  command.add_flag("--accept", options.accept, "Write what was compiled as the approved figures")
      .excludes("--arch");
  command.add_option("--reason", options.reason, "Why the new figures are right");
  command.add_option("--who", options.who, "Name of the person who accepts (default: $USER)");
  command.add_option("--db", options.database, "FILE",
                     "Store the figures in this database of runs");
  command.add_option("--run", options.run,
                     "Store the figures in this run (id, unique prefix, latest), not in a new one");
  command.add_flag("--of-run", options.of_run,
                   "List only the bundled CUDA kernels that the run of --run has, and those with "
                   "a remark; all are judged and stored");
  add_format(command, options.format, resources_formats);
  command.footer(
      "Examples:\n  plumbline resources\n  plumbline resources --arch sm_90a --db runs.db\n"
      "  plumbline resources --accept --reason 'two stages instead of three, reviewed in #12'\n"
      "Exit codes: 1 something got worse or is missing, 4 nothing was compiled, 6 figures of "
      "another toolkit differ.");
}

}  // namespace plumbline::cli
