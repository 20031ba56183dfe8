// Compares compiled resources with the approved ones. Rules: docs/resources.md.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/enumeration.h"
#include "harness/resources/approved.h"
#include "harness/resources/resources.h"

namespace plumbline {

enum class ResourceVerdict {
  pass,            // the same figures
  improved,        // something is better, nothing is worse
  changed,         // nothing is worse, for example more registers at the same occupancy
  first_seen,      // no approved figures
  regressed,       // something is worse
  missing,         // approved, but not compiled
  not_comparable,  // figures differ, and the toolkit is not the approved one
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<ResourceVerdict>{
    "pass", "improved", "changed", "first_seen", "regressed", "missing", "not comparable"};
// Returns the name for people: "first seen" for first_seen.
std::string_view in_words(ResourceVerdict verdict);

struct JudgedResources {
  std::string source, toolkit;  // as compiled; if missing, as approved
  std::string kernel, launch, arch;
  std::optional<Resources> now = {};               // unset if missing
  std::optional<ApprovedResources> approved = {};  // unset if first seen
  ResourceVerdict verdict = ResourceVerdict::first_seen;
  // "spills 24 bytes (0 approved); 182 registers (128 approved)"; "" for pass
  std::string why = {};
};

struct ResourceComparison {
  std::vector<JudgedResources> rows;
  // Sentences: a different toolkit, or an approved source without a report.
  std::vector<std::string> notes;
};

// Registers are allocated to a warp in units of 256 (cuda_occupancy.h), 8 per thread. If the
// occupancy is unknown, an increase by more than 8 counts as worse.
inline constexpr int register_slack = 8;

// Matches sources by name. Figures from a different toolkit are not comparable unless `strict`.
// Only `archs` are compared; empty = all.
ResourceComparison compare_resources(const std::vector<CompiledSource>& compiled,
                                     const std::vector<ApprovedSource>& approved,
                                     const std::vector<std::string>& archs, bool strict);

// Judges one row: pass, improved, changed or regressed, and why.
std::pair<ResourceVerdict, std::string> judge_resources(const ApprovedResources& now,
                                                        const ApprovedResources& approved);

}  // namespace plumbline
