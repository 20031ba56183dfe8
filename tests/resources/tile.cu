// A CUDA kernel whose query tile is a macro, so that a test can plant a register spill. It uses the
// registers of flash attention without softmax: O += (Q K^T) V with a tile of S and O in registers.
// 128 threads as 8 x 16: a thread has rows r + 8 i of the tile, keys c + 16 j and columns c + 16 j.
#include <cuda_fp16.h>

#ifndef TILE_Q
#define TILE_Q 16
#endif

constexpr int tile_q = TILE_Q, tile_kv = 64, head_dim = 128;

__global__ void __launch_bounds__(128)
    tile_attention(const __half* q, const __half* k, const __half* v, float* out, int tiles) {
  extern __shared__ __half shared[];
  __half* q_tile = shared;                       // [tile_q, head_dim]
  __half* k_tile = q_tile + tile_q * head_dim;   // [tile_kv, head_dim]
  __half* v_tile = k_tile + tile_kv * head_dim;  // [tile_kv, head_dim]
  const int r = threadIdx.x / 16, c = threadIdx.x % 16;
  float o[tile_q / 8][head_dim / 16] = {};

  for (int i = threadIdx.x; i < tile_q * head_dim; i += 128) q_tile[i] = q[i];
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    for (int i = threadIdx.x; i < tile_kv * head_dim; i += 128) {
      k_tile[i] = k[tile * tile_kv * head_dim + i];
      v_tile[i] = v[tile * tile_kv * head_dim + i];
    }
    __syncthreads();

    float s[tile_q / 8][tile_kv / 16] = {};
#pragma unroll 1
    for (int d = 0; d < head_dim; ++d) {  // S = Q K^T
#pragma unroll
      for (int i = 0; i < tile_q / 8; ++i) {
#pragma unroll
        for (int j = 0; j < tile_kv / 16; ++j)
          s[i][j] += __half2float(q_tile[(r + 8 * i) * head_dim + d]) *
                     __half2float(k_tile[(c + 16 * j) * head_dim + d]);
      }
    }
#pragma unroll
    // O += S V; a key's column of S comes from the thread that has it
    for (int part = 0; part < tile_kv / 16; ++part) {
#pragma unroll 1
      for (int lane = 0; lane < 16; ++lane) {
#pragma unroll
        for (int i = 0; i < tile_q / 8; ++i) {
          const float p = __shfl_sync(0xFFFFFFFF, s[i][part], lane, 16);
#pragma unroll
          for (int j = 0; j < head_dim / 16; ++j)
            o[i][j] += p * __half2float(v_tile[(16 * part + lane) * head_dim + c + 16 * j]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < tile_q / 8; ++i) {
#pragma unroll
    for (int j = 0; j < head_dim / 16; ++j) out[(r + 8 * i) * head_dim + c + 16 * j] = o[i][j];
  }
}
