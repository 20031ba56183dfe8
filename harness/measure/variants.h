// The calls of an invariance: each computes a case's rows in a different way.
// docs/judging-comparisons.md, "Invariances", lists them.
//
// A call has its own geometry. Valid values are copied row by row from the case, so a transformed
// call needs no input distribution of its own. Rows that match no row of the case (neighbours,
// padding) get other values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/outcome/invariance.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// The source of one sample's rows in a call.
struct SampleSource {
  // Sample of the case; -1: a neighbour, which is not compared.
  std::int64_t sample = -1;
  // The first valid query row that the call takes. Keys keep their index.
  std::int64_t first_row = 0;
  bool nan = false;  // a neighbour filled with NaN instead of finite values
};

struct VariantCall {
  std::string words;  // "sample 2 alone"
  std::shared_ptr<const Geometry> geometry;
  std::vector<SampleSource> samples;  // one for each sample of the geometry
  // Made first, in the same process; its outputs are ignored.
  std::shared_ptr<const VariantCall> before;
  bool own_process = false;     // needs a fresh worker
  std::string provider_option;  // "splits=3", added to the provider's own
  int workspace_byte = 0xFF;
  bool threads_reversed = false;  // only on an emulated device
  // Byte that fills K and V of the keys that no row of their sample sees.
  std::optional<int> hidden_byte = std::nullopt;
};

struct Variants {
  std::vector<VariantCall> calls;
  std::string missing;  // why no call can be built; "" if there are calls
};

// Returns the untransformed call of the case.
VariantCall own_call(const Geometry& geometry);

// Returns, for each key of a sample, true if a row of the sample sees the key.
std::vector<bool> seen_keys(const Geometry& geometry, std::int64_t sample);

// `split_option` is the provider option that sets the number of KV splits; "" = there is none.
Variants variants(Invariance invariance, const Geometry& geometry, const std::string& split_option);

}  // namespace plumbline
