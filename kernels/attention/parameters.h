// What a launch of our CUDA kernels is given: addresses, sizes, mask. Passed by value; index arrays
// lie where the kernel runs.
#pragma once

#include <cstdint>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// Addresses of one tensor, strides in elements.
//   padded   [sample, first + token, head]
//              first = 0, or extent - length where the padding is on the left
//   ragged   [cu_seqlens[sample] + token, head]
//              outer_stride = 0
//   paged    [page_table[sample, token / page_size], token % page_size, head]
//              keys and values only
struct TensorMap {
  void* data;
  std::int64_t outer_stride;
  std::int64_t token_stride;
  std::int64_t head_stride;
  std::int64_t element_stride;
  std::int64_t extent;  // tokens of a sample with its padding; padded layouts
};

// One fp32 number for each head, of a sample or of all (stride 0). data nullptr: the problem has
// none.
struct HeadValues {
  const float* data;
  std::int64_t sample_stride;
  std::int64_t head_stride;
};

struct Parameters {
  TensorMap q, k, v, out;
  TensorMap lse;                      // data nullptr: not asked for
  const std::int32_t* cu_seqlens_q;   // [batch + 1]
  const std::int32_t* cu_seqlens_kv;  // [batch + 1]
  const std::int32_t* page_table;     // [batch, pages_per_sample]; nullptr unless paged
  std::int64_t pages_per_sample;
  std::int32_t page_size;
  // query rows of all samples, padded: batch * seq_q; otherwise the sum of the query lengths
  std::int64_t rows;
  std::int32_t heads_q;
  std::int32_t group;  // query heads that share a key head
  std::int32_t head_dim_qk;
  std::int32_t head_dim_vo;
  std::int32_t causal;    // a row sees no key beyond its diagonal
  std::int32_t top_left;  // the diagonal starts at key 0; otherwise it ends at the last key
  std::int32_t padded;
  std::int32_t padded_left;
  std::int32_t window_left, window_right;  // -1 = all
  // A logit in units of log2: logit_scale q.k, or softcap_log2 tanh(logit_scale q.k); K's scale
  // multiplies logit_scale.
  float logit_scale;   // softmax scale * log2(e); with a softcap: softmax scale / softcap
  float softcap_log2;  // softcap * log2(e); 0: none
  // Whether there is a softcap or ALiBi: one test where registers are scarce.
  std::int32_t adjusts_logits;
  HeadValues k_scale, v_scale;     // of key heads
  HeadValues alibi_slopes, sinks;  // of query heads, in natural units
  std::uint32_t dtype_kv;          // plumbline_dtype
  std::uint32_t dtype_out;         // plumbline_dtype
  std::uint32_t p_dtype;           // prefill_simt: what P is rounded to
  // Decode: the keys of a sample in splits of split_keys. Each leaves O, not yet divided, m and l,
  // which merge_splits puts together.
  std::int32_t splits;
  std::int32_t split_keys;
  float*
      partial_out;  // [splits, rows, heads_q, head_dim_vo]; nullptr: one split, which stores `out`
  float* partial_sums;  // [splits, rows, heads_q, 2]: m in units of log2, l
};

}  // namespace plumbline::attention
