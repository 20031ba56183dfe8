// Finds the key from which on K, V or both are read as zeros. Text for reports; no verdict depends
// on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/diagnose/failing_output.h"

namespace plumbline {

// A limit of an integer that an offset of K or V may exceed. Offsets count from the first key of
// the sample or of the tensor.
struct OffsetBound {
  double limit = 0;  // 2^31 or 2^32
  bool in_bytes = false, of_sample = true;

  // Returns the first key of the sample whose offset reaches the limit, or seq_kv if none does.
  // `of_v`: offsets of V, not of K. The layout must not be paged.
  std::int64_t key(const Geometry& geometry, bool of_v, std::int64_t sample,
                   std::int64_t head_kv) const;
  // Returns "key * stride passes 2^31 elements".
  std::string text() const;
};
std::vector<OffsetBound> offset_bounds();

// Returns "keys from 61 on are read from elsewhere: K is zero there, where key * stride passes 2^31
// elements" if this explains all informative rows; otherwise "". If no offset passes a limit at
// this key, the sentence lacks its last part.
std::string zeros_from_a_key(const FailingOutput& failing);

}  // namespace plumbline
