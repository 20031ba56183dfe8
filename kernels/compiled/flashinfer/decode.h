// One instance of FlashInfer's decode kernel on CUDA cores, with its planner.
#pragma once

#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>

#include "kernels/compiled/flashinfer/plan.h"

namespace plumbline::flashinfer_kernels {

template <class Element, int head_dim>
struct Decode {
  using Params = ::flashinfer::BatchDecodeParams<Element, Element, Element, int>;
  using Variant = ::flashinfer::DefaultAttention<false, false, false, false>;
  static constexpr auto positions = ::flashinfer::PosEncodingMode::kNone;
  static constexpr bool cuda_graph = false;

  template <int group>
  static void plan_group(const Call& call, const plumbline_tensors& tensors, Planned& made) {
    auto* const estimate = ::flashinfer::BatchDecodeWithPagedKVCacheWorkEstimationDispatched<
        group, head_dim, positions, Variant, Params>;
    auto* const sums_kv = const_cast<int*>(call.sums_kv.data());
    std::size_t float_bytes = 0, index_bytes = 0;
    require(::flashinfer::DecodePlanWorkspaceSize<head_dim, positions, Variant, Params>(
                float_bytes, index_bytes, sums_kv, call.batch, call.heads_q, call.page_size,
                cuda_graph, stream_of(tensors), estimate),
            "FlashInfer's planner");
    ::flashinfer::DecodePlanInfo info;
    plan_into(tensors, made, float_bytes, index_bytes,
              [&](void* floats, std::size_t floats_size, void* indices, void* host,
                  std::size_t indices_size) {
                return ::flashinfer::DecodePlan<head_dim, positions, Variant, Params>(
                    floats, floats_size, indices, host, indices_size, info, sums_kv, call.batch,
                    call.heads_q, call.page_size, cuda_graph, stream_of(tensors), estimate);
              });
    made.info = info.ToVector();
    made.blocks = info.padded_batch_size * call.heads_kv;
    made.split = info.split_kv;
  }

  static void plan(const Call& call, const plumbline_tensors& tensors, Planned& made) {
    // as DISPATCH_GQA_GROUP_SIZE of utils.cuh
    switch (call.heads_q / call.heads_kv) {
      case 1:
        return plan_group<1>(call, tensors, made);
      case 2:
        return plan_group<2>(call, tensors, made);
      case 3:
        return plan_group<3>(call, tensors, made);
      case 4:
        return plan_group<4>(call, tensors, made);
      case 6:
        return plan_group<6>(call, tensors, made);
      case 8:
        return plan_group<8>(call, tensors, made);
      case 16:
        return plan_group<16>(call, tensors, made);
      default:
        throw provider::Refused(PLUMBLINE_UNSUPPORTED,
                                "no decode kernel for this number of query heads per KV head");
    }
  }

  static Params parameters(const Call& call) {
    Params p;
    const std::int64_t strides[] = {call.k.page, call.k.token, call.k.head};
    p.paged_kv = ::flashinfer::paged_kv_t<Element, int>(
        call.heads_kv, call.page_size, head_dim, call.batch, ::flashinfer::QKVLayout::kNHD,
        static_cast<Element*>(call.k.data), static_cast<Element*>(call.v.data), strides,
        call.pages->data(), call.device_sums_kv->data(), call.last_page->data());
    p.q = static_cast<Element*>(call.q.data);
    p.q_stride_n = call.q.token;
    p.q_stride_h = call.q.head;
    p.o = static_cast<Element*>(call.out);
    p.lse = call.lse;
    p.num_qo_heads = call.heads_q;
    p.window_left = -1;
    p.sm_scale = call.scale;
    p.rope_rcp_scale = p.rope_rcp_theta = 1;
    return p;
  }

  static void run(const Call& call, const Planned& made, void* floats, void* stream) {
    ::flashinfer::DecodePlanInfo info;
    info.FromVector(made.info);
    void* const indices = made.indices->data();
    Params p = parameters(call);
    p.request_indices = at<int>(indices, info.request_indices_offset);
    p.kv_tile_indices = at<int>(indices, info.kv_tile_indices_offset);
    p.o_indptr = at<int>(indices, info.o_indptr_offset);
    p.kv_chunk_size_ptr = at<int>(indices, info.kv_chunk_size_ptr_offset);
    p.padded_batch_size = info.padded_batch_size;
    Element* const parts = info.split_kv ? at<Element>(floats, info.v_offset) : nullptr;
    float* const part_lse = info.split_kv ? at<float>(floats, info.s_offset) : nullptr;
    constexpr bool programmatic_launch = false;
    require(
        ::flashinfer::BatchDecodeWithPagedKVCacheDispatched<head_dim, positions, Variant, Params>(
            p, parts, part_lse, programmatic_launch, static_cast<cudaStream_t>(stream)),
        "FlashInfer's decode");
  }
};

}  // namespace plumbline::flashinfer_kernels
