// Faults that need no limit, looked for on all elements, also where the reference samples rows.
#pragma once

#include <optional>
#include <vector>

#include "harness/compare/outputs.h"
#include "harness/outcome/faults.h"
#include "harness/provider/promises.h"
#include "harness/reference/reference.h"

namespace plumbline {

// Smallest and largest v of each column over all keys of one (sample, key head), and over the 0 of
// a sink; else empty samples have lowest > highest. V is what the products of a spec with this
// kv_dequantized_to see.
struct ValueRange {
  std::vector<float> lowest, highest;  // [batch * heads_kv * head_dim_vo]
};
ValueRange value_range(const Geometry& geometry, const void* v,
                       DType kv_dequantized_to = DType::none);

struct FaultInputs {
  const Geometry* geometry = nullptr;
  OutputView outputs;
  const ValueRange* range = nullptr;
  const RoundingSpec* spec = nullptr;  // the one judged by: gives the range its rounding
  // nullopt: padded rows are not looked at
  std::optional<PaddingPolicy> policy = PaddingPolicy::zeros;
  const Reference* reference = nullptr;  // for rows on which the law demands equality
};
Faults find_faults(const FaultInputs& inputs);

}  // namespace plumbline
