// The collectives of a warp, and the memory through which its lanes exchange data. Translated
// kernels (emulator/ptx) include this at run time, so it uses only the standard library.
#pragma once

#include <cstdint>

namespace plumbline::emulator {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned full_mask = 0xffffffffU;

// The machine's calls: barriers, asynchronous copies and collectives.
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
  // From here on ".aligned": all lanes of the warp are at one instruction.
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

// Returns the result of `lane` from the values of the lanes in `mask` (redux, match). `values` is
// indexed by lane; only lanes in the mask are read.
using Combine = std::uint64_t (*)(const std::uint64_t* values, unsigned mask, unsigned lane);

// One of several mma.sync that the lanes submit together: consecutive instructions of one kind in a
// compiled kernel, none of which reads another's result. `a` and `b` are the indices of its
// matrices. Product i adds to matrix i of `c`, which receives the result.
struct Product {
  std::uint8_t a, b;
};
inline constexpr unsigned max_products = 8;

// The data that the lanes of a warp bring to a collective (in, from; a, b, c) and take from it
// (out; d), indexed by lane. Results are written after all lanes have arrived; by then each lane
// has taken its earlier result. Lanes that do not take part keep their old entries.
//
// Plain arrays: in a kernel of 1000 mma.sync, g++ spends half of its time on inlining the
// operator[] of std::array.
struct Exchange {
  std::uint64_t in[warp_size], out[warp_size];
  std::uint8_t from[warp_size];  // the lane whose value a shuffle returns
  Combine combined;              // for match and redux
  const Product* products;       // nullptr: one product, of the first matrices, into d
  unsigned product_count;
  // For mma.sync: up to max_products matrices, each with the words of all lanes side by side.
  alignas(64) std::uint32_t a[max_products * warp_size * 4], c[max_products * warp_size * 4];
  alignas(64) std::uint32_t b[max_products * warp_size * 2];
  alignas(64) std::uint32_t d[warp_size * 4];
};

}  // namespace plumbline::emulator
