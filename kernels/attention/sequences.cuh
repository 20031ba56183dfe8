// The addresses of rows and keys in each layout, and the keys that a row sees.
#pragma once

#include "kernels/attention/parameters.h"
#include "kernels/attention/simt.h"
#include "kernels/cpu/log2_series.h"

namespace plumbline::attention {

// One sequence of the batch. A *position* counts the query rows of a sample in memory, including
// padding. A *token* counts only valid rows: token = position - first_q, valid in [0, length_q).
struct Sample {
  int index;
  int length_q, length_kv;
  int first_q, first_kv;  // 0, or extent - length if the padding is on the left
  int positions;          // query rows in memory
};

__device__ inline Sample sample_at(const Parameters& p, int index) {
  Sample s{};
  s.index = index;
  s.length_q = p.cu_seqlens_q[index + 1] - p.cu_seqlens_q[index];
  s.length_kv = p.cu_seqlens_kv[index + 1] - p.cu_seqlens_kv[index];
  s.first_q = p.padded_left ? static_cast<int>(p.q.extent) - s.length_q : 0;
  s.first_kv = p.padded_left ? static_cast<int>(p.k.extent) - s.length_kv : 0;
  s.positions = p.padded ? static_cast<int>(p.q.extent) : s.length_q;
  return s;
}

// The row of the batch, in [0, p.rows), for a sample and position; row_at() is the inverse.
__device__ inline std::int64_t row_index(const Parameters& p, const Sample& sample, int position) {
  return (p.padded ? static_cast<std::int64_t>(sample.index) * p.q.extent
                   : p.cu_seqlens_q[sample.index]) +
         position;
}
struct Row {
  Sample sample;
  int position;
};
__device__ inline Row row_at(const Parameters& p, int index) {
  const int extent = static_cast<int>(p.q.extent);
  if (p.padded) return {sample_at(p, index / extent), index % extent};
  int sample = 0;
  while (p.cu_seqlens_q[sample + 1] <= index) ++sample;
  return {sample_at(p, sample), index - p.cu_seqlens_q[sample]};
}

// Returns the offset of element 0 of the vector of (position, head); `map` is that of q, out or
// lse.
__device__ inline std::int64_t query_offset(const Parameters& p, const TensorMap& map,
                                            const Sample& sample, int position, int head) {
  const std::int64_t outer =
      p.padded ? sample.index * map.outer_stride : p.cu_seqlens_q[sample.index] * map.token_stride;
  return outer + position * map.token_stride + head * map.head_stride;
}

// Returns the offset of element 0 of the vector of (key, key head); `map` is that of k or v.
__device__ inline std::int64_t key_offset(const Parameters& p, const TensorMap& map,
                                          const Sample& sample, int key, int head_kv) {
  const std::int64_t in_head = head_kv * map.head_stride;
  if (p.page_table != nullptr) {
    const std::int64_t page =
        p.page_table[static_cast<std::int64_t>(sample.index) * p.pages_per_sample +
                     key / p.page_size];
    return page * map.outer_stride + key % p.page_size * map.token_stride + in_head;
  }
  if (!p.padded) return (p.cu_seqlens_kv[sample.index] + key) * map.token_stride + in_head;
  return sample.index * map.outer_stride + (sample.first_kv + key) * map.token_stride + in_head;
}

// Keys [begin, end); begin >= end: none.
struct Keys {
  int begin;
  int end;
};

// Returns the keys that a token sees. Both ends increase with the token or stay equal.
__device__ inline Keys keys_of_token(const Parameters& p, const Sample& sample, int token) {
  const int diagonal = p.top_left ? token : token + sample.length_kv - sample.length_q;
  int begin = 0;
  int end = sample.length_kv;
  if (p.window_left >= 0 && diagonal - p.window_left > begin) begin = diagonal - p.window_left;
  if (p.window_right >= 0 && diagonal + p.window_right + 1 < end)
    end = diagonal + p.window_right + 1;
  if (p.causal && diagonal + 1 < end) end = diagonal + 1;
  return {begin, end};
}

// Returns the keys that a position sees; none if it is padding.
__device__ inline Keys visible_keys(const Parameters& p, const Sample& sample, int position) {
  const int token = position - sample.first_q;
  if (token < 0 || token >= sample.length_q) return {0, 0};
  const Keys keys = keys_of_token(p, sample, token);
  return keys.end > keys.begin ? keys : Keys{0, 0};
}

// Returns a range that contains every key seen by a position in [first, last], and perhaps others.
__device__ inline Keys union_of_keys(const Parameters& p, const Sample& sample, int first,
                                     int last) {
  int first_token = first - sample.first_q;
  int last_token = last - sample.first_q;
  if (first_token < 0) first_token = 0;
  if (last_token >= sample.length_q) last_token = sample.length_q - 1;
  if (last_token < first_token) return {0, 0};
  return {keys_of_token(p, sample, first_token).begin, keys_of_token(p, sample, last_token).end};
}

__device__ __forceinline__ float head_value(const HeadValues& values, int sample, int head) {
  return values.data[sample * values.sample_stride + head * values.head_stride];
}

// Stores the LSE of m, in units of log2, and l. A row without a visible key has l = 0 and LSE
// -infinity.
__device__ inline void store_lse(const Parameters& p, const Sample& sample, int position, int head,
                                 float m, float l) {
  if (p.lse.data == nullptr) return;
  const double lse =
      l == 0 ? -INFINITY : ln_2 * (static_cast<double>(m) + log2_series(static_cast<double>(l)));
  static_cast<float*>(p.lse.data)[query_offset(p, p.lse, sample, position, head)] =
      static_cast<float>(lse);
}

}  // namespace plumbline::attention
