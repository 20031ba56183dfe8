// FlashAttention-2's forward for head dimension 64 (tiles of 128 queries and 128 keys), one row at
// a time. Written from flash_fwd_kernel.h and softmax.h of flash_attn 2.8.3, not from their PTX:
// this code and the translated kernel share only the arithmetic of single instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::compiled::test {

struct ScalarProblem {
  int heads_q, heads_kv, rows, keys;
  bool causal;  // bottom right
  float scale;
};

// bf16, [rows or keys, heads, 64], one sample.
struct ScalarInputs {
  std::vector<std::uint16_t> q, k, v;
};
struct ScalarOutputs {
  std::vector<std::uint16_t> out;  // bf16 [rows, heads_q, 64]
  std::vector<float> lse;          // natural [rows, heads_q]
};
ScalarOutputs scalar_flash_attention(emulator::Arch, const ScalarProblem&, const ScalarInputs&);

}  // namespace plumbline::compiled::test
