// Builds address maps from the tensors of the C ABI, and computes which keys each query sees.
#include "kernels/cpu/sequences.h"

#include <cmath>
#include <numeric>

#include "kernels/cpu/numbers.h"

namespace plumbline::cpu {
namespace {

const std::int32_t* indices(const plumbline_tensor& tensor) {
  return static_cast<const std::int32_t*>(tensor.data);
}

// Returns the map of a tensor with dimensions [outer,] token, head [, element]; row outputs have no
// element dimension.
TokenTensor map_tensor(const plumbline_tensor& tensor, bool has_outer, bool has_element) {
  TokenTensor map;
  if (tensor.rank == 0) return map;
  const int token = has_outer ? 1 : 0;
  map.data = static_cast<std::byte*>(tensor.data);
  map.dtype = tensor.dtype;
  map.outer_stride = has_outer ? tensor.stride[0] : 0;
  map.token_stride = tensor.stride[token];
  map.head_stride = tensor.stride[token + 1];
  map.element_stride = has_element ? tensor.stride[token + 2] : 1;
  map.extent = tensor.extent[token];
  return map;
}

TokenTensor map_queries(const plumbline_problem& problem, const plumbline_tensors& tensors,
                        const plumbline_tensor& tensor) {
  const bool padded = is_padded(problem.layout);
  TokenTensor map = map_tensor(tensor, padded, tensor.rank == (padded ? 4U : 3U));
  map.padded_left = padded && problem.padding == PLUMBLINE_PADDING_LEFT;
  map.lengths = indices(tensors.seqlens_q);
  if (!padded) map.cu_seqlens = indices(tensors.cu_seqlens_q);
  return map;
}

TokenTensor map_keys(const plumbline_problem& problem, const plumbline_tensors& tensors,
                     const plumbline_tensor& tensor) {
  const bool padded = is_padded(problem.layout);
  const bool paged = is_paged(problem.layout);
  TokenTensor map = map_tensor(tensor, padded || paged, true);
  map.padded_left = padded && problem.padding == PLUMBLINE_PADDING_LEFT;
  map.lengths = indices(tensors.seqlens_kv);
  if (paged) {
    map.page_table = indices(tensors.page_table);
    map.pages_per_sample = tensors.page_table.stride[0];
    map.page_size = problem.page_size;
  } else if (!padded) {
    map.cu_seqlens = indices(tensors.cu_seqlens_kv);
  }
  return map;
}

// [heads] or [samples, heads].
HeadValues map_head_values(const plumbline_tensor& tensor, float absent) {
  if (tensor.rank == 0) return {.absent = absent};
  return {static_cast<const float*>(tensor.data), tensor.rank == 2 ? tensor.stride[0] : 0,
          tensor.stride[tensor.rank - 1], absent};
}

// [samples, heads] or [samples, heads, blocks].
TokenScales map_scales(const plumbline_tensor& tensor, std::int64_t tokens) {
  if (tensor.rank == 0) return {{.absent = 1}};
  return {{static_cast<const float*>(tensor.data), tensor.stride[0], tensor.stride[1], 1},
          tokens,
          tokens == 0 ? 0 : tensor.stride[2]};
}

MaskBits map_mask(const plumbline_tensor& tensor) {
  if (tensor.rank == 0) return {};
  return {static_cast<const std::uint32_t*>(tensor.data), tensor.stride[0], tensor.stride[1],
          tensor.stride[2]};
}

Range keys_of_mask_and_window(const plumbline_problem& problem, const Variant& variant,
                              std::int64_t length_q, std::int64_t length_kv, std::int64_t token) {
  const bool causal = problem.mask != PLUMBLINE_MASK_NONE;
  // The key on the diagonal of this row: its own position (top left), or aligned so that the last
  // query is on the last key (bottom right).
  const std::int64_t diagonal =
      problem.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT ? token : token + length_kv - length_q;
  Range keys{0, length_kv};
  if (problem.window_left >= 0)
    keys.begin = std::max<std::int64_t>(0, diagonal - problem.window_left);
  if (problem.window_right >= 0) keys.end = std::min(keys.end, diagonal + problem.window_right + 1);
  if (causal) keys.end = std::min(keys.end, diagonal + 1);
  if (causal && keys.end > keys.begin)
    keys.end = std::min(keys.end + variant.extra_keys, length_kv);
  return keys;
}

Range keys_of_bits(const RowBits& bits, std::int64_t length_kv) {
  Range keys{0, length_kv};
  while (keys.begin < keys.end && !bits.sees(keys.begin)) ++keys.begin;
  while (keys.begin < keys.end && !bits.sees(keys.end - 1)) --keys.end;
  return keys;
}

}  // namespace

Attention bind(const plumbline_problem& problem, const plumbline_tensors& tensors) {
  Attention attention;
  attention.problem = problem;
  attention.q = map_queries(problem, tensors, tensors.q);
  attention.k = map_keys(problem, tensors, tensors.k);
  attention.v = map_keys(problem, tensors, tensors.v);
  attention.out = map_queries(problem, tensors, tensors.out);
  if (problem.lse_wanted != 0) attention.lse = map_queries(problem, tensors, tensors.lse);
  if (const plumbline_tensor* rows = provider::find_output(tensors, "max_logit"))
    attention.max_logit = map_queries(problem, tensors, *rows);
  attention.mask = map_mask(tensors.mask);
  attention.q_scale = map_scales(tensors.q_scale, problem.scale_tokens);
  attention.k_scale = map_scales(tensors.k_scale, problem.scale_tokens);
  attention.v_scale = map_scales(tensors.v_scale, problem.scale_tokens);
  if (provider::has_field(tensors, &plumbline_tensors::out_scale) && tensors.out_scale.rank != 0)
    attention.out_scale = *static_cast<const float*>(tensors.out_scale.data);
  attention.alibi_slopes = map_head_values(tensors.alibi_slopes, 0.0F);
  attention.sinks = map_head_values(tensors.sinks, -HUGE_VALF);
  attention.lengths_q = indices(tensors.seqlens_q);
  attention.lengths_kv = indices(tensors.seqlens_kv);
  const auto total = [&](const std::int32_t* lengths) {
    return std::accumulate(lengths, lengths + problem.batch, std::int64_t{0});
  };
  attention.problem.total_q = total(attention.lengths_q);
  attention.problem.total_kv = total(attention.lengths_kv);
  return attention;
}

Range visible_keys(const Attention& attention, const Variant& variant, std::int64_t sample,
                   std::int64_t token) {
  const std::int64_t length_q = attention.lengths_q[sample],
                     length_kv = attention.lengths_kv[sample];
  const RowBits bits = attention.mask.row(sample, token);
  Range keys;
  if (bits.words == nullptr) {
    keys = keys_of_mask_and_window(attention.problem, variant, length_q, length_kv, token);
  } else if (token >= 0 && token < length_q) {  // the mask has no bits for padded rows
    keys = keys_of_bits(bits, length_kv);
  }
  if (variant.drop_last_key) keys.end = std::min(keys.end, length_kv - 1);
  return keys.end > keys.begin ? keys : Range{};
}

Range computed_tokens(const Attention& attention, const Variant& variant, std::int64_t sample) {
  if (!is_padded(attention.problem.layout) ||
      variant.padded_rows != PLUMBLINE_PADDED_ROWS_ATTENDED) {
    return {0, attention.lengths_q[sample]};
  }
  const std::int64_t first = attention.q.first(sample);
  return {-first, attention.q.extent - first};
}

void clear_padded_rows(const Attention& attention) {
  const plumbline_problem& problem = attention.problem;
  const auto clear = [&](std::int64_t sample, std::int64_t token, std::int64_t head) {
    std::byte* row = attention.out.at(sample, token, head);
    const std::int64_t step = attention.out.element_stride * size_in_bytes(attention.out.dtype);
    for (std::int64_t d = 0; d < problem.head_dim_vo; ++d)
      encode_one(attention.out.dtype, 0.0F, row + d * step);
    if (attention.lse.data != nullptr)
      encode_one(PLUMBLINE_F32, -HUGE_VALF, attention.lse.at(sample, token, head));
  };
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    const std::int64_t first = attention.out.first(sample);
    for (std::int64_t token = -first; token < attention.out.extent - first; ++token) {
      if (token >= 0 && token < attention.lengths_q[sample]) continue;
      for (std::int64_t head = 0; head < problem.heads_q; ++head) clear(sample, token, head);
    }
  }
}

}  // namespace plumbline::cpu
