// Compares registers, spills, shared memory and occupancy row by row, and describes what got worse.
#include "harness/resources/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace plumbline {
namespace {

struct Differences {
  std::vector<std::string> worse, better, other;

  void more_is_worse(std::int64_t now, std::int64_t approved, std::string_view what) {
    if (now == approved) return;
    (now > approved ? worse : better)
        .push_back(fmt::format("{} {} ({} approved)", now, what, approved));
  }
};

std::string percent_of_warps(int warps, const std::string& arch) {
  const auto limits = multiprocessor_limits(arch);
  return limits ? fmt::format("{:.3g} %", 100.0 * 32 * warps / limits->threads)
                : fmt::format("{} warps", warps);
}

void compare_occupancy(const ApprovedResources& now, const ApprovedResources& approved,
                       Differences& differences) {
  if (!now.warps || !approved.warps || *now.warps == *approved.warps) return;
  (*now.warps < *approved.warps ? differences.worse : differences.better)
      .push_back(fmt::format("occupancy {} ({} approved)", percent_of_warps(*now.warps, now.arch),
                             percent_of_warps(*approved.warps, now.arch)));
}

// Registers matter only through the occupancy that they allow. If the occupancy is known,
// compare_occupancy() decides.
void compare_registers(const ApprovedResources& now, const ApprovedResources& approved,
                       Differences& differences) {
  if (now.registers == approved.registers) return;
  const std::string text =
      fmt::format("{} registers ({} approved)", now.registers, approved.registers);
  const bool occupancy_known = now.warps && approved.warps;
  const bool occupancy_lower = occupancy_known && *now.warps < *approved.warps;
  const bool beyond_slack = now.registers > approved.registers + register_slack;
  if (beyond_slack && (occupancy_lower || !occupancy_known)) {
    differences.worse.push_back(text);
  } else {
    (now.registers < approved.registers ? differences.better : differences.other).push_back(text);
  }
}

bool same_row(const ApprovedResources& approved, const Resources& row) {
  return approved.kernel == row.usage.kernel && approved.launch == row.launch &&
         approved.arch == row.usage.arch;
}

class Comparison {
 public:
  Comparison(const std::vector<std::string>& archs, bool strict)
      : archs_(archs.begin(), archs.end()), strict_(strict) {}

  void add(const CompiledSource& compiled, const ApprovedSource* approved) {
    const bool other_toolkit = approved != nullptr && approved->toolkit != compiled.toolkit;
    if (other_toolkit) {
      result.notes.push_back(fmt::format("{} was compiled by {}, but approved with {}: {}",
                                         compiled.source, compiled.toolkit, approved->toolkit,
                                         strict_ ? "--strict compares the figures anyway"
                                                 : "figures that differ are not comparable"));
    }
    for (const Resources& row : compiled.kernels) {
      if (!selected(row.usage.arch)) continue;
      JudgedResources judged{compiled.source, compiled.toolkit, row.usage.kernel,
                             row.launch,      row.usage.arch,   row};
      judge(judged, approved, other_toolkit && !strict_);
      result.rows.push_back(std::move(judged));
    }
    if (approved != nullptr) add_missing(compiled, *approved, other_toolkit && !strict_);
  }

  void add_without_report(const ApprovedSource& approved) {
    result.notes.push_back(
        fmt::format("{} has approved figures, but there is no report {}.ptxas.txt: if the kernel "
                    "was removed, remove its approved figures, {}.toml",
                    approved.source, approved.name, approved.name));
    for (const ApprovedResources& row : approved.kernels)
      add_missing_row(approved, row, approved.toolkit, ResourceVerdict::missing);
  }

  ResourceComparison result;

 private:
  bool selected(const std::string& arch) const { return archs_.empty() || archs_.contains(arch); }

  static void judge(JudgedResources& judged, const ApprovedSource* approved, bool not_comparable) {
    const Resources& row = *judged.now;
    if (approved != nullptr) {
      const auto found = std::find_if(approved->kernels.begin(), approved->kernels.end(),
                                      [&](const auto& a) { return same_row(a, row); });
      if (found != approved->kernels.end()) judged.approved = *found;
    }
    if (!judged.approved) {
      judged.verdict = ResourceVerdict::first_seen;
      if (row.spill_bytes() > 0) judged.why = fmt::format("spills {} bytes", row.spill_bytes());
      return;
    }
    std::tie(judged.verdict, judged.why) = judge_resources(approved_form(row), *judged.approved);
    if (not_comparable && judged.verdict != ResourceVerdict::pass)
      judged.verdict = ResourceVerdict::not_comparable;
  }

  // With a different toolkit, a missing architecture is excused. A missing kernel of a compiled
  // architecture is not.
  void add_missing(const CompiledSource& compiled, const ApprovedSource& approved,
                   bool not_comparable) {
    std::set<std::string> compiled_archs;
    for (const Resources& row : compiled.kernels) compiled_archs.insert(row.usage.arch);
    for (const ApprovedResources& row : approved.kernels) {
      const bool there = std::any_of(compiled.kernels.begin(), compiled.kernels.end(),
                                     [&](const auto& now) { return same_row(row, now); });
      if (there) continue;
      const bool excused = not_comparable && !compiled_archs.contains(row.arch);
      add_missing_row(approved, row, compiled.toolkit,
                      excused ? ResourceVerdict::not_comparable : ResourceVerdict::missing);
    }
  }

  void add_missing_row(const ApprovedSource& approved, const ApprovedResources& row,
                       const std::string& toolkit, ResourceVerdict verdict) {
    if (!selected(row.arch)) return;
    result.rows.push_back({approved.source, toolkit, row.kernel, row.launch, row.arch, std::nullopt,
                           row, verdict, "approved, but not compiled"});
  }

  std::set<std::string> archs_;
  bool strict_;
};

}  // namespace

std::string_view in_words(ResourceVerdict verdict) {
  return verdict == ResourceVerdict::first_seen ? "first seen" : name(verdict);
}

std::pair<ResourceVerdict, std::string> judge_resources(const ApprovedResources& now,
                                                        const ApprovedResources& approved) {
  Differences differences;
  differences.more_is_worse(now.spill_bytes(), approved.spill_bytes(), "bytes spilled");
  differences.more_is_worse(now.stack_bytes, approved.stack_bytes, "bytes of stack");
  differences.more_is_worse(now.shared_bytes, approved.shared_bytes, "bytes of shared memory");
  compare_registers(now, approved, differences);
  compare_occupancy(now, approved, differences);
  for (const auto& [verdict, found] : {std::pair{ResourceVerdict::regressed, &differences.worse},
                                       {ResourceVerdict::changed, &differences.other},
                                       {ResourceVerdict::improved, &differences.better}}) {
    if (!found->empty()) return {verdict, fmt::format("{}", fmt::join(*found, "; "))};
  }
  return {ResourceVerdict::pass, ""};
}

ResourceComparison compare_resources(const std::vector<CompiledSource>& compiled,
                                     const std::vector<ApprovedSource>& approved,
                                     const std::vector<std::string>& archs, bool strict) {
  Comparison comparison(archs, strict);
  for (const CompiledSource& source : compiled) {
    const auto found = std::find_if(approved.begin(), approved.end(),
                                    [&](const auto& a) { return a.name == source.name; });
    comparison.add(source, found == approved.end() ? nullptr : &*found);
  }
  for (const ApprovedSource& source : approved) {
    const bool there = std::any_of(compiled.begin(), compiled.end(),
                                   [&](const auto& c) { return c.name == source.name; });
    if (!there) comparison.add_without_report(source);
  }
  return std::move(comparison.result);
}

}  // namespace plumbline
