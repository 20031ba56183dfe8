// FlashAttention-2's forward, called through its own launchers (csrc/flash_attn/src). Needs none of
// FlashAttention-2's headers: forward.cc sets the parameters as flash_api.cpp does for PyTorch.
#pragma once

#include <cstdint>

namespace plumbline::flash_attention {

// Strides in elements. The batch stride is 0 if the tokens of all samples are contiguous.
struct Rows {
  void* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

// An instance of the kernel, which FlashAttention-2 compiles as a file of its own.
struct Instance {
  bool split, is_bf16;
  int head_dim;
  bool causal;
  bool operator==(const Instance& other) const {
    return split == other.split && is_bf16 == other.is_bf16 && head_dim == other.head_dim &&
           causal == other.causal;
  }
};
bool is_compiled(const Instance&);

struct Call {
  bool is_bf16 = false, causal = false;
  int batch = 0, heads_q = 0, heads_kv = 0;
  int head_dim = 0;
  int seq_q = 0, seq_kv = 0;  // of the longest sample
  int total_q = 0;
  double scale = 0;
  Rows q, k, v, out;
  // Device memory, [batch + 1], for the ragged layout; otherwise null.
  int* cu_seqlens_q = nullptr;
  int* cu_seqlens_kv = nullptr;
  // The split kernels' KV cache: lengths [batch] instead of cumulative ones; pages [batch, pages].
  int* lengths_kv = nullptr;
  int* page_table = nullptr;
  std::int64_t pages_per_sample = 0;
  int page_size = 0;
  // float: [heads, total_q] if ragged, otherwise [batch, heads, seq_q].
  float* lse = nullptr;
  // 1: one kernel. More: float partial results [splits, batch, heads, seq_q (, head_dim)].
  int splits = 1;
  float* lse_parts = nullptr;
  float* out_parts = nullptr;
  bool split_kernel = false;
};

Instance instance_of(const Call&);

// Enqueues the compiled instance of the call on `stream` (a cudaStream_t). Errors are in
// cudaGetLastError.
void forward(const Call&, void* stream);

// Returns the number of splits that flash_api.cpp's num_splits_heuristic chooses for a KV cache.
int splits_of(const Call&, int multiprocessors);

}  // namespace plumbline::flash_attention
