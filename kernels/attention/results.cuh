// Stores results, or partial results that are combined later.
#pragma once

#include "kernels/attention/logits.cuh"

namespace plumbline::attention {

template <class Element>
__device__ __forceinline__ void store(const Parameters& p, std::int64_t offset, float value) {
  if (p.dtype_out == PLUMBLINE_F32) {
    static_cast<float*>(p.out.data)[offset] = value;
  } else {
    static_cast<Element*>(p.out.data)[offset] = from_float<Element>(value);
  }
}

// Stores two adjacent columns of a row of the result.
template <class Element>
__device__ __forceinline__ void store_pair(const Parameters& p, std::int64_t offset, float low,
                                           float high) {
  store<Element>(p, offset, low);
  store<Element>(p, offset + p.out.element_stride, high);
}

struct Sums {
  float m, l;
};

// A row's sums including its head's sink, which adds a term to l but has no value vector. o is
// multiplied by `factor` (the change to the new maximum, and V's scale) before it is divided by l.
// Rows of padding have no sink.
struct Finished {
  Sums sums;
  float factor;
  __device__ __forceinline__ float operator()(float o) const {
    return sums.l != 0 ? o * factor / sums.l : 0.0F;
  }
};
__device__ __forceinline__ bool has_finish(const Parameters& p) {
  return p.sinks.data != nullptr || p.v_scale.data != nullptr;
}
__device__ __forceinline__ Finished finish(const Parameters& p, const Sample& sample, int position,
                                           int head, Sums sums) {
  float factor = 1.0F;
  const int token = position - sample.first_q;
  if (p.sinks.data != nullptr && token >= 0 && token < sample.length_q) {
    const float sink = log2_e_float * head_value(p.sinks, 0, head), m = fmaxf(sums.m, sink),
                reference = finite_or_zero(m);
    factor = exp2_of(sums.m - reference);
    sums = {m, fmaf(sums.l, factor, exp2_of(sink - reference))};
  }
  if (p.v_scale.data != nullptr) factor *= head_value(p.v_scale, sample.index, head / p.group);
  return {sums, factor};
}

// Combines the softmax of `count` parts of the keys, each with o = sum 2^(s - m) v, m and l = sum
// 2^(s - m), in the order of the parts.
//   m = max m_i,  l = sum l_i 2^(m_i - m),  column of o = sum o_i 2^(m_i - m)
// `part(i)` returns m and l of part i, `column(i)` its o at the requested column. A part without a
// visible key has l = 0 and its o is not read.
struct Combined {
  Sums sums;
  float o;
};
template <class Part, class Column>
__device__ __forceinline__ Combined combine(int count, const Part& part, const Column& column) {
  Combined all{{-INFINITY, 0}, 0};
  for (int i = 0; i < count; ++i) all.sums.m = fmaxf(all.sums.m, part(i).m);
  const float reference = finite_or_zero(all.sums.m);
  for (int i = 0; i < count; ++i) {
    const Sums sums = part(i);
    if (sums.l == 0) continue;
    const float weight = exp2_of(sums.m - reference);
    all.sums.l = fmaf(sums.l, weight, all.sums.l);
    all.o = fmaf(column(i), weight, all.o);
  }
  return all;
}

// Stores one column of a row of decode: the result, or with splits the input of merge_splits.
template <class Element>
__device__ __forceinline__ void store_decoded(const Parameters& p, const Sample& sample,
                                              int position, int head, int split, int column,
                                              const Combined& value) {
  if (p.partial_out == nullptr) {
    const std::int64_t to =
        query_offset(p, p.out, sample, position, head) + column * p.out.element_stride;
    const Finished row = finish(p, sample, position, head, value.sums);
    store<Element>(p, to, row(value.o));
    if (column == 0) store_lse(p, sample, position, head, row.sums.m, row.sums.l);
    return;
  }
  const std::int64_t part = (split * p.rows + row_index(p, sample, position)) * p.heads_q + head;
  p.partial_out[part * p.head_dim_vo + column] = value.o;
  if (column != 0) return;
  p.partial_sums[2 * part] = value.sums.m;
  p.partial_sums[2 * part + 1] = value.sums.l;
}

// Combines the splits of every row. Grid [rows, heads_q]; any number of threads.
template <class Element>
__global__ void merge_splits(const Parameters p) {
  const int index = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const Row row = row_at(p, index);
  const auto at = [&](int split) { return (split * p.rows + index) * p.heads_q + head; };
  const auto part = [&](int split) {
    return Sums{p.partial_sums[2 * at(split)], p.partial_sums[2 * at(split) + 1]};
  };
  const std::int64_t to = query_offset(p, p.out, row.sample, row.position, head);
  for (int column = static_cast<int>(threadIdx.x); column < p.head_dim_vo;
       column += static_cast<int>(blockDim.x)) {
    const Combined all = combine(p.splits, part, [&](int split) {
      return p.partial_out[at(split) * p.head_dim_vo + column];
    });
    const Finished finished = finish(p, row.sample, row.position, head, all.sums);
    store<Element>(p, to + column * p.out.element_stride, finished(all.o));
    if (column == 0) store_lse(p, row.sample, row.position, head, finished.sums.m, finished.sums.l);
  }
}

}  // namespace plumbline::attention
