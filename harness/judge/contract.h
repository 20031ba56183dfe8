// Contracts: the limits, spec, padding policy and promises that a kernel must keep, as reviewed text; and the support table.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/outcome.h"
#include "harness/problem/config.h"

namespace plumbline {

struct Limits {
  double peak = 6.5;
  double beyond_output = 6.5;
  double rms = 1.35;
  double lse = 6;
  double suite = 3.5;  // shrink and temperature, summed over a suite
  bool suite_judged = true;
  bool operator==(const Limits&) const = default;
};
// JUDGING.md's table for a spec and problem, including growth of peak's limit beyond 1e7 elements.
Limits default_limits(const RoundingSpec& spec, const Problem& problem, std::int64_t elements);

struct Contract {
  std::string kernel;  // glob
  std::string reason;
  std::optional<PaddingPolicy> padding_policy;
  // Spec fields pinned; the others are the strict default. "input" as a dtype stands for the dtype of Q, so one contract serves all.
  std::vector<std::pair<std::string, std::string>> spec_fields;
  std::optional<double> peak, beyond_output, rms, lse;
  Promises promises;
  std::string file;
  int line = 0;
};

class Contracts {
 public:
  // contracts.toml; see baselines/contracts.toml for the format. All semantic errors at once.
  static Result<Contracts> read(const std::filesystem::path& path);
  // The first contract whose glob matches, or nullptr: strict default.
  const Contract* find(std::string_view kernel) const;
  // The spec outputs of `kernel` are judged by: strict, with the contract's fields.
  RoundingSpec pinned_spec(std::string_view kernel, const Problem& problem) const;
  Limits limits(std::string_view kernel, const Problem& problem, std::int64_t elements) const;

  std::vector<Contract> contracts;
};

// baselines/support.toml: what each kernel is known not to take.
//   [[unsupported]]
//   kernel = "cpu/flash"
//   where = { dtype = ["fp32"] }       # problem fields; all must match; a list means any of
//   reason = "…"
class SupportTable {
 public:
  static Result<SupportTable> read(const std::filesystem::path& path);
  // The reason if the table says unsupported, else nullopt.
  std::optional<std::string> unsupported(std::string_view kernel, const Problem& problem) const;

  struct Entry {
    std::string kernel;
    std::vector<std::pair<std::string, std::vector<std::string>>> where;
    std::string reason;
    std::string file;
    int line = 0;
  };
  std::vector<Entry> entries;
};

}  // namespace plumbline
