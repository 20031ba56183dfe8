// Decode on CUDA cores: each block computes one split of one row of one head in fp32.
//
//   A group of head_dim / 8 lanes shares a key, with 8 dimensions per lane. The groups of all 4
//   warps take adjacent keys. Each group computes, for 4 of its keys at a time:
//     s  = scale log2(e) q . k         8 fma per lane, then a butterfly of shuffles
//     m' = max(m, s_0 .. s_3)
//     p_u = 2^(s_u - m')
//     l  = l 2^(m - m') + sum p_u
//     o  = o 2^(m - m') + sum p_u v_u
//   The groups' o, m, l are combined in shared memory; merge_splits combines the splits.
#pragma once

#include "kernels/attention/results.cuh"

namespace plumbline::attention {

template <class Element_, int HeadDim>
struct DecodeSimt {
  using Element = Element_;
  using KvElement = Element;
  static constexpr int head_dim = HeadDim, threads = 128, per_lane = 8, in_turn = 4;
  static constexpr int lanes = head_dim / per_lane;  // lanes per key
  static constexpr int groups = threads / lanes;     // keys at a time
  static constexpr int tile_q = 1, tile_kv = groups * in_turn, stages = 0;
  static constexpr int shared_bytes = groups * (head_dim + 2) * static_cast<int>(sizeof(float));
};

// 8 adjacent elements, loaded 16 bytes at a time (fp8: 8).
template <class Element>
struct alignas(sizeof(Element) == 1 ? 8 : 16) Eight {
  Element x[8];
};
template <class Element>
__device__ __forceinline__ Eight<Element> load_eight(const TensorMap& map, std::int64_t offset) {
  return *reinterpret_cast<const Eight<Element>*>(static_cast<const Element*>(map.data) + offset);
}

// Grid [rows, heads_q, splits].
template <class Tiling>
__global__ void __launch_bounds__(Tiling::threads) decode_simt(const Parameters p) {
  using Element = typename Tiling::Element;
  using KvElement = typename Tiling::KvElement;
  constexpr int head_dim = Tiling::head_dim, per_lane = Tiling::per_lane, lanes = Tiling::lanes,
                groups = Tiling::groups;
  constexpr int in_turn = Tiling::in_turn, tile_kv = Tiling::tile_kv;

  const Row row = row_at(p, static_cast<int>(blockIdx.x));
  const Sample& sample = row.sample;
  const int head = static_cast<int>(blockIdx.y), head_kv = head / p.group;
  const int split = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int group = thread / lanes, first_dim = thread % lanes * per_lane;

  // 1. The keys of this split that the row sees
  Keys keys = visible_keys(p, sample, row.position);
  const int split_begin = split * p.split_keys;
  if (keys.begin < split_begin) keys.begin = split_begin;
  if (keys.end > split_begin + p.split_keys) keys.end = split_begin + p.split_keys;

  Eight<Element> q{};
  if (keys.end > keys.begin)
    q = load_eight<Element>(p.q, query_offset(p, p.q, sample, row.position, head) + first_dim);
  const float logit_scale = logit_scale_of<KvElement>(p, sample, head_kv);
  const Alibi alibi =
      p.alibi_slopes.data != nullptr ? alibi_of(p, sample, row.position, head) : Alibi{0, 0};
  float m = -INFINITY, l = 0;
  float o[per_lane] = {};

  for (int tile = keys.begin / tile_kv * tile_kv; tile < keys.end; tile += tile_kv) {
    const auto key_at = [&](int turn) { return tile + turn * groups + group; };
    const auto is_visible = [&](int turn) {
      return key_at(turn) >= keys.begin && key_at(turn) < keys.end;
    };

    // 2. s = scale log2(e) q . k
    float s[in_turn];
    float m_new = m;
#pragma unroll
    for (int turn = 0; turn < in_turn; ++turn) {
      float sum = 0;
      if (is_visible(turn)) {
        const auto k = load_eight<KvElement>(
            p.k, key_offset(p, p.k, sample, key_at(turn), head_kv) + first_dim);
#pragma unroll
        for (int i = 0; i < per_lane; ++i)
          sum = fmaf(to_float(q.x[i]), to_float(k.x[i], p.dtype_kv), sum);
      }
#pragma unroll
      for (int distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffU, sum, distance);
      s[turn] =
          is_visible(turn) ? adjusted_logit(p, alibi, key_at(turn), logit_scale * sum) : -INFINITY;
      m_new = fmaxf(m_new, s[turn]);
    }

    // 3. o = o 2^(m - m') + sum p v
    const float reference = finite_or_zero(m_new), rescale = exp2_of(m - reference);
    m = m_new;
    l *= rescale;
#pragma unroll
    for (int i = 0; i < per_lane; ++i) o[i] *= rescale;
#pragma unroll
    for (int turn = 0; turn < in_turn; ++turn) {
      if (!is_visible(turn)) continue;
      const float weight = exp2_of(s[turn] - reference);
      l += weight;
      const auto v =
          load_eight<KvElement>(p.v, key_offset(p, p.v, sample, key_at(turn), head_kv) + first_dim);
#pragma unroll
      for (int i = 0; i < per_lane; ++i) o[i] = fmaf(weight, to_float(v.x[i], p.dtype_kv), o[i]);
    }
  }

  // 4. The groups' parts: [groups, head_dim] of o, [groups] of m and l
  float* const parts = reinterpret_cast<float*>(simt::dynamic_shared());
  Sums* const sums = reinterpret_cast<Sums*>(parts + groups * head_dim);
  for (int i = 0; i < per_lane; ++i) parts[group * head_dim + first_dim + i] = o[i];
  if (first_dim == 0) sums[group] = {m, l};
  __syncthreads();
  for (int column = thread; column < head_dim; column += Tiling::threads) {
    const Combined all = combine(
        groups, [&](int part) { return sums[part]; },
        [&](int part) { return parts[part * head_dim + column]; });
    store_decoded<Element>(p, sample, row.position, head, split, column, all);
  }
}

}  // namespace plumbline::attention
