// Compiled resources against the approved ones: what got worse. Rules: docs/resources.md.
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
  improved,        // something is less, nothing is worse
  changed,         // other figures, none of them worse: more registers at the same occupancy
  first_seen,      // no approved figures
  regressed,       // something is worse
  missing,         // approved, but not compiled
  not_comparable,  // other figures, by another toolkit than the approved ones
};
template <>
inline constexpr std::array<std::string_view, 7> names_of<ResourceVerdict>{
    "pass", "improved", "changed", "first_seen", "regressed", "missing", "not comparable"};
// As people read it: "first seen" for first_seen, else its name.
std::string_view in_words(ResourceVerdict verdict);

struct JudgedResources {
  std::string source, toolkit;  // as compiled; as approved where it is missing
  std::string kernel, launch, arch;
  std::optional<Resources> now = {};               // absent where missing
  std::optional<ApprovedResources> approved = {};  // absent where first seen
  ResourceVerdict verdict = ResourceVerdict::first_seen;
  std::string why =
      {};  // "spills 24 bytes (0 approved); 182 registers (128 approved)"; "" for pass
};

struct ResourceComparison {
  std::vector<JudgedResources> rows;
  // sentences: another toolkit; an approved source of which there is no report
  std::vector<std::string> notes;
};

// Registers are handed out to a warp in units of 256 (cuda_occupancy.h), 8 a thread: where no
// occupancy is known, more registers than that beyond the approved ones are worse.
inline constexpr int register_slack = 8;

// Sources are matched by name. Figures by another toolkit are not comparable unless `strict`.
// `archs`: only these; empty is all.
ResourceComparison compare_resources(const std::vector<CompiledSource>& compiled,
                                     const std::vector<ApprovedSource>& approved,
                                     const std::vector<std::string>& archs, bool strict);

// One row: pass, improved, changed or regressed, and why.
std::pair<ResourceVerdict, std::string> judge_resources(const ApprovedResources& now,
                                                        const ApprovedResources& approved);

}  // namespace plumbline
