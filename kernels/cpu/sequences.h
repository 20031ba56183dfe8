// The addresses of a problem's tokens, and the keys that a query sees, in every layout. One address
// map serves padded, ragged and paged layouts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "harness/provider/plumbline_provider.h"
#include "kernels/cpu/dtype.h"
#include "kernels/cpu/variants.h"

namespace plumbline::cpu {

// One tensor, addressed by (sample, token, head). `token` counts the sample's valid tokens from 0;
// in a padded layout the padded tokens are those below 0 and from the sample's length on. Strides
// in elements.
//   padded   [sample, first(sample) + token, head]
//              first = 0, or extent - length if the padding is on the left
//   ragged   [cu_seqlens[sample] + token, head]
//   paged    [page_table[sample, token / page_size], token % page_size, head]
struct TokenTensor {
  std::byte* data = nullptr;
  std::uint32_t dtype = PLUMBLINE_DTYPE_NONE;
  std::int64_t outer_stride = 0;  // sample or page; 0 if ragged
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t element_stride = 1;
  std::int64_t extent = 0;                   // padded: tokens of a sample with its padding
  bool padded_left = false;                  // padded
  const std::int32_t* lengths = nullptr;     // [batch]
  const std::int32_t* cu_seqlens = nullptr;  // ragged: [batch + 1]
  const std::int32_t* page_table = nullptr;  // paged: [batch, pages_per_sample]
  std::int64_t pages_per_sample = 0;
  std::int64_t page_size = 0;

  std::int64_t first(std::int64_t sample) const {
    return padded_left ? extent - lengths[sample] : 0;
  }
  std::int64_t offset(std::int64_t sample, std::int64_t token, std::int64_t head) const {
    const std::int64_t in_head = head * head_stride;
    if (page_table != nullptr) {
      const std::int64_t page = page_table[sample * pages_per_sample + token / page_size];
      return page * outer_stride + token % page_size * token_stride + in_head;
    }
    if (cu_seqlens != nullptr) return (cu_seqlens[sample] + token) * token_stride + in_head;
    return sample * outer_stride + (first(sample) + token) * token_stride + in_head;
  }
  std::byte* at(std::int64_t sample, std::int64_t token, std::int64_t head) const {
    return data + offset(sample, token, head) * size_in_bytes(dtype);
  }
};

// One fp32 number for each sample and head; `absent` if the problem has no such tensor.
struct HeadValues {
  const float* data = nullptr;
  std::int64_t sample_stride = 0;
  std::int64_t head_stride = 0;
  float absent = 0;
  float at(std::int64_t sample, std::int64_t head) const {
    return data == nullptr ? absent : data[sample * sample_stride + head * head_stride];
  }
};

// One fp32 number for each sample, head and block of `tokens` tokens; tokens 0: one block.
struct TokenScales : HeadValues {
  std::int64_t tokens = 0;
  std::int64_t block_stride = 0;
  float at(std::int64_t sample, std::int64_t head, std::int64_t token) const {
    const float* first = data + sample * sample_stride + head * head_stride;
    return data == nullptr ? absent : first[tokens == 0 ? 0 : token / tokens * block_stride];
  }
};

// The keys that a row sees with a bit mask; words nullptr: no bit mask.
struct RowBits {
  const std::uint32_t* words = nullptr;
  std::int64_t stride = 1;
  bool sees(std::int64_t key) const { return (words[key / 32 * stride] >> (key % 32) & 1U) != 0; }
};
struct MaskBits {
  const std::uint32_t* data = nullptr;
  std::int64_t sample_stride = 0, row_stride = 0, word_stride = 0;
  RowBits row(std::int64_t sample, std::int64_t token) const {
    return {data == nullptr ? nullptr : data + sample * sample_stride + token * row_stride,
            word_stride};
  }
};

// A problem with its tensors. total_q and total_kv are set for every layout. lse.data and
// max_logit.data are nullptr if not requested.
struct Attention {
  plumbline_problem problem{};
  TokenTensor q, k, v, out, lse, max_logit;
  MaskBits mask;
  TokenScales q_scale, k_scale, v_scale;     // of fp8; 1 if absent
  float out_scale = 1;                       // of an fp8 output
  HeadValues alibi_slopes, sinks;            // [heads_q]; 0 and -infinity if absent
  const std::int32_t* lengths_q = nullptr;   // [batch]
  const std::int32_t* lengths_kv = nullptr;  // [batch]
  // query heads that share a key head
  std::int64_t group() const { return problem.heads_q / problem.heads_kv; }
  bool scales_tokens() const { return problem.scale_tokens > 0; }
};

Attention bind(const plumbline_problem& problem, const plumbline_tensors& tensors);

// A half-open range of tokens or keys of one sample.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

// Returns the keys that query `token` of a sample sees; {0, 0} if none. With a bit mask: from the
// first visible key to the last.
Range visible_keys(const Attention& attention, const Variant& variant, std::int64_t sample,
                   std::int64_t token);

// Returns the query tokens that are computed: the valid ones, and also the padded ones if they
// attend.
Range computed_tokens(const Attention& attention, const Variant& variant, std::int64_t sample);

// Sets all padded rows of a padded layout to zero, and their LSE to -infinity.
void clear_padded_rows(const Attention& attention);

}  // namespace plumbline::cpu
