// Faults that need no limit. All rows are checked, even if the reference samples rows; only
// `inexact` needs the reference.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/outcome/faults.h"
#include "harness/provider/promises.h"
#include "harness/reference/reference.h"

namespace plumbline {

// The smallest and largest v of each column over all keys of one (sample, key head). A sink counts
// as a key with v = 0. Empty samples without a sink have lowest > highest. V is rounded as a spec
// requires.
struct ValueRange {
  std::vector<float> lowest, highest;  // [batch * heads_kv * head_dim_vo]
};
ValueRange value_range(const Geometry& geometry, const void* v, InputRounding rounding = {});

struct FaultInputs {
  const Geometry* geometry = nullptr;
  OutputView outputs;
  const ValueRange* range = nullptr;
  const RoundingSpec* spec = nullptr;  // the spec that judges; its roundings widen the range
  // nullopt: padded rows are not checked
  std::optional<PaddingPolicy> policy = PaddingPolicy::zeros;
  const Reference* reference = nullptr;  // for rows whose inputs have an exact result
};
Faults find_faults(const FaultInputs& inputs);

}  // namespace plumbline
