// FlashAttention-2 as Transformers calls it on padded batches: removes the padding, computes
// attention on the ragged batch of valid tokens, and writes zeros to the padding.
#include <cstring>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/workspace.h"

namespace plumbline::cpu {
namespace {

// Packed tensors of the valid tokens: q [total_q, heads_q, head_dim_qk]; k, v and out in the same
// way; lse [total_q, heads_q].
struct Buffers {
  std::byte* q;
  std::byte* k;
  std::byte* v;
  std::byte* out;
  float* lse;
  std::int32_t* cu_seqlens_q;   // [batch + 1]
  std::int32_t* cu_seqlens_kv;  // [batch + 1]
  std::byte* inner;             // workspace of the online softmax

  Buffers(const plumbline_problem& p, const Variant& variant, Workspace& workspace)
      : q(workspace.take<std::byte>(p.total_q * p.heads_q * p.head_dim_qk *
                                    size_in_bytes(p.dtype_q))),
        k(workspace.take<std::byte>(p.total_kv * p.heads_kv * p.head_dim_qk *
                                    size_in_bytes(p.dtype_kv))),
        v(workspace.take<std::byte>(p.total_kv * p.heads_kv * p.head_dim_vo *
                                    size_in_bytes(p.dtype_kv))),
        out(workspace.take<std::byte>(p.total_q * p.heads_q * p.head_dim_vo *
                                      size_in_bytes(p.dtype_out))),
        lse(workspace.take<float>(p.total_q * p.heads_q)),
        cu_seqlens_q(workspace.take<std::int32_t>(p.batch + 1)),
        cu_seqlens_kv(workspace.take<std::int32_t>(p.batch + 1)),
        inner(workspace.take<std::byte>(
            static_cast<std::int64_t>(online_softmax_workspace(p, variant)))) {}
};

void prefix_sums(const std::int32_t* lengths, std::int64_t count, std::int32_t* sums) {
  sums[0] = 0;
  for (std::int64_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + lengths[i];
}

TokenTensor packed(std::byte* data, std::uint32_t dtype, const std::int32_t* lengths,
                   const std::int32_t* cu_seqlens, std::int64_t heads, std::int64_t dim) {
  TokenTensor tensor;
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.token_stride = heads * dim;
  tensor.head_stride = dim;
  tensor.lengths = lengths;
  tensor.cu_seqlens = cu_seqlens;
  return tensor;
}

Attention unpadded(const Attention& padded, const Buffers& buffers) {
  const plumbline_problem& p = padded.problem;
  Attention ragged = padded;
  ragged.problem.layout = PLUMBLINE_RAGGED_THD;
  ragged.q = packed(buffers.q, p.dtype_q, padded.lengths_q, buffers.cu_seqlens_q, p.heads_q,
                    p.head_dim_qk);
  ragged.k = packed(buffers.k, p.dtype_kv, padded.lengths_kv, buffers.cu_seqlens_kv, p.heads_kv,
                    p.head_dim_qk);
  ragged.v = packed(buffers.v, p.dtype_kv, padded.lengths_kv, buffers.cu_seqlens_kv, p.heads_kv,
                    p.head_dim_vo);
  ragged.out = packed(buffers.out, p.dtype_out, padded.lengths_q, buffers.cu_seqlens_q, p.heads_q,
                      p.head_dim_vo);
  if (padded.lse.data != nullptr) {
    auto* lse = reinterpret_cast<std::byte*>(buffers.lse);
    ragged.lse = packed(lse, PLUMBLINE_F32, padded.lengths_q, buffers.cu_seqlens_q, p.heads_q, 1);
  }
  return ragged;
}

// Copies all valid tokens without conversion.
void copy_tokens(const TokenTensor& from, const TokenTensor& to, std::int64_t batch,
                 std::int64_t heads, std::int64_t dim) {
  const std::int64_t size = size_in_bytes(from.dtype);
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    for (std::int64_t token = 0; token < from.lengths[sample]; ++token) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::byte* source = from.at(sample, token, head);
        std::byte* target = to.at(sample, token, head);
        for (std::int64_t d = 0; d < dim; ++d) {
          std::memcpy(target + d * to.element_stride * size,
                      source + d * from.element_stride * size, static_cast<std::size_t>(size));
        }
      }
    }
  }
}

}  // namespace

std::uint64_t unpad_workspace(const plumbline_problem& problem, const Variant& variant) {
  return bytes_of<Buffers>(problem, variant);
}

void unpad(const Attention& padded, const Variant& variant, std::byte* memory) {
  const plumbline_problem& p = padded.problem;
  Workspace workspace(memory);
  const Buffers buffers(p, variant, workspace);
  prefix_sums(padded.lengths_q, p.batch, buffers.cu_seqlens_q);
  prefix_sums(padded.lengths_kv, p.batch, buffers.cu_seqlens_kv);
  const Attention ragged = unpadded(padded, buffers);

  copy_tokens(padded.q, ragged.q, p.batch, p.heads_q, p.head_dim_qk);
  copy_tokens(padded.k, ragged.k, p.batch, p.heads_kv, p.head_dim_qk);
  copy_tokens(padded.v, ragged.v, p.batch, p.heads_kv, p.head_dim_vo);
  online_softmax(ragged, variant, buffers.inner);
  copy_tokens(ragged.out, padded.out, p.batch, p.heads_q, p.head_dim_vo);
  if (padded.lse.data != nullptr) copy_tokens(ragged.lse, padded.lse, p.batch, p.heads_q, 1);
  clear_padded_rows(padded);
}

}  // namespace plumbline::cpu
