// The parameters of a launch of our CUDA kernels: addresses, sizes, mask. Passed by value; index
// arrays are in the memory of the device that runs the kernel.
#pragma once

#include <cstdint>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// Addresses of one tensor, strides in elements.
//   padded   [sample, first + token, head]
//              first = 0, or extent - length if the padding is on the left
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

// One fp32 number per head, for each sample or for all (stride 0). data nullptr: not part of the
// problem.
struct HeadValues {
  const float* data;
  std::int64_t sample_stride;
  std::int64_t head_stride;
};

struct Parameters {
  TensorMap q, k, v, out;
  TensorMap lse;                      // data nullptr: not requested
  const std::int32_t* cu_seqlens_q;   // [batch + 1]
  const std::int32_t* cu_seqlens_kv;  // [batch + 1]
  const std::int32_t* page_table;     // [batch, pages_per_sample]; nullptr unless paged
  std::int64_t pages_per_sample;
  std::int32_t page_size;
  // query rows of all samples: batch * seq_q if padded, otherwise the sum of the query lengths
  std::int64_t rows;
  std::int32_t heads_q;
  std::int32_t group;  // query heads that share a key head
  std::int32_t head_dim_qk;
  std::int32_t head_dim_vo;
  std::int32_t causal;    // a row sees no key after its diagonal
  std::int32_t top_left;  // the diagonal starts at key 0; otherwise it ends at the last key
  std::int32_t padded;
  std::int32_t padded_left;
  std::int32_t window_left, window_right;  // -1 = all
  // A logit in units of log2: logit_scale q.k, or softcap_log2 tanh(logit_scale q.k). K's scale
  // multiplies logit_scale.
  float logit_scale;   // softmax scale * log2(e); with a softcap: softmax scale / softcap
  float softcap_log2;  // softcap * log2(e); 0: none
  // True with a softcap or ALiBi; a single test, because registers are scarce.
  std::int32_t adjusts_logits;
  HeadValues k_scale, v_scale;     // per key head
  HeadValues alibi_slopes, sinks;  // per query head, in natural units
  std::uint32_t dtype_kv;          // plumbline_dtype
  std::uint32_t dtype_out;         // plumbline_dtype
  std::uint32_t p_dtype;           // prefill_simt: the dtype that P is rounded to
  // Decode: a sample's keys are divided into splits of split_keys. Each split stores m, l and O
  // before the division by l; merge_splits combines them.
  std::int32_t splits;
  std::int32_t split_keys;
  float* partial_out;   // [splits, rows, heads_q, head_dim_vo]; nullptr if splits = 1
  float* partial_sums;  // [splits, rows, heads_q, 2]: m in units of log2, l
};

}  // namespace plumbline::attention
