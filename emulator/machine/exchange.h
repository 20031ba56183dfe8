// What the lanes of a warp do together, and the memory through which they do it. Translated kernels
// (emulator/ptx) include it and are compiled at run time, so it needs the standard library alone.
#pragma once

#include <cstdint>

namespace plumbline::emulator {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned full_mask = 0xffffffffU;

// All that waits or works with other threads.
enum class Call : std::uint8_t {
  syncthreads,
  syncwarp,
  named_barrier_sync,
  named_barrier_arrive,
  cp_async,
  cp_async_wait,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  any,
  all,
  match,
  redux,
  // From here on ".aligned": one instruction for all lanes of the warp.
  ldmatrix_x1,
  ldmatrix_x1_trans,
  ldmatrix_x2,
  ldmatrix_x2_trans,
  ldmatrix_x4,
  ldmatrix_x4_trans,
  stmatrix_x1,
  stmatrix_x1_trans,
  stmatrix_x2,
  stmatrix_x2_trans,
  stmatrix_x4,
  stmatrix_x4_trans,
  mma_f16,
  mma_f16_f16,  // fp16 accumulators
  mma_bf16,
  mma_tf32,
  mma_e4m3,
  mma_e5m2,
  // Half of K: m16n8k8 of 16-bit operands, m16n8k4 of tf32, m16n8k16 of fp8.
  mma_f16_k8,
  mma_f16_f16_k8,
  mma_bf16_k8,
  mma_tf32_k4,
  mma_e4m3_k16,
  mma_e5m2_k16,
};

// What a lane gets of the values that the lanes of a mask bring: redux and match. By lane; none but
// those is read.
using Combine = std::uint64_t (*)(const std::uint64_t* values, unsigned mask, unsigned lane);

// One of several products that the lanes bring at once, a compiled kernel's mma.sync of one kind
// that follow each other and do not need each other's results: which of the matrices a and of the
// matrices b it multiplies. The i-th adds to the i-th c, and its result lies there.
struct Product {
  std::uint8_t a, b;
};
inline constexpr unsigned max_products = 8;

// What the lanes of a warp bring to a collective (in, from; a, b, c) and take from it (out; d), by
// lane. Results are written when all have arrived, hence have taken those before, and only for
// lanes that take part.
// Plain arrays: an operator[] of std::array is a call, and g++ spends half of its time on a kernel
// of 1000 mma.sync with inlining them.
struct Exchange {
  std::uint64_t in[warp_size], out[warp_size];
  std::uint8_t from[warp_size];  // the lane whose value a shuffle gives this one
  Combine combined;              // of match and redux
  const Product* products;       // nullptr: one, of the first matrices, into d
  unsigned product_count;
  // Of mma.sync, up to max_products matrices, the lanes' words of each beside each other.
  alignas(64) std::uint32_t a[max_products * warp_size * 4], c[max_products * warp_size * 4];
  alignas(64) std::uint32_t b[max_products * warp_size * 2];
  alignas(64) std::uint32_t d[warp_size * 4];
};

}  // namespace plumbline::emulator
