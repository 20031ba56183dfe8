// The small fp32 inputs besides Q, K and V: fp8 scales, ALiBi slopes, attention sinks. All have the
// same bits on every machine, as in inputs.h.
#pragma once

#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

// A vector is empty if the problem has no such input. The value of a sample or head depends only on
// its index and the seed, never on the number of samples or heads. Standard slopes are the
// exception: they depend on the number of heads.
struct SideInputs {
  // For fp8: a number is scale * stored. [batch, heads_q, blocks of seq_q] for Q, [batch, heads_kv,
  // blocks of seq_kv] for K and V, with one block if all tokens share a scale.
  std::vector<float> q_scale, k_scale, v_scale;
  // For an fp8 output, [1]: a kernel stores O / out_scale. Drawn so that the laws' outputs stay in
  // the range of e4m3.
  std::vector<float> out_scale;
  std::vector<float> alibi_slopes;  // [heads_q]; a dump may have [batch, heads_q]
  std::vector<float> sinks;         // [heads_q] logits in natural units
  bool operator==(const SideInputs&) const = default;
};

SideInputs side_inputs(const Problem& problem);

// Returns the number of blocks with their own scale in a sequence of `seq` tokens; at least 1.
std::int64_t scale_blocks(const Problem& problem, std::int64_t seq);
// Return the index in q_scale of a token's scale, and the index in k_scale and v_scale.
std::size_t q_scale_at(const Problem& problem, std::int64_t sample, std::int64_t row,
                       std::int64_t head);
std::size_t kv_scale_at(const Problem& problem, std::int64_t sample, std::int64_t key,
                        std::int64_t head_kv);

}  // namespace plumbline
