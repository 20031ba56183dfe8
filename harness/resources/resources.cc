// Reads the reports and launch facts of all compiled sources, and finds each kernel's launches.
#include "harness/resources/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/base/glob.h"
#include "harness/resources/files.h"

namespace plumbline {
namespace {

constexpr std::string_view report_ending = ".ptxas.txt";

Resources with_facts(const KernelUsage& usage, const LaunchFacts& facts) {
  Resources row{usage, facts.name, facts, std::nullopt, std::nullopt};
  if (usage.registers >= 0) {
    row.occupancy =
        theoretical_occupancy(usage.arch, {usage.registers, facts.threads, usage.shared_bytes,
                                           facts.dynamic_shared_bytes, usage.barriers});
  }
  if (facts.tiles) row.prediction = predict(*facts.tiles, facts.threads);
  return row;
}

Result<CompiledSource> read_source(const std::filesystem::path& directory,
                                   const std::string& name) {
  auto report = read_ptxas_report(directory / (name + std::string(report_ending)));
  if (!report) return tl::unexpected(report.error());
  const auto launch_file = directory / (name + ".launch.toml");
  std::vector<LaunchFacts> launches;
  if (std::filesystem::exists(launch_file)) {
    auto read = read_launch_facts(launch_file);
    if (!read) return tl::unexpected(read.error());
    launches = std::move(*read);
  }
  auto rows = join(report->kernels, launches, launch_file.string());
  if (!rows) return tl::unexpected(rows.error());
  return CompiledSource{name, report->source, report->toolkit, std::move(*rows)};
}

}  // namespace

Result<std::vector<Resources>> join(const std::vector<KernelUsage>& usages,
                                    const std::vector<LaunchFacts>& launches,
                                    const std::string& file) {
  Errors errors;
  std::vector<Resources> rows;
  std::set<const LaunchFacts*> used;
  std::set<std::string> complained;
  for (const KernelUsage& usage : usages) {
    std::set<std::string> names;
    for (const LaunchFacts& facts : launches) {
      if (!glob_match(facts.kernel, usage.kernel)) continue;
      used.insert(&facts);
      if (!names.insert(facts.name).second && complained.insert(usage.kernel).second) {
        errors.push_back({file, 0,
                          fmt::format("two [[launch]] tables named \"{}\" match kernel {}",
                                      facts.name, usage.kernel),
                          "give them different names, or globs that match different kernels"});
      }
      rows.push_back(with_facts(usage, facts));
    }
    if (names.empty()) rows.push_back({usage, "", std::nullopt, std::nullopt, std::nullopt});
  }
  for (const LaunchFacts& facts : launches) {
    if (!used.contains(&facts)) {
      errors.push_back(
          {file, 0,
           fmt::format("[[launch]] kernel = \"{}\" matches no kernel that was compiled",
                       facts.kernel),
           "correct the glob; without this file, `plumbline resources` lists the kernels"});
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  const auto order = [](const Resources& row) {
    return std::tuple(row.usage.kernel,
                      row.facts && row.facts->tiles ? row.facts->tiles->head_dim_qk : 0,
                      row.facts ? row.facts->dynamic_shared_bytes : 0, row.launch,
                      arch_number(row.usage.arch), row.usage.arch);
  };
  std::sort(rows.begin(), rows.end(),
            [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return rows;
}

Result<std::vector<CompiledSource>> read_resources(const std::filesystem::path& directory) {
  return read_all<CompiledSource>(directory, report_ending, [&](const std::string& name) {
    return read_source(directory, name);
  });
}

}  // namespace plumbline
