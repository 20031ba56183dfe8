// Contracts: the limits, roundings, padding policy and promises that a kernel must keep. They are
// reviewed text, and so is the table of what kernels do not support.
#pragma once

#include <filesystem>
#include <optional>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/config.h"
#include "harness/outcome/outcome.h"

namespace plumbline {

// The only place that decides an element or a statistic: false when `value` is NaN.
inline bool within(double value, double limit) { return value <= limit; }

struct Limits {
  double peak = 6.5;
  double beyond_output = 6.5;
  double rms = 1.35;
  double lse = 6;
  double suite = 3.5;  // shrink and temperature, summed over a suite
  bool suite_judged = true;
  bool operator==(const Limits&) const = default;
};
// The table of docs/judging.md for a spec and problem, including growth of the maxima's limits
// (peak, beyond_output) beyond 1e7 elements.
Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements);
// sqrt(limit^2 + 2 ln(elements / 1e7)) beyond 1e7 elements, else `limit`: the false-alarm rate of a
// maximum then stays where it was.
double grown_limit(double limit, std::int64_t elements);
// Whether shrink and temperature of a case count in a suite's sum, as far as its problem says: no
// law with tied logits or constant V. (default_limits().suite_judged says what the spec has to say;
// the number of rows is for judge_suites.)
bool has_tie_law(const Problem& problem);

// Where a case ran.
struct Place {
  // "cpu", "cuda:0", "emulated:sm_90"; "" = not said: nothing that is bound to a device holds
  std::string device;
  std::string
      arch;  // "sm_90"; "" = a CPU, or not known: nothing that is bound to an architecture holds
};
Place place_of(const Outcome& outcome);

struct Contract {
  std::vector<std::string> kernels;  // globs; any may match
  std::vector<std::string> devices;  // globs of devices it holds for ("cuda:*"); empty = all
  std::vector<std::string>
      archs;  // architectures it holds for ("sm_90"); empty = all, and where none is known
  std::string reason;
  // where it can be seen that the kernel needs what loosens its limits; "" unless it pins such a
  // thing
  std::string proof;
  std::optional<PaddingPolicy> padding_policy;
  // Spec fields pinned; the others are the strict default. Texts as harness/contract/spec_fields.h
  // has them: "input" as a dtype stands for the dtype of Q and "output" for that of the output, so
  // one contract serves all.
  std::vector<std::pair<std::string, std::string>> spec_fields;
  // Limits up to 1e7 elements; without a proof they only tighten the default.
  std::optional<double> peak, beyond_output, rms, lse;
  Promises promises;
  // provider option that sets the number of KV splits, "splits"; "" = none is known
  std::string split_option = "";
  std::string file;
  int line = 0;
};

class Contracts {
 public:
  // contracts.toml; see baselines/contracts.toml for the format. All semantic errors at once.
  static Result<Contracts> read(const std::filesystem::path& path);
  // The first contract whose kernels, devices and architectures match, or nullptr: strict default.
  const Contract* find(std::string_view kernel, const Place& place = {}) const;
  // The spec that outputs of `kernel` are judged by: strict, with the contract's fields.
  // "tensor_core" accumulators are those of the place's architecture.
  RoundingSpec pinned_spec(std::string_view kernel, const Problem& problem,
                           const Place& place = {}) const;
  Limits limits(std::string_view kernel, const Problem& problem, std::int64_t elements,
                const Place& place = {}) const;

  std::vector<Contract> contracts;
};

// baselines/support.toml: what each kernel is known not to take.
//   [[unsupported]]
//   kernel = "cpu/flash"               # a glob, or a list of them
//   where = { dtype = ["fp32"] }       # problem fields; all must match; a list means any of, { not
//                                      = […] } none of
//   device = "cuda:*"                  # optional: globs of devices it is said of; arch = ["sm_80"]
//                                      likewise
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
    std::string field;
    std::vector<std::string> values;
    bool is_negated = false;
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
};

// The most rows, counted over samples and query heads, that a case whose scores count in a suite
// may have: beyond, rows that share keys share the error of P, which the scores' variance does not
// know (a legal kernel reached z = 15 at 2048 rows).
inline constexpr std::int64_t suite_score_rows = 150;

// What a run's verdicts rest on: contracts.toml and support.toml.
struct ReviewedText {
  Contracts contracts;
  SupportTable support;
};

}  // namespace plumbline
