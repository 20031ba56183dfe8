// Finds the key from which on K, V or both are read as zeros. Text for reports; no verdict depends
// on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// A way in which an offset of K or V may exceed an integer, and the first key beyond it. Offsets
// count from the sample's first key, or from the tensor's.
struct OffsetBound {
  double limit = 0;  // 2^31 or 2^32
  bool in_bytes = false, of_sample = true;

  // Returns the first key of the sample whose offset reaches the limit, or seq_kv if none does.
  // `of_v`: that of V. The layout must not be paged.
  std::int64_t key(const Geometry& geometry, bool of_v, std::int64_t sample,
                   std::int64_t head_kv) const;
  // Returns "key * stride passes 2^31 elements".
  std::string text() const;
};
std::vector<OffsetBound> offset_bounds();

// Returns "keys from 61 on are read from elsewhere: K is zero there, where key * stride passes 2^31
// elements", without the last part for another bound, if this explains all informative rows;
// otherwise "".
std::string zeros_from_a_key(const FailingOutput& failing);

}  // namespace plumbline
