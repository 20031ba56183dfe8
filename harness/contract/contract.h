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
#include "harness/contract/place.h"
#include "harness/problem/rounding_spec.h"
#include "harness/provider/promises.h"

namespace plumbline {

struct Contract {
  std::vector<std::string> kernels;  // globs; any may match
  std::vector<std::string> devices;  // globs of devices it holds for ("cuda:*"); empty = all
  // architectures it holds for ("sm_90"); empty = all, and where none is known
  std::vector<std::string> archs;
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
  PerStatistic<std::optional<double>> limits;
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

}  // namespace plumbline
