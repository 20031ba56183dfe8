// FlashAttention-2's forward, behind its own launchers (csrc/flash_attn/src). No header of it is
// needed here: forward.cc fills its parameters as flash_api.cpp does for PyTorch.
#pragma once

#include <cstdint>

namespace plumbline::flash_attention {

// Strides in elements. A batch's stride is 0 where tokens of all samples lie in one run.
struct Rows {
  void* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

// One of the files that were compiled.
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
  // Of the device. Ragged: [batch + 1]; else null.
  int* cu_seqlens_q = nullptr;
  int* cu_seqlens_kv = nullptr;
  // Of the split kernels' cache: lengths [batch] instead of sums; pages [batch, pages].
  int* lengths_kv = nullptr;
  int* page_table = nullptr;
  std::int64_t pages_per_sample = 0;
  int page_size = 0;
  // float: [heads, total_q] where ragged, else [batch, heads, seq_q].
  float* lse = nullptr;
  // 1: one kernel. Of more: [splits, batch, heads, seq_q (, head_dim)], float.
  int splits = 1;
  float* lse_parts = nullptr;
  float* out_parts = nullptr;
  bool split_kernel = false;
};

Instance instance_of(const Call&);

// Enqueues on `stream` (a cudaStream_t) what is_compiled() of its instance. What went wrong is
// cudaGetLastError's.
void forward(const Call&, void* stream);

// What flash_api.cpp chooses for a cache: num_splits_heuristic, for this device.
int splits_of(const Call&, int multiprocessors);

}  // namespace plumbline::flash_attention
