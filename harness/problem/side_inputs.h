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
  // Of fp8: the number is scale * stored. [batch, heads_q, blocks of seq_q], and [batch, heads_kv,
  // blocks of seq_kv], with one block where all tokens share a scale.
  std::vector<float> q_scale, k_scale, v_scale;
  std::vector<float> alibi_slopes;  // [heads_q]; of a dump also [batch, heads_q]
  std::vector<float> sinks;         // [heads_q] logits in natural units
  bool operator==(const SideInputs&) const = default;
};

SideInputs side_inputs(const Problem& problem);

// Blocks of a sequence of up to `seq` tokens that have a scale each; at least 1.
std::int64_t scale_blocks(const Problem& problem, std::int64_t seq);
// Where the scale of a token of Q, and of K and V, lies in those vectors.
std::size_t q_scale_at(const Problem& problem, std::int64_t sample, std::int64_t row,
                       std::int64_t head);
std::size_t kv_scale_at(const Problem& problem, std::int64_t sample, std::int64_t key,
                        std::int64_t head_kv);

}  // namespace plumbline
