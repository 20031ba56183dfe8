// The support table: problems that kernels are known to refuse. It is reviewed text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/contract/run_target.h"

namespace plumbline {

struct Problem;

// baselines/support.toml: the problems that each kernel is known to refuse.
//   [[unsupported]]
//   kernel = "cpu/flash"               # a glob, or a list of them
//   where = { dtype = ["fp32"] }       # problem fields, `square` and `group`; all must match; a
//                                      # list means any of its values, { not = […] } none of them
//   device = "cuda:*"                  # optional: globs of devices; all if missing
//   arch = ["sm_80"]                   # optional: architectures; all if missing
//   reason = "…"
class SupportTable {
 public:
  static Result<SupportTable> read(const std::filesystem::path& path);
  // Returns the reason if the table lists the problem as unsupported, otherwise nullopt.
  std::optional<std::string> unsupported(std::string_view kernel, const Problem& problem,
                                         const RunTarget& place = {}) const;
  // Returns true if an entry concerns the kernel at this place.
  bool covers(std::string_view kernel, const RunTarget& place = {}) const;

  struct Condition {
    std::string field;  // a problem's field, `square` or `group`
    std::vector<std::string> values;
    bool is_negated = false;
    bool operator==(const Condition&) const = default;
  };
  struct Entry {
    // globs, globs, names; empty devices or archs = all
    std::vector<std::string> kernels, devices, archs;
    std::vector<Condition> where;
    std::string reason;
    std::string file;
    int line = 0;
  };
  std::vector<Entry> entries;
  // Returns the first entry that lists the problem as unsupported, otherwise nullptr.
  const Entry* entry_for(std::string_view kernel, const Problem& problem,
                         const RunTarget& place = {}) const;
};

}  // namespace plumbline
