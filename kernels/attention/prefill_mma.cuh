// Prefill on tensor cores (FlashAttention-2): each warp of a block has 16 query rows of one head. A
// block has TileQ rows.
//
//   Q [TileQ, HeadDim]             shared memory, by cp.async
//   For each tile of TileKv keys, K and V two tiles deep in shared memory (fp8 is widened to
//   Element on its way there):
//     S  = scale log2(e) Q K^T     mma.sync, accumulators in Accumulator; softcap and ALiBi
//     m' = max(m, max_j S_j)       over the four lanes that share a row
//     P  = 2^(S - m')
//     l  = l 2^(m - m') + sum_j P_j    with P before its rounding
//     O  = O 2^(m - m') + P V      P rounded to Element (fp32: tf32); fp16 accumulators are added
//                                  to O tile by tile
//   out = O / l                    with the scale of fp8 V
//   lse = ln(2) (m + log2 l)       l with the head's sink
//
// A row's bits depend only on its own keys: tiles start at multiples of TileKv keys from the
// sample's first, a tile without a visible key changes nothing, and rows of a product do not mix.
#pragma once

#include <type_traits>

#include "kernels/attention/online_softmax.cuh"
#include "kernels/attention/results.cuh"

namespace plumbline::attention {

template <class Element_, class Accumulator_, int HeadDim_, int TileQ, int TileKv>
struct PrefillMma {
  using Element = Element_;
  using KvElement = Element;
  using Accumulator = Accumulator_;
  static constexpr int head_dim = HeadDim_, tile_q = TileQ, tile_kv = TileKv, stages = 2;
  static constexpr int threads = tile_q / 16 * 32;
  using Tile = SharedTile<Element, head_dim>;
  static constexpr int shared_bytes = Tile::bytes(tile_q + 2 * stages * tile_kv);
};

// Grid [ceil(seq_q / tile_q), heads_q, batch].
template <class Tiling>
__global__ void __launch_bounds__(Tiling::threads) prefill_mma(const Parameters p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Element = typename Tiling::Element;
  using KvElement = typename Tiling::KvElement;
  using Accumulator = typename Tiling::Accumulator;
  using Tile = typename Tiling::Tile;
  using Mma = attention::Mma<Element, Accumulator>;
  constexpr int head_dim = Tiling::head_dim, tile_q = Tiling::tile_q, tile_kv = Tiling::tile_kv,
                threads = Tiling::threads;
  constexpr int key_blocks = tile_kv / 8, key_steps = tile_kv / Mma::depth,
                column_blocks = head_dim / 8;
  constexpr bool accumulates_in_fp32 = std::is_same_v<Accumulator, float>;

  const Sample sample = sample_at(p, static_cast<int>(blockIdx.z));
  const int head = static_cast<int>(blockIdx.y), head_kv = head / p.group;
  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  if (first_row >= sample.positions) return;
  const int thread = static_cast<int>(threadIdx.x), warp_row = thread / 32 * 16;
  const Lane lane = this_lane();

  Element* shared = reinterpret_cast<Element*>(simt::dynamic_shared());
  const Tile q_tile{shared};
  const auto k_tile = [&](int tile) {
    return Tile{shared + (tile_q + tile % Tiling::stages * 2 * tile_kv) * Tile::row_elements};
  };
  const auto v_tile = [&](int tile) {
    return Tile{k_tile(tile).data + tile_kv * Tile::row_elements};
  };
  const auto copy_keys = [&](const Tile& to, const TensorMap& from, int tile) {
    const auto source = [&](int row) -> const KvElement* {
      const int key = tile * tile_kv + row;
      return key < sample.length_kv ? static_cast<const KvElement*>(from.data) +
                                          key_offset(p, from, sample, key, head_kv)
                                    : nullptr;
    };
    if constexpr (widens<Tiling>) {
      widen_rows<tile_kv, threads>(to, thread, p.dtype_kv, source);
    } else {
      copy_rows<tile_kv, threads>(to, thread, from.data, source);
    }
  };

  // The tiles in which some row of the block sees a key.
  const Keys block_keys = union_of_keys(p, sample, first_row, first_row + tile_q - 1);
  const int first_tile = block_keys.begin / tile_kv;
  const int end_tile =
      block_keys.end > block_keys.begin ? (block_keys.end + tile_kv - 1) / tile_kv : first_tile;

  // 1. Start loading Q and the first K, then the first V.
  if (first_tile < end_tile) {
    copy_rows<tile_q, threads>(q_tile, thread, p.q.data, [&](int row) -> const Element* {
      const int token = first_row + row - sample.first_q;
      if (token < 0 || token >= sample.length_q) return nullptr;
      return static_cast<const Element*>(p.q.data) +
             query_offset(p, p.q, sample, first_row + row, head);
    });
    copy_keys(k_tile(first_tile), p.k, first_tile);
    simt::cp_async_commit();
    copy_keys(v_tile(first_tile), p.v, first_tile);
    simt::cp_async_commit();
  }

  // Keys visible to this lane's rows, g and g + 8 of its warp's 16.
  Keys keys[2];
  for (int half = 0; half < 2; ++half)
    keys[half] = visible_keys(p, sample, first_row + warp_row + lane.g + 8 * half);
  const float logit_scale = logit_scale_of<KvElement>(p, sample, head_kv);
  const auto alibi = [&](int half) {
    return alibi_of(p, sample, first_row + warp_row + lane.g + 8 * half, head);
  };
  OnlineSoftmax rows;
  Fragment<float> o[column_blocks] = {};

  for (int tile = first_tile; tile < end_tile; ++tile) {
    // 2. This K has landed, and all warps have finished the tile that the next one replaces.
    simt::cp_async_wait<1>();
    __syncthreads();
    if (tile + 1 < end_tile) copy_keys(k_tile(tile + 1), p.k, tile + 1);
    simt::cp_async_commit();
    if (tile + 1 < end_tile) copy_keys(v_tile(tile + 1), p.v, tile + 1);
    simt::cp_async_commit();

    // 3. S = Q K^T
    Fragment<Accumulator> product[key_blocks] = {};
    const Tile k = k_tile(tile);
#pragma unroll
    for (int column = 0; column < head_dim; column += Mma::depth) {
      std::uint32_t q_fragment[4];
      Mma::a(q_fragment, q_tile, warp_row, column);
#pragma unroll
      for (int block = 0; block < key_blocks; block += 2) {
        std::uint32_t k_fragment[2][2];
        Mma::b(k_fragment, k, block * 8, column);
        Mma::multiply(product[block], q_fragment, k_fragment[0]);
        Mma::multiply(product[block + 1], q_fragment, k_fragment[1]);
      }
    }

    // 4. P = 2^(S - m'), and l and O for the new maximum
    float weights[key_blocks][4];
    next_tile(rows, weights, o, product, keys, tile * tile_kv, p, logit_scale, alibi);

    // 5. This V has landed; widened V is complete since the barrier above.
    if constexpr (!widens<Tiling>) {
      simt::cp_async_wait<2>();
      __syncthreads();
    }

    // 6. O += P V
    std::uint32_t p_fragment[key_steps][4];
#pragma unroll
    for (int step = 0; step < key_steps; ++step) Mma::a_of_weights(p_fragment[step], weights, step);
    const Tile v = v_tile(tile);
#pragma unroll
    for (int block = 0; block < column_blocks; block += 2) {
      Fragment<Accumulator> sum[2] = {};
      if constexpr (accumulates_in_fp32) {
        sum[0] = o[block];
        sum[1] = o[block + 1];
      }
#pragma unroll
      for (int step = 0; step < key_steps; ++step) {
        std::uint32_t v_fragment[2][2];
        Mma::b_of_values(v_fragment, v, step * Mma::depth, block * 8);
        Mma::multiply(sum[0], p_fragment[step], v_fragment[0]);
        Mma::multiply(sum[1], p_fragment[step], v_fragment[1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        o[block].x[i] = accumulates_in_fp32 ? sum[0][i] : o[block].x[i] + sum[0][i];
        o[block + 1].x[i] = accumulates_in_fp32 ? sum[1][i] : o[block + 1].x[i] + sum[1][i];
      }
    }
  }

  // 7. out = O / l; rows without keys and rows of padding get zeros and -infinity
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Sums sums{rows.m[half], quad_sum(rows.l[half])};
    const int position = first_row + warp_row + lane.g + 8 * half;
    if (position >= sample.positions) continue;
    const std::int64_t to = query_offset(p, p.out, sample, position, head);
    if (has_finish(p)) {
      const Finished row = finish(p, sample, position, head, sums);
      sums = row.sums;
#pragma unroll
      for (int block = 0; block < column_blocks; ++block) {
        o[block].x[2 * half] *= row.factor;
        o[block].x[2 * half + 1] *= row.factor;
      }
    }
#pragma unroll
    for (int block = 0; block < column_blocks; ++block) {
      const float low = sums.l != 0 ? o[block].x[2 * half] / sums.l : 0.0F;
      const float high = sums.l != 0 ? o[block].x[2 * half + 1] / sums.l : 0.0F;
      store_pair<Element>(p, to + (block * 8 + 2 * lane.t) * p.out.element_stride, low, high);
    }
    if (lane.t == 0) store_lse(p, sample, position, head, sums.m, sums.l);
  }
#endif
}

}  // namespace plumbline::attention
