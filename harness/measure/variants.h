// The calls of an invariance: each asks for a case's rows in another way.
// docs/judging-comparisons.md, "Invariances", lists them.
//
// A call has a geometry of its own and takes its values from the case: what is valid is copied row
// by row, so that a transformed call never needs a law of its own. Rows that stand for no row of
// the case (neighbours, padding) get other values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/outcome/invariance.h"
#include "harness/problem/geometry.h"

namespace plumbline {

// Where the rows of one sample of a call come from.
struct SampleSource {
  // of the case; -1: a neighbour, which no row of the case is compared with
  std::int64_t sample = -1;
  std::int64_t first_row = 0;  // of that sample's valid query rows. Key k is always key k
  bool nan = false;            // a neighbour of NaN instead of other finite values
};

struct VariantCall {
  std::string words;  // "sample 2 alone"
  std::shared_ptr<const Geometry> geometry;
  std::vector<SampleSource> samples;  // one a sample of the geometry
  // made first, in the same process; its results are not looked at
  std::shared_ptr<const VariantCall> before;
  bool own_process = false;     // a worker that has run nothing else
  std::string provider_option;  // "splits=3", behind the provider's own
  int workspace_byte = 0xFF;
  bool threads_reversed = false;  // of an emulated device
};

struct Variants {
  std::vector<VariantCall> calls;
  std::string missing;  // why there is nothing to transform; "" where there are calls
};

// The case as it is.
VariantCall own_call(const Geometry& geometry);

// `split_option` is the provider option that sets the number of KV splits; "" = there is none.
Variants variants(Invariance invariance, const Geometry& geometry, const std::string& split_option);

}  // namespace plumbline
