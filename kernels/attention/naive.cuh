// Plain attention: one thread block for each query row of each head. Slow and simple; supports any
// head dimension and any strides.
//
//   q [head_dim_qk], out [head_dim_vo]      this block's row, fp32 in shared memory
//   for each tile of 128 keys, thread j has key tile + j:
//     s_j = scale log2(e) q . k_j           in chains of 32 fma, then softcap and ALiBi
//     m' = max(m, max_j s_j)
//     p_j = 2^(s_j - m')                    kept in fp32
//     l = l 2^(m - m') + sum_j p_j
//     out = out 2^(m - m') + sum_j p_j v_j  thread d has columns d, d + 128, ...
//   out / l,  lse = ln(2) (m + log2 l)
//
// A row's bits depend only on its own keys, because tiles start at multiples of 128 keys from the
// sample's first key, and no sum crosses rows.
#pragma once

#include "kernels/attention/results.cuh"

namespace plumbline::attention {

// Threads of a block, which is also the number of keys per tile.
inline constexpr int naive_threads = 128;

// The element types that the kernel's template argument stands for. The argument is one type for Q,
// K and V or, for K and V in fp8, WithFp8<NaiveTypes<type of Q>>.
template <class Types>
struct NaiveTypes {
  using Element = Types;
  using KvElement = Types;
};
template <class Types>
struct NaiveTypes<WithFp8<NaiveTypes<Types>>> : WithFp8<NaiveTypes<Types>> {};

// Returns q . k in chains of 32 fma.
template <class Element>
__device__ float dot(const float* q, const Element* k, std::int64_t stride, int depth,
                     std::uint32_t dtype) {
  float sum = 0;
  for (int begin = 0; begin < depth; begin += 32) {
    float chain = 0;
    for (int d = begin; d < depth && d < begin + 32; ++d)
      chain = fmaf(q[d], to_float(k[d * stride], dtype), chain);
    sum += chain;
  }
  return sum;
}

// Grid [rows, heads_q]; shared memory: head_dim_qk + head_dim_vo + naive_threads floats.
template <class Types>
__global__ void __launch_bounds__(naive_threads) naive_attention(const Parameters p) {
  using Element = typename NaiveTypes<Types>::Element;
  using KvElement = typename NaiveTypes<Types>::KvElement;
  float* const q = reinterpret_cast<float*>(simt::dynamic_shared());  // [head_dim_qk]
  float* const out = q + p.head_dim_qk;                               // [head_dim_vo]
  float* const weight = out + p.head_dim_vo;  // [naive_threads] s, then p of a tile

  const int thread = static_cast<int>(threadIdx.x);
  const Row row = row_at(p, static_cast<int>(blockIdx.x));
  const Sample& sample = row.sample;
  const int head = static_cast<int>(blockIdx.y), head_kv = head / p.group;
  const Keys keys = visible_keys(p, sample, row.position);

  if (keys.end > keys.begin) {
    const Element* from =
        static_cast<const Element*>(p.q.data) + query_offset(p, p.q, sample, row.position, head);
    for (int d = thread; d < p.head_dim_qk; d += naive_threads)
      q[d] = to_float(from[d * p.q.element_stride]);
  }
  for (int d = thread; d < p.head_dim_vo; d += naive_threads) out[d] = 0.0F;
  __syncthreads();

  const float logit_scale = logit_scale_of<KvElement>(p, sample, head_kv);
  const Alibi alibi =
      p.alibi_slopes.data != nullptr ? alibi_of(p, sample, row.position, head) : Alibi{0, 0};
  float m = -INFINITY;
  float l = 0;
  for (int tile = keys.begin / naive_threads * naive_threads; tile < keys.end;
       tile += naive_threads) {
    // 1. s = scale log2(e) q . k
    const int key = tile + thread;
    float s = -INFINITY;
    if (key >= keys.begin && key < keys.end) {
      const KvElement* k =
          static_cast<const KvElement*>(p.k.data) + key_offset(p, p.k, sample, key, head_kv);
      s = adjusted_logit(p, alibi, key,
                         logit_scale * dot(q, k, p.k.element_stride, p.head_dim_qk, p.dtype_kv));
    }
    weight[thread] = s;
    __syncthreads();
    // 2. p = 2^(s - m'); every thread computes the same maximum
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
    const int last =
        keys.end - tile < naive_threads ? static_cast<int>(keys.end - tile) : naive_threads;
    for (int d = thread; d < p.head_dim_vo; d += naive_threads) {
      float product = 0;
      for (int j = first; j < last; ++j) {
        const KvElement* v =
            static_cast<const KvElement*>(p.v.data) + key_offset(p, p.v, sample, tile + j, head_kv);
        product = fmaf(weight[j], to_float(v[d * p.v.element_stride], p.dtype_kv), product);
      }
      out[d] = fmaf(out[d], rescale, product);
    }
    __syncthreads();
  }

  // 5. out / l; rows without keys and rows of padding get zeros and -infinity
  const std::int64_t to = query_offset(p, p.out, sample, row.position, head);
  const Finished finished = finish(p, sample, row.position, head, {m, l});
  for (int d = thread; d < p.head_dim_vo; d += naive_threads)
    store<Element>(p, to + d * p.out.element_stride, finished(out[d]));
  if (thread == 0) store_lse(p, sample, row.position, head, finished.sums.m, finished.sums.l);
}

}  // namespace plumbline::attention
