// Plain attention on a GPU: one thread block for each (query row, head). Slow, simple, and the same bits wherever a row stands.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// Addresses of one tensor, strides in elements.
//   padded   [sample, first + token, head]   first = 0, or extent - length where the padding is on the left
//   ragged   [cu_seqlens[sample] + token, head]                                   outer_stride = 0
//   paged    [page_table[sample, token / page_size], token % page_size, head]     keys and values only
struct TensorMap {
  void* data;
  std::int64_t outer_stride;
  std::int64_t token_stride;
  std::int64_t head_stride;
  std::int64_t element_stride;
  std::int64_t extent;  // tokens of a sample with its padding; padded layouts
};

// All a launch needs, passed by value. Index arrays lie in device memory.
struct NaiveParameters {
  TensorMap q, k, v, out;
  TensorMap lse;                      // data nullptr: not asked for
  const std::int32_t* cu_seqlens_q;   // [batch + 1]
  const std::int32_t* cu_seqlens_kv;  // [batch + 1]
  const std::int32_t* page_table;     // [batch, pages_per_sample]; nullptr unless paged
  std::int64_t pages_per_sample;
  std::int64_t page_size;
  std::int64_t rows;  // padded: batch * seq_q; otherwise the sum of the query lengths
  std::int32_t batch;
  std::int32_t heads_q;
  std::int32_t group;  // query heads that share a key head
  std::int32_t head_dim_qk;
  std::int32_t head_dim_vo;
  std::int32_t causal;    // a row sees no key beyond its diagonal
  std::int32_t top_left;  // the diagonal starts at key 0; otherwise it ends at the last key
  std::int32_t padded;
  std::int32_t padded_left;
  std::int64_t window_left, window_right;  // -1 = all
  float scale_log2;                        // softmax scale * log2(e)
  std::uint32_t dtype_in, dtype_out;       // plumbline_dtype
};

// Threads of a block; also the number of keys a block works on at a time.
inline constexpr int naive_threads = 128;
// Bytes of shared memory: Q and the output row in fp32, and one weight per key of a tile.
std::int64_t naive_shared_bytes(const NaiveParameters& parameters);
// Enqueues the kernel. Returns the launch's error.
cudaError_t launch_naive(const NaiveParameters& parameters, cudaStream_t stream);
// Registers, local memory and so on of the kernel for an input dtype.
cudaError_t naive_attributes(std::uint32_t dtype_in, cudaFuncAttributes* attributes);

}  // namespace plumbline::attention
