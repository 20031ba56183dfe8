// CUTLASS's fused attention, examples/41_fused_multi_head_attention/kernel_forward.h, which is the
// memory-efficient attention of xFormers and PyTorch. No header of it is needed here.
#pragma once

#include <cstdint>

namespace plumbline::cutlass_attention {

enum class Element : std::uint32_t { fp32, fp16, bf16 };

// One of the kernels that were compiled: for Sm80, aligned, with support for dropout and a bias, as
// PyTorch instantiates it (mem_eff_attention/kernels/generate_kernels.py). max_head_dim is 64 (a
// block has 64 queries and 64 keys) or 128 (64 queries and 128 keys).
struct Instance {
  Element element;
  int max_head_dim;
  bool operator==(const Instance& other) const {
    return element == other.element && max_head_dim == other.max_head_dim;
  }
};
bool is_compiled(const Instance&);

// Strides in elements. Elements of a row, and of the output its heads, lie one after another.
struct Rows {
  void* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

struct Call {
  enum class Mask : std::uint32_t { none, causal_top_left, causal_bottom_right };
  Element element = Element::bf16;
  Mask mask = Mask::none;
  int batch = 0, heads = 0;
  int head_dim_qk = 0, head_dim_vo = 0;
  int seq_q = 0, seq_kv = 0;  // of the longest sample
  float scale = 0;
  // k.head_stride and v.head_stride are 0 where all heads share one. The samples of a padded output
  // lie one after another.
  Rows q, k, v, out;
  // Of the device, [batch + 1] where the layout is ragged; else null.
  int* cu_seqlens_q = nullptr;
  int* cu_seqlens_kv = nullptr;
  // float [batch, heads, lse_rows(seq_q)]; null: not wanted. Rows behind a sample's last are
  // infinity up to a multiple of 32 of its own length, and then left alone.
  float* lse = nullptr;
};
inline int lse_rows(int seq_q) { return (seq_q + 31) / 32 * 32; }

// The kernel for the larger of two head dimensions; max_head_dim is 0 where none is large enough.
Instance instance_of(const Call&);

// Enqueues on `stream` (a cudaStream_t) what is_compiled() of its instance. "", or what the
// kernel's own check_supported does not take. What went wrong at the launch is cudaGetLastError's.
const char* forward(const Call&, void* stream);

}  // namespace plumbline::cutlass_attention
