// The small fp32 inputs beside Q, K and V: fp8 scales, ALiBi slopes, attention sinks. Drawn like
// them (inputs.h): the same bits on every machine.
#pragma once

#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

// Empty where the problem has none. A sample's or a head's value depends on its index and the seed
// only, never on how many there are (standard slopes excepted, whose law is of the number of
// heads).
struct SideInputs {
  // [batch, heads_kv] of fp8 K and V: the number is scale * stored
  std::vector<float> k_scale, v_scale;
  std::vector<float> alibi_slopes;  // [heads_q]
  std::vector<float> sinks;         // [heads_q] logits in natural units
  bool operator==(const SideInputs&) const = default;
};

SideInputs side_inputs(const Problem& problem);

}  // namespace plumbline
