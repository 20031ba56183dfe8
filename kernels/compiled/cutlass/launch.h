// Sets parameters and launches as PyTorch's aten/src/ATen/native/transformers/cuda/attention.cu
// does for this kernel (_efficient_attention_forward); one instance per file.
#pragma once

#include <kernel_forward.h>

#include <type_traits>

#include "kernels/compiled/cutlass/forward.h"

namespace plumbline::cutlass_attention {

using fp32 = float;
using fp16 = cutlass::half_t;
using bf16 = cutlass::bfloat16_t;

template <class Kernel>
typename Kernel::Params parameters(const Call& call) {
  using Scalar = typename Kernel::scalar_t;
  typename Kernel::Params p;
  p.query_ptr = static_cast<Scalar*>(call.q.data);
  p.key_ptr = static_cast<Scalar*>(call.k.data);
  p.value_ptr = static_cast<Scalar*>(call.v.data);
  p.output_ptr = static_cast<Scalar*>(call.out.data);
  p.logsumexp_ptr = call.lse;
  p.seqstart_q_ptr = call.cu_seqlens_q;
  p.seqstart_k_ptr = call.cu_seqlens_kv;
  p.scale = call.scale;
  p.num_batches = call.batch;
  p.num_heads = call.heads;
  p.head_dim = call.head_dim_qk;
  p.head_dim_value = call.head_dim_vo;
  p.num_queries = call.seq_q;
  p.num_keys = call.seq_kv;
  p.custom_mask_type = static_cast<std::uint8_t>(call.mask);
  p.q_strideM = static_cast<std::int32_t>(call.q.row_stride);
  p.k_strideM = static_cast<std::int32_t>(call.k.row_stride);
  p.v_strideM = static_cast<std::int32_t>(call.v.row_stride);
  p.o_strideM = static_cast<std::int32_t>(call.out.row_stride);
  p.q_strideH = static_cast<std::int32_t>(call.q.head_stride);
  p.k_strideH = static_cast<std::int32_t>(call.k.head_stride);
  p.v_strideH = static_cast<std::int32_t>(call.v.head_stride);
  p.q_strideB = call.q.batch_stride;
  p.k_strideB = call.k.batch_stride;
  p.v_strideB = call.v.batch_stride;
  return p;
}

// The output stays in registers, so no instance here needs output_accum_ptr.
template <class Scalar, int queries, int keys, int max_head_dim>
const char* launch(const Call& call, void* stream) {
  using Kernel =
      AttentionKernel<Scalar, cutlass::arch::Sm80, true, queries, keys, max_head_dim, true, true>;
  static_assert(!Kernel::kNeedsOutputAccumulatorBuffer);
  static_assert(static_cast<int>(Call::Mask::causal_top_left) == Kernel::CausalFromTopLeft);
  static_assert(static_cast<int>(Call::Mask::causal_bottom_right) == Kernel::CausalFromBottomRight);
  const auto p = parameters<Kernel>(call);
  if (!Kernel::check_supported(p)) return "does not support these strides (check_supported)";
  const auto kernel = attention_kernel_batched_impl<Kernel>;
  constexpr int shared_bytes = sizeof(typename Kernel::SharedStorage);
  if (shared_bytes > 0xc000)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  kernel<<<p.getBlocksGrid(), p.getThreadsGrid(), shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(p);
  return "";
}

}  // namespace plumbline::cutlass_attention
