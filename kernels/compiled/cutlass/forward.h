// CUTLASS's fused attention (examples/41_fused_multi_head_attention/kernel_forward.h), the
// memory-efficient attention of xFormers and PyTorch. Needs none of CUTLASS's headers.
#pragma once

#include <cstdint>

namespace plumbline::cutlass_attention {

enum class Element : std::uint32_t { fp32, fp16, bf16 };

// A compiled kernel: for Sm80, aligned, with support for dropout and a bias, as PyTorch
// instantiates it (mem_eff_attention/kernels/generate_kernels.py). max_head_dim is 64 (64 queries
// and 64 keys per block) or 128 (64 queries and 128 keys).
struct Instance {
  Element element;
  int max_head_dim;
  bool operator==(const Instance& other) const {
    return element == other.element && max_head_dim == other.max_head_dim;
  }
};
bool is_compiled(const Instance&);

// Strides in elements. The elements of a row are contiguous, and so are the heads of the output.
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
  // k.head_stride and v.head_stride are 0 if all query heads share one key head. The samples of a
  // padded output are contiguous.
  Rows q, k, v, out;
  // Device memory, [batch + 1], for the ragged layout; otherwise null.
  int* cu_seqlens_q = nullptr;
  int* cu_seqlens_kv = nullptr;
  // float [batch, heads, lse_rows(seq_q)]; null: not requested. Rows after a sample's last one are
  // set to infinity up to the next multiple of 32, and are otherwise not written.
  float* lse = nullptr;
};
inline int lse_rows(int seq_q) { return (seq_q + 31) / 32 * 32; }

// Returns the kernel for the larger of the two head dimensions; max_head_dim is 0 if none is large
// enough.
Instance instance_of(const Call&);

// Enqueues the compiled instance of the call on `stream` (a cudaStream_t). Returns "", or the
// reason from the kernel's check_supported. Launch errors are in cudaGetLastError.
const char* forward(const Call&, void* stream);

}  // namespace plumbline::cutlass_attention
