// The kernel of naive.h.
//
//   q [head_dim_qk], out [head_dim_vo]      this block's row, fp32 in shared memory
//   for each tile of 128 keys, thread j has key tile + j:
//     s_j = scale log2(e) q . k_j           chains of 32 fma, added in order
//     m' = max(m, max_j s_j)
//     p_j = 2^(s_j - m')                    kept in fp32
//     l = l 2^(m - m') + sum_j p_j
//     out = out 2^(m - m') + sum_j p_j v_j  thread d has columns d, d + 128, ...
//   out / l,  lse = ln(2) (m + log2 l)
//
// Tiles start at multiples of 128 keys from the sample's first, and no sum crosses rows: a row's bits depend on its own keys only.
#pragma once

#include <math.h>

#include "kernels/attention/naive.h"
#include "kernels/cpu/exp2_polynomial.h"

namespace plumbline::attention {

// 2^x for x <= 0, within 2 ulp; exactly 0 below -126.
__device__ inline float exp2_of(float x) {
  using namespace exp2_polynomial;
  if (x < -126.0F) return 0.0F;
  const float whole = rintf(x);
  const float f = x - whole;
  float power = fmaf(c6, f, c5);
  power = fmaf(power, f, c4);
  power = fmaf(power, f, c3);
  power = fmaf(power, f, c2);
  power = fmaf(power, f, c1);
  power = fmaf(power, f, 1.0F);
  return ldexpf(power, static_cast<int>(whole));
}

// A query row: its sample, and its token within the sample's valid ones (outside [0, length_q): padding).
struct Row {
  std::int64_t sample;
  std::int64_t token;
  std::int64_t length_q;
  std::int64_t length_kv;
};

__device__ inline Row find_row(const NaiveParameters& p, std::int64_t index) {
  Row row{};
  if (p.padded) {
    row.sample = index / p.q.extent;
  } else {
    while (p.cu_seqlens_q[row.sample + 1] <= index) ++row.sample;
  }
  row.length_q = p.cu_seqlens_q[row.sample + 1] - p.cu_seqlens_q[row.sample];
  row.length_kv = p.cu_seqlens_kv[row.sample + 1] - p.cu_seqlens_kv[row.sample];
  const std::int64_t first = p.padded_left ? p.q.extent - row.length_q : 0;
  row.token = p.padded ? index % p.q.extent - first : index - p.cu_seqlens_q[row.sample];
  return row;
}

// Offset of element 0 of the vector of (row, head); `map` is that of q, out or lse.
__device__ inline std::int64_t query_offset(const NaiveParameters& p, const TensorMap& map, std::int64_t index, std::int64_t head) {
  if (!p.padded) return index * map.token_stride + head * map.head_stride;
  return index / map.extent * map.outer_stride + index % map.extent * map.token_stride + head * map.head_stride;
}

// Likewise of (key, key head) of k or v.
__device__ inline std::int64_t key_offset(const NaiveParameters& p, const TensorMap& map, const Row& row, std::int64_t key,
                                          std::int64_t head_kv) {
  const std::int64_t in_head = head_kv * map.head_stride;
  if (p.page_table != nullptr) {
    const std::int64_t page = p.page_table[row.sample * p.pages_per_sample + key / p.page_size];
    return page * map.outer_stride + key % p.page_size * map.token_stride + in_head;
  }
  if (!p.padded) return (p.cu_seqlens_kv[row.sample] + key) * map.token_stride + in_head;
  const std::int64_t first = p.padded_left ? map.extent - row.length_kv : 0;
  return row.sample * map.outer_stride + (first + key) * map.token_stride + in_head;
}

// Keys [begin, end) that the row sees; begin == end if none.
struct Keys {
  std::int64_t begin;
  std::int64_t end;
};

__device__ inline Keys visible_keys(const NaiveParameters& p, const Row& row) {
  if (row.token < 0 || row.token >= row.length_q) return {0, 0};  // padding
  const std::int64_t diagonal = p.top_left ? row.token : row.token + row.length_kv - row.length_q;
  std::int64_t begin = 0;
  std::int64_t end = row.length_kv;
  if (p.window_left >= 0 && diagonal - p.window_left > begin) begin = diagonal - p.window_left;
  if (p.window_right >= 0 && diagonal + p.window_right + 1 < end) end = diagonal + p.window_right + 1;
  if (p.causal && diagonal + 1 < end) end = diagonal + 1;
  return end > begin ? Keys{begin, end} : Keys{0, 0};
}

// q . k in chains of 32 fma.
template <class Element>
__device__ float dot(const float* q, const Element* k, std::int64_t stride, int depth) {
  float sum = 0;
  for (int begin = 0; begin < depth; begin += 32) {
    float chain = 0;
    for (int d = begin; d < depth && d < begin + 32; ++d) chain = fmaf(q[d], static_cast<float>(k[d * stride]), chain);
    sum += chain;
  }
  return sum;
}

template <class Element>
__device__ void store(const NaiveParameters& p, std::int64_t offset, float value) {
  if (p.dtype_out == PLUMBLINE_F32) {
    static_cast<float*>(p.out.data)[offset] = value;
  } else {
    static_cast<Element*>(p.out.data)[offset] = Element(value);
  }
}

// Grid [rows, heads_q], naive_threads threads, naive_shared_bytes of shared memory.
template <class Element>
__global__ void naive_attention(const NaiveParameters p) {
  extern __shared__ float shared[];
  float* const q = shared;                    // [head_dim_qk]
  float* const out = q + p.head_dim_qk;       // [head_dim_vo]
  float* const weight = out + p.head_dim_vo;  // [naive_threads] s, then p of a tile

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t index = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const std::int64_t head_kv = head / p.group;
  const Row row = find_row(p, index);
  const Keys keys = visible_keys(p, row);

  if (keys.end > keys.begin) {
    const Element* from = static_cast<const Element*>(p.q.data) + query_offset(p, p.q, index, head);
    for (int d = thread; d < p.head_dim_qk; d += naive_threads) q[d] = static_cast<float>(from[d * p.q.element_stride]);
  }
  for (int d = thread; d < p.head_dim_vo; d += naive_threads) out[d] = 0.0F;
  __syncthreads();

  float m = -INFINITY;
  float l = 0;
  for (std::int64_t tile = keys.begin / naive_threads * naive_threads; tile < keys.end; tile += naive_threads) {
    // 1. s = scale log2(e) q . k
    const std::int64_t key = tile + thread;
    float s = -INFINITY;
    if (key >= keys.begin && key < keys.end) {
      const Element* k = static_cast<const Element*>(p.k.data) + key_offset(p, p.k, row, key, head_kv);
      s = p.scale_log2 * dot(q, k, p.k.element_stride, p.head_dim_qk);
    }
    weight[thread] = s;
    __syncthreads();
    // 2. p = 2^(s - m'): every thread finds the same maximum
    float m_new = m;
    for (int j = 0; j < naive_threads; ++j) m_new = fmaxf(m_new, weight[j]);
    __syncthreads();
    weight[thread] = exp2_of(s - m_new);
    __syncthreads();
    // 3. l = l 2^(m - m') + sum p
    const float rescale = exp2_of(m - m_new);
    float sum = 0;
    for (int j = 0; j < naive_threads; ++j) sum += weight[j];
    l = fmaf(l, rescale, sum);
    m = m_new;
    // 4. out = out 2^(m - m') + p V
    const int first = keys.begin > tile ? static_cast<int>(keys.begin - tile) : 0;
    const int last = keys.end - tile < naive_threads ? static_cast<int>(keys.end - tile) : naive_threads;
    for (int d = thread; d < p.head_dim_vo; d += naive_threads) {
      float product = 0;
      for (int j = first; j < last; ++j) {
        const Element* v = static_cast<const Element*>(p.v.data) + key_offset(p, p.v, row, tile + j, head_kv);
        product = fmaf(weight[j], static_cast<float>(v[d * p.v.element_stride]), product);
      }
      out[d] = fmaf(out[d], rescale, product);
    }
    __syncthreads();
  }

  // A row without keys, or of padding: zeros and -infinity.
  const bool empty = keys.end == keys.begin;
  const std::int64_t to = query_offset(p, p.out, index, head);
  for (int d = thread; d < p.head_dim_vo; d += naive_threads) store<Element>(p, to + d * p.out.element_stride, empty ? 0.0F : out[d] / l);
  if (p.lse.data != nullptr && thread == 0) {
    const double lse = empty ? -INFINITY : 0.69314718055994530942 * (static_cast<double>(m) + log2(static_cast<double>(l)));
    static_cast<float*>(p.lse.data)[query_offset(p, p.lse, index, head)] = static_cast<float>(lse);
  }
}

}  // namespace plumbline::attention
