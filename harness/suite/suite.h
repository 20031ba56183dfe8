// Suites: TOML files that state which cases are run and why, and their expansion.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/config.h"
#include "harness/base/glob.h"
#include "harness/problem/problem.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {

enum class Tier { smoke = 0, pr = 1, nightly = 2, full = 3 };

// A case as stated in a suite, before kernels are known. `kernel_pattern` is a glob such as
// "cpu/flash" or "cpu/*".
struct SuiteCase {
  std::string suite;  // name of the suite
  std::string group;  // name of the group
  std::string reason;
  Tier tier = Tier::smoke;
  std::string kernel_pattern;
  std::string device = "cpu";
  // on, off, none: keeps kernels that state one of these modes; empty = any
  std::vector<std::string> tensor_cores;
  Problem problem;
  bool timed = false;
  std::string file;  // file of the group
  int line = 0;      // line of the group or the diff
  // Line of the pattern in `kernels`, or of a diff's `kernel`. 0 if use_kernels() replaced the
  // pattern.
  int kernel_line = 0;
  // Entries that may cover the case, in file order. The first that covers the kernel applies.
  std::vector<std::shared_ptr<const FailureRule>> failures;
};

// The difference that a diff allows between two cases, compared row by row. Rows correspond by
// (sample, head, position from the end of the sample's queries). So the last row of a prefill
// corresponds to the one row of a decode.
enum class DiffExpect {
  // |a - b| must be explained by the two sigmas, within the limit of the peak
  // (docs/judging-comparisons.md, "Two cases").
  rounding,
  bitwise,  // must be equal
  report,   // printed and stored, never judged (for example fp32 compared with the cast to bf16)
};
struct SuiteDiff {
  std::string suite;
  std::string name;
  std::string reason;
  Tier tier = Tier::smoke;
  SuiteCase a, b;
  DiffExpect expect = DiffExpect::rounding;
  std::string file;
  int line = 0;
};

struct Suite {
  std::string name;
  std::string description;
  // expanded, in file order, without duplicates (equal kernel pattern, device, tensor_cores and
  // problem)
  std::vector<SuiteCase> cases;
  std::vector<SuiteDiff> diffs;
  std::vector<std::string> files;  // the suite file and everything it includes
  bool redirected = false;         // other kernels or devices replaced those in the files
};

// Reads and expands a suite with its includes. Returns all semantic errors of all files at once,
// each with file, line and remedy: unknown keys, bad values, zipped lists of unequal length,
// missing reason, invalid problems, include cycles, a group that expands to nothing, a listed value
// that no case has, an expected failure that no case can have.
//
// Order: kernels, devices, then product (its last field fastest), zip, pairwise. Fields are in the
// order of field_names(), not of the file. Fields of `defaults` are set first, then the fields of
// set, product, zip and pairwise in the order of field_names(). So set = { heads_kv = 2 } narrows
// product = { heads = [4, 8] }. Invalid combinations within pairwise are skipped; elsewhere they
// are errors unless excluded. A repeated case is dropped, but if it is timed or has a lower tier,
// the first one becomes timed or gets that tier.
//
//   schema = 1
//   name = "smoke"                       description = "…"
//   include = ["../models/llama3.toml"]  # relative to this file; the included groups and diffs
//                                        # are unchanged and keep the suite name of their file
//   defaults = { seed = 1 }              # problem fields for every group and diff of this file
//
//   [[group]]
//   name = "causal"
//   reason = "why this group exists"
//   tier = "smoke"                       # default: the file's top-level `tier`, or "smoke"
//   kernels = ["cpu/flash", "cpu/*"]
//   devices = ["cpu"]                    # optional
//   arch = ["sm_80", "sm_90"]            # instead of devices: short for ["emulated:sm_80",
//                                        # "emulated:sm_90"]; see harness/problem/arch.h
//   tensor_cores = ["on", "off"]         # keeps matching kernels that state on, off or none;
//                                        # absent: all of them
//   timed = false
//   set = { heads = 4 }                  # single values
//   # every combination of the values:
//   product = { dtype = ["fp16", "bf16"], seq = [64, 128] }
//   # lists of equal length, advanced together:
//   zip = { seq_q = [1, 16], seq_kv = [512, 300] }
//   # every pair of values at least once, few cases, deterministic:
//   pairwise = { mask = ["none", "causal_top_left"], lengths = [...] }
//   # drops cases that match all fields of one table. A list means any of its values, and `kernel`
//   # is a glob over an entry of kernels:
//   exclude = [{ dtype = "fp32", layout = "ragged" }]
//
//   [[diff]]
//   name = "…"  reason = "…"  tier = "smoke"  expect = "rounding"
//   set = {…}  product = {…}  zip = {…}  # the common problem, expanded as in a group
//   timed = false                        # true: both sides are timed, and the ratio is reported
//   # kernel (no glob), device or arch, tensor_cores, and the fields that differ:
//   a = { kernel = "cpu/flash", seq_q = 512 }
//   b = { kernel = "cpu/split_kv", seq_q = 1 }
//
//   [[expect_failure]]                   # cases of this file and its includes that are known to
//                                        # fail, and sides of diffs
//   reason = "why it fails"
//   issue = "https://…"                  # where the failure is tracked
//   expires = 2027-01-31                 # the failure counts again from this day on (UTC); may be
//                                        # a text
//   kernels = ["cpu/flash"]              # globs
//   groups = ["causal"]                  # optional: groups and diffs of these names
//   match = { dtype = ["fp16", "bf16"], seq_kv = 65 }   # optional: cases that have one of the
//                                                       # values of each field
//   devices = ["cpu"]                    # optional, or arch; absent: all of them. If two entries
//                                        # cover a case, the first applies; those of included files
//                                        # come first
Result<Suite> read_suite(const std::filesystem::path& path);

struct CaseFilter {
  // globs over the case id, with or without its suite and group: "*bf16*"; one must match; empty =
  // all
  std::vector<std::string> match;
  std::vector<std::string> exclude;  // any match drops the case
  std::optional<Tier> tier;          // keeps cases of this and lower tiers
  int shard = 1, shards = 1;         // 1-based
};
// Return true if the filter keeps cases of a tier, and cases with the names `texts`, such as the
// case id and "suite/group/" + case id.
bool selects_tier(const CaseFilter& filter, Tier tier);
bool selects_name(const CaseFilter& filter, const std::vector<std::string>& texts);

}  // namespace plumbline
