// One tile of online softmax in the registers of a warp, between S = Q K^T and O += P V.
#pragma once

#include "kernels/attention/fragments.cuh"
#include "kernels/attention/logits.cuh"

namespace plumbline::attention {

// State of a lane's rows, g and g + 8: m, the running maximum of the base-2 logits, and l, the sum
// of P over this lane's columns. The four lanes of a row share m and add their l at the end
// (quad_sum).
struct OnlineSoftmax {
  float m[2] = {-INFINITY, -INFINITY};
  float l[2] = {0, 0};
};

// Maximum and sum over the four lanes that share rows g and g + 8.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffU, x, 1);
  return x + __shfl_xor_sync(0xffffffffU, x, 2);
}

// Applies softcap and ALiBi to block 0, then rotates the blocks of keys, until each has been block
// 0. Unrolling over all blocks would take more registers than the rest of the kernel.
template <int KeyBlocks, class RowAlibi>
__device__ __forceinline__ void adjust_logits(float (&s)[KeyBlocks][4], const Parameters& p,
                                              int lane_key, const RowAlibi& alibi) {
  Alibi of_rows[2] = {};
  if (p.alibi_slopes.data != nullptr) {
    of_rows[0] = alibi(0);
    of_rows[1] = alibi(1);
  }
#pragma unroll 1
  for (int turn = 0; turn < KeyBlocks; ++turn) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float logit = adjusted_logit(p, of_rows[i / 2], lane_key + turn * 8 + i % 2, s[0][i]);
#pragma unroll
      for (int block = 1; block < KeyBlocks; ++block) s[block - 1][i] = s[block][i];
      s[KeyBlocks - 1][i] = logit;
    }
  }
}

//   S = logit of q . k if the row sees the key      m' = max(m, max_j S_j)      P = 2^(S - m')
//   l = l 2^(m - m') + sum_j P_j                    O = O 2^(m - m')
// `product` is Q K^T of the tile that begins at `first_key`, keys[] are the keys visible to the two
// rows, and alibi(half) is the Alibi of each. P is not rounded yet. All threads of a block take the
// same branches on Parameters.
template <class Accumulator, int KeyBlocks, int ColumnBlocks, class RowAlibi>
__device__ __forceinline__ void next_tile(OnlineSoftmax& rows, float (&p)[KeyBlocks][4],
                                          Fragment<float> (&o)[ColumnBlocks],
                                          const Fragment<Accumulator> (&product)[KeyBlocks],
                                          const Keys (&keys)[2], int first_key,
                                          const Parameters& parameters, float scale,
                                          const RowAlibi& alibi) {
  const int lane_key = first_key + 2 * this_lane().t;
#pragma unroll
  for (int block = 0; block < KeyBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) p[block][i] = scale * product[block][i];
  }
  if (parameters.adjusts_logits != 0) adjust_logits(p, parameters, lane_key, alibi);

  float row_max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int block = 0; block < KeyBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = lane_key + block * 8 + i % 2;
      const bool visible = key >= keys[i / 2].begin && key < keys[i / 2].end;
      p[block][i] = visible ? p[block][i] : -INFINITY;
      row_max[i / 2] = fmaxf(row_max[i / 2], p[block][i]);
    }
  }

  float reference[2], rescale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float m = fmaxf(rows.m[half], quad_max(row_max[half]));
    reference[half] = finite_or_zero(m);
    rescale[half] = exp2_of(rows.m[half] - reference[half]);
    rows.l[half] *= rescale[half];
    rows.m[half] = m;
  }
#pragma unroll
  for (int block = 0; block < KeyBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      p[block][i] = exp2_of(p[block][i] - reference[i / 2]);
      rows.l[i / 2] += p[block][i];
    }
  }
#pragma unroll
  for (int block = 0; block < ColumnBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) o[block].x[i] *= rescale[i / 2];
  }
}

}  // namespace plumbline::attention
