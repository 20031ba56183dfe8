// Contracts: the limits, roundings, padding policy and promises that a kernel must keep. They are
// reviewed text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/contract/limits.h"
#include "harness/contract/run_target.h"
#include "harness/problem/rounding_spec.h"
#include "harness/provider/promises.h"

namespace plumbline {

struct Contract {
  std::vector<std::string> kernels;  // globs; any may match
  std::vector<std::string> devices;  // globs of its devices ("cuda:*"); empty = all
  // architectures it applies to ("sm_90"); empty = all, even an unknown one
  std::vector<std::string> archs;
  std::vector<std::string> dtypes = {};  // names of the dtypes of Q it applies to; empty = all
  std::string reason;
  // the source line or document that shows why the kernel needs looser limits; "" if it does not
  std::string proof;
  std::optional<PaddingPolicy> padding_policy;
  // Pinned spec fields with their texts (harness/contract/spec_fields.h); the others are the strict
  // default. "input" stands for the dtype of Q and "output" for the output's, so one contract
  // serves all dtypes.
  std::vector<std::pair<std::string, std::string>> spec_fields;
  // Limits for up to 1e7 elements. Without a proof they only tighten the default.
  PerStatistic<std::optional<double>> limits;
  Promises promises;
  // provider option that sets the number of KV splits, "splits"; "" = unknown
  std::string split_option = "";
  std::string file;
  int line = 0;
};

class Contracts {
 public:
  // Reads contracts.toml; baselines/contracts.toml documents the format. Returns all semantic
  // errors at once.
  static Result<Contracts> read(const std::filesystem::path& path);
  // Returns the first contract whose kernels, devices, architectures and dtypes match, or nullptr:
  // strict default. Every contract's dtypes match `none`.
  const Contract* find(std::string_view kernel, const RunTarget& place = {},
                       DType dtype = DType::none) const;
  // Returns the spec by which outputs of `kernel` are judged: strict, with the contract's fields.
  // "tensor_core" accumulators, and the default accumulators for fp8 Q, are those of the place's
  // architecture.
  RoundingSpec pinned_spec(std::string_view kernel, const Problem& problem,
                           const RunTarget& place = {}) const;
  Limits limits(std::string_view kernel, const Problem& problem, std::int64_t elements,
                const RunTarget& place = {}) const;

  std::vector<Contract> contracts;
};

}  // namespace plumbline
