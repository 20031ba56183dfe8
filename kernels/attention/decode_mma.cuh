// Decode on tensor cores: all query heads of a key head are rows of one product, so that M = 16 is
// not wasted on one row.
//
//   Q [16, HeadDim]     rows (position, head of the group), packed:
//                       row = position * group + head within the group
//   Warp w has keys 16 w .. 16 w + 15 of each tile of 16 * warps keys. Shared memory holds two
//   tiles at a time. Each warp has its own online softmax:
//     S  = scale log2(e) Q K^T, softcap, ALiBi
//     m' = max(m, max_j S_j)
//     P  = 2^(S - m')
//     l  = l 2^(m - m') + sum_j P_j
//     O  = O 2^(m - m') + P V
//   The warps' O, m, l are combined in shared memory; merge_splits combines the splits.
//
// Warps share only Q while they compute, so each waits only for its own copies of K and V.
#pragma once

#include "kernels/attention/online_softmax.cuh"
#include "kernels/attention/results.cuh"

namespace plumbline::attention {

template <class Element_, int HeadDim>
struct DecodeMma {
  using Element = Element_;
  using KvElement = Element;
  static constexpr int head_dim = HeadDim, tile_q = 16, stages = 2;
  static constexpr int row_bytes = head_dim * static_cast<int>(sizeof(Element));
  // Limited so that two tiles fit the shared memory of every architecture.
  static constexpr int warps = row_bytes > 512 ? 1 : row_bytes > 256 ? 2 : 4;
  static constexpr int threads = 32 * warps, tile_kv = 16 * warps;
  using Tile = SharedTile<Element, head_dim>;
  static constexpr int shared_bytes = Tile::bytes(tile_q + 2 * stages * tile_kv);
  static_assert(shared_bytes >= warps * tile_q * (head_dim + 2) * static_cast<int>(sizeof(float)));
};

// Grid [ceil(seq_q * group / 16), heads_kv, batch * splits].
template <class Tiling>
__global__ void __launch_bounds__(Tiling::threads) decode_mma(const Parameters p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Element = typename Tiling::Element;
  using KvElement = typename Tiling::KvElement;
  using Tile = typename Tiling::Tile;
  using Mma = attention::Mma<Element, float>;
  constexpr int head_dim = Tiling::head_dim, tile_q = Tiling::tile_q, tile_kv = Tiling::tile_kv,
                warps = Tiling::warps;
  constexpr int warp_keys = 16, key_blocks = warp_keys / 8, key_steps = warp_keys / Mma::depth,
                column_blocks = head_dim / 8;

  const int split = static_cast<int>(blockIdx.z) % p.splits;
  const Sample sample = sample_at(p, static_cast<int>(blockIdx.z) / p.splits);
  const int head_kv = static_cast<int>(blockIdx.y);
  // in packed rows
  const int first_row = static_cast<int>(blockIdx.x) * tile_q, rows = sample.positions * p.group;
  if (first_row >= rows) return;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const Lane lane = this_lane();
  const auto position_of = [&](int row) { return (first_row + row) / p.group; };
  const auto head_of = [&](int row) { return head_kv * p.group + (first_row + row) % p.group; };

  Element* shared = reinterpret_cast<Element*>(simt::dynamic_shared());
  const Tile q_tile{shared};
  const auto k_tile = [&](int tile) {
    const int first = tile_q + (tile % Tiling::stages * warps + warp) * 2 * warp_keys;
    return Tile{shared + first * Tile::row_elements};
  };
  const auto v_tile = [&](int tile) {
    return Tile{k_tile(tile).data + warp_keys * Tile::row_elements};
  };
  const auto first_key = [&](int tile) { return tile * tile_kv + warp * warp_keys; };
  const auto copy_keys = [&](const Tile& to, const TensorMap& from, int tile) {
    const auto source = [&](int row) -> const KvElement* {
      const int key = first_key(tile) + row;
      return key < sample.length_kv ? static_cast<const KvElement*>(from.data) +
                                          key_offset(p, from, sample, key, head_kv)
                                    : nullptr;
    };
    if constexpr (widens<Tiling>) {
      widen_rows<warp_keys, 32>(to, lane.index, p.dtype_kv, source);
    } else {
      copy_rows<warp_keys, 32>(to, lane.index, from.data, source);
    }
  };

  // The tiles of this split in which some row of the block sees a key.
  const int last_row = first_row + tile_q < rows ? first_row + tile_q - 1 : rows - 1;
  Keys block_keys = union_of_keys(p, sample, first_row / p.group, last_row / p.group);
  const int split_begin = split * p.split_keys;
  if (block_keys.begin < split_begin) block_keys.begin = split_begin;
  if (block_keys.end > split_begin + p.split_keys) block_keys.end = split_begin + p.split_keys;
  const int first_tile = block_keys.begin / tile_kv;
  const int end_tile =
      block_keys.end > block_keys.begin ? (block_keys.end + tile_kv - 1) / tile_kv : first_tile;

  // 1. Load Q for all warps, and start loading the first K and V of this warp.
  copy_rows<tile_q, Tiling::threads>(q_tile, thread, p.q.data, [&](int row) -> const Element* {
    const int token = position_of(row) - sample.first_q;
    if (first_row + row >= rows || token < 0 || token >= sample.length_q) return nullptr;
    return static_cast<const Element*>(p.q.data) +
           query_offset(p, p.q, sample, position_of(row), head_of(row));
  });
  simt::cp_async_commit();
  simt::cp_async_wait<0>();
  __syncthreads();
  if (first_tile < end_tile) copy_keys(k_tile(first_tile), p.k, first_tile);
  simt::cp_async_commit();
  if (first_tile < end_tile) copy_keys(v_tile(first_tile), p.v, first_tile);
  simt::cp_async_commit();

  // Keys visible to this lane's rows, g and g + 8.
  Keys keys[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane.g + 8 * half;
    keys[half] = first_row + row < rows ? visible_keys(p, sample, position_of(row)) : Keys{0, 0};
    if (keys[half].end > block_keys.end) keys[half].end = block_keys.end;
  }
  const float logit_scale = logit_scale_of<KvElement>(p, sample, head_kv);
  const auto alibi = [&](int half) {
    const int row = lane.g + 8 * half;
    return first_row + row < rows ? alibi_of(p, sample, position_of(row), head_of(row))
                                  : Alibi{0, 0};
  };
  OnlineSoftmax sums;
  Fragment<float> o[column_blocks] = {};

  for (int tile = first_tile; tile < end_tile; ++tile) {
    // 2. This warp's K has landed, and all of its lanes have finished the previous tile.
    if constexpr (!widens<Tiling>) simt::cp_async_wait<1>();
    __syncwarp();
    if (tile + 1 < end_tile) copy_keys(k_tile(tile + 1), p.k, tile + 1);
    simt::cp_async_commit();
    if (tile + 1 < end_tile) copy_keys(v_tile(tile + 1), p.v, tile + 1);
    simt::cp_async_commit();

    // 3. S = Q K^T
    Fragment<float> product[key_blocks] = {};
    const Tile k = k_tile(tile);
#pragma unroll
    for (int column = 0; column < head_dim; column += Mma::depth) {
      std::uint32_t q_fragment[4], k_fragment[2][2];
      Mma::a(q_fragment, q_tile, 0, column);
      Mma::b(k_fragment, k, 0, column);
      Mma::multiply(product[0], q_fragment, k_fragment[0]);
      Mma::multiply(product[1], q_fragment, k_fragment[1]);
    }

    // 4. Online softmax over these 16 keys
    float weights[key_blocks][4];
    next_tile(sums, weights, o, product, keys, first_key(tile), p, logit_scale, alibi);

    // 5. O += P V, after V has landed; widened V is complete since the barrier above
    if constexpr (!widens<Tiling>) {
      simt::cp_async_wait<2>();
      __syncwarp();
    }
    const Tile v = v_tile(tile);
#pragma unroll
    for (int step = 0; step < key_steps; ++step) {
      std::uint32_t p_fragment[4];
      Mma::a_of_weights(p_fragment, weights, step);
#pragma unroll
      for (int block = 0; block < column_blocks; block += 2) {
        std::uint32_t v_fragment[2][2];
        Mma::b_of_values(v_fragment, v, step * Mma::depth, block * 8);
        Mma::multiply(o[block], p_fragment, v_fragment[0]);
        Mma::multiply(o[block + 1], p_fragment, v_fragment[1]);
      }
    }
  }

  // 6. The warps' parts replace the tiles: [warps, 16, head_dim] of O, [warps, 16] of m and l.
  __syncthreads();
  float* const parts = reinterpret_cast<float*>(shared);
  Sums* const part_sums = reinterpret_cast<Sums*>(parts + warps * tile_q * head_dim);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * tile_q + lane.g + 8 * half;
    const float total = quad_sum(sums.l[half]);
    if (lane.t == 0) part_sums[row] = {sums.m[half], total};
    for (int block = 0; block < column_blocks; ++block) {
      parts[row * head_dim + block * 8 + 2 * lane.t] = o[block].x[2 * half];
      parts[row * head_dim + block * 8 + 2 * lane.t + 1] = o[block].x[2 * half + 1];
    }
  }
  __syncthreads();
  for (int i = thread; i < tile_q * head_dim; i += Tiling::threads) {
    const int row = i / head_dim, column = i % head_dim;
    if (first_row + row >= rows) break;
    const Combined all = combine(
        warps, [&](int part) { return part_sums[part * tile_q + row]; },
        [&](int part) { return parts[part * tile_q * head_dim + i]; });
    store_decoded<Element>(p, sample, position_of(row), head_of(row), split, column, all);
  }
#endif
}

}  // namespace plumbline::attention
