// The support table: what kernels are known not to take. It is reviewed text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/contract/place.h"

namespace plumbline {

struct Problem;

// baselines/support.toml: what each kernel is known not to take.
//   [[unsupported]]
//   kernel = "cpu/flash"               # a glob, or a list of them
//   where = { dtype = ["fp32"] }       # problem fields, `square` and `group`; all must match; a
//                                      # list means any of, { not = […] } none of
//   device = "cuda:*"                  # optional: globs of devices it is said of;
//                                      # arch = ["sm_80"] likewise
//   reason = "…"
class SupportTable {
 public:
  static Result<SupportTable> read(const std::filesystem::path& path);
  // The reason if the table says unsupported, else nullopt.
  std::optional<std::string> unsupported(std::string_view kernel, const Problem& problem,
                                         const Place& place = {}) const;
  // Whether any entry concerns the kernel there.
  bool covers(std::string_view kernel, const Place& place = {}) const;

  struct Condition {
    std::string field;  // of a problem, or square or group
    std::vector<std::string> values;
    bool is_negated = false;
    bool operator==(const Condition&) const = default;
  };
  struct Entry {
    // globs, globs, names; of the last two empty = all
    std::vector<std::string> kernels, devices, archs;
    std::vector<Condition> where;
    std::string reason;
    std::string file;
    int line = 0;
  };
  std::vector<Entry> entries;
  // The first entry that says unsupported, else nullptr.
  const Entry* entry_for(std::string_view kernel, const Problem& problem,
                         const Place& place = {}) const;
};

}  // namespace plumbline
