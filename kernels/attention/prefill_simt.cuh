// Prefill on CUDA cores: a block has 32 query rows of one head; 16 lanes share 4 rows. All in fp32,
// but P is rounded to p.p_dtype.
//
//   Shared memory holds Q [32, head_dim] and, for each tile, K [tile_kv, head_dim] in fp32:
//     S = scale log2(e) Q K^T              a chain of head_dim fma per element;
//                                          4 rows x tile_kv / 16 keys per thread
//     m' = max(m, max_j S_j),  P = 2^(S - m'),  l = l 2^(m - m') + sum_j P_j      over the 16 lanes
//     V replaces K, O = O 2^(m - m') + P V
//                                          4 rows x head_dim / 16 columns per thread
//   out = O / l,  lse = ln(2) (m + log2 l)
#pragma once

#include "kernels/attention/results.cuh"

namespace plumbline::attention {

template <class Element_, int HeadDim>
struct PrefillSimt {
  using Element = Element_;
  using KvElement = Element;
  static constexpr int head_dim = HeadDim, tile_q = 32, tile_kv = head_dim > 128 ? 16 : 32,
                       threads = 128, stages = 1;
  // the padding puts 16 keys of one dimension into 16 different banks
  static constexpr int row_floats = head_dim + 1;
  static constexpr int weight_floats = tile_kv + 1;
  static constexpr int shared_bytes =
      ((tile_q + tile_kv) * row_floats + tile_q * weight_floats) * static_cast<int>(sizeof(float));
};

// Grid [ceil(seq_q / 32), heads_q, batch].
template <class Tiling>
__global__ void __launch_bounds__(Tiling::threads) prefill_simt(const Parameters p) {
  using Element = typename Tiling::Element;
  using KvElement = typename Tiling::KvElement;
  constexpr int head_dim = Tiling::head_dim, tile_q = Tiling::tile_q, tile_kv = Tiling::tile_kv;
  constexpr int row_floats = Tiling::row_floats, weight_floats = Tiling::weight_floats;
  constexpr int lanes = 16, rows = 4, keys_each = tile_kv / lanes, columns_each = head_dim / lanes;

  const Sample sample = sample_at(p, static_cast<int>(blockIdx.z));
  const int head = static_cast<int>(blockIdx.y), head_kv = head / p.group;
  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  if (first_row >= sample.positions) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes,
            own_row = thread / lanes * rows;

  float* const q = reinterpret_cast<float*>(simt::dynamic_shared());  // [tile_q, row_floats]
  float* const tensor = q + tile_q * row_floats;         // [tile_kv, row_floats]   K, then V
  float* const weights = tensor + tile_kv * row_floats;  // [tile_q, weight_floats] P

  const auto copy_keys = [&](const TensorMap& from, int first_key) {
    for (int i = thread; i < tile_kv * head_dim; i += Tiling::threads) {
      const int row = i / head_dim, column = i % head_dim;
      const int key = first_key + row;
      float value = 0;
      if (key < sample.length_kv) {
        const std::int64_t at =
            key_offset(p, from, sample, key, head_kv) + column * from.element_stride;
        value = to_float(static_cast<const KvElement*>(from.data)[at], p.dtype_kv);
      }
      tensor[row * row_floats + column] = value;
    }
  };

  // 1. Q; padded rows are zero
  for (int i = thread; i < tile_q * head_dim; i += Tiling::threads) {
    const int row = i / head_dim, column = i % head_dim;
    const int token = first_row + row - sample.first_q;
    float value = 0;
    if (token >= 0 && token < sample.length_q) {
      const std::int64_t at =
          query_offset(p, p.q, sample, first_row + row, head) + column * p.q.element_stride;
      value = to_float(static_cast<const Element*>(p.q.data)[at]);
    }
    q[row * row_floats + column] = value;
  }

  const float logit_scale = logit_scale_of<KvElement>(p, sample, head_kv);
  Keys keys[rows];
  float m[rows], l[rows];
  float o[rows][columns_each] = {};
  for (int r = 0; r < rows; ++r) {
    keys[r] = visible_keys(p, sample, first_row + own_row + r);
    m[r] = -INFINITY;
    l[r] = 0;
  }

  const Keys block_keys = union_of_keys(p, sample, first_row, first_row + tile_q - 1);
  for (int tile = block_keys.begin / tile_kv * tile_kv; tile < block_keys.end; tile += tile_kv) {
    // 2. K replaces the previous V
    __syncthreads();
    copy_keys(p.k, tile);
    __syncthreads();

    // 3. S = Q K^T
    float s[rows][keys_each] = {};
    for (int d = 0; d < head_dim; ++d) {
      float k[keys_each];
#pragma unroll
      for (int j = 0; j < keys_each; ++j) k[j] = tensor[(lane + lanes * j) * row_floats + d];
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const float q_element = q[(own_row + r) * row_floats + d];
#pragma unroll
        for (int j = 0; j < keys_each; ++j) s[r][j] = fmaf(q_element, k[j], s[r][j]);
      }
    }

    // 4. P, and O for the new maximum
    float rescale[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const Alibi alibi = p.alibi_slopes.data != nullptr
                              ? alibi_of(p, sample, first_row + own_row + r, head)
                              : Alibi{0, 0};
      float m_new = m[r];
#pragma unroll
      for (int j = 0; j < keys_each; ++j) {
        const int key = tile + lane + lanes * j;
        const bool visible = key >= keys[r].begin && key < keys[r].end;
        s[r][j] = visible ? adjusted_logit(p, alibi, key, logit_scale * s[r][j]) : -INFINITY;
        m_new = fmaxf(m_new, s[r][j]);
      }
#pragma unroll
      for (int distance = lanes / 2; distance > 0; distance /= 2)
        m_new = fmaxf(m_new, __shfl_xor_sync(0xffffffffU, m_new, distance));
      const float reference = finite_or_zero(m_new);
      rescale[r] = exp2_of(m[r] - reference);
      m[r] = m_new;
      float sum = 0;
#pragma unroll
      for (int j = 0; j < keys_each; ++j) {
        const float weight = exp2_of(s[r][j] - reference);
        sum += weight;
        weights[(own_row + r) * weight_floats + lane + lanes * j] = round_to(p.p_dtype, weight);
      }
#pragma unroll
      for (int distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffU, sum, distance);
      l[r] = fmaf(l[r], rescale[r], sum);
    }

    // 5. V replaces K
    __syncthreads();
    copy_keys(p.v, tile);
    __syncthreads();

    // 6. O = O 2^(m - m') + P V
    float product[rows][columns_each] = {};
    for (int j = 0; j < tile_kv; ++j) {
      float weight[rows];
#pragma unroll
      for (int r = 0; r < rows; ++r) weight[r] = weights[(own_row + r) * weight_floats + j];
#pragma unroll
      for (int c = 0; c < columns_each; ++c) {
        const float v = tensor[j * row_floats + lane + lanes * c];
#pragma unroll
        for (int r = 0; r < rows; ++r) product[r][c] = fmaf(weight[r], v, product[r][c]);
      }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int c = 0; c < columns_each; ++c) o[r][c] = fmaf(o[r][c], rescale[r], product[r][c]);
    }
  }

  // 7. out = O / l; rows without keys and rows of padding get zeros and -infinity
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int position = first_row + own_row + r;
    if (position >= sample.positions) continue;
    const std::int64_t to = query_offset(p, p.out, sample, position, head);
    const Finished row = finish(p, sample, position, head, {m[r], l[r]});
    for (int c = 0; c < columns_each; ++c)
      store<Element>(p, to + (lane + lanes * c) * p.out.element_stride, row(o[r][c]));
    if (lane == 0) store_lse(p, sample, position, head, row.sums.m, row.sums.l);
  }
}

}  // namespace plumbline::attention
