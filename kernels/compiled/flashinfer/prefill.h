// One instance of FlashInfer's FA2 prefill kernel, ragged or paged, with its planner.
#pragma once

#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>

#include "kernels/compiled/flashinfer/plan.h"

namespace plumbline::flashinfer_kernels {

template <Kind kind, class Element, int head_dim, bool causal>
struct Prefill {
  static constexpr bool paged = kind == Kind::paged;
  using Params =
      std::conditional_t<paged,
                         ::flashinfer::BatchPrefillPagedParams<Element, Element, Element, int>,
                         ::flashinfer::BatchPrefillRaggedParams<Element, Element, Element, int>>;
  using Variant = ::flashinfer::DefaultAttention<false, false, false, false>;
  static constexpr auto mask =
      causal ? ::flashinfer::MaskMode::kCausal : ::flashinfer::MaskMode::kNone;

  static void plan(const Call& call, const plumbline_tensors& tensors, Planned& made) {
    std::size_t float_bytes = 0, index_bytes = 0;
    auto* const sums_q = const_cast<int*>(call.sums_q.data());
    auto* const sums_kv = const_cast<int*>(call.sums_kv.data());
    constexpr bool cuda_graph = false;
    constexpr int window_left = -1, colocated_blocks = 0, uniform_q_len = 0;
    const int fixed_split = call.fixed_split_pages == 0 ? -1 : call.fixed_split_pages;
    require(::flashinfer::PrefillPlanWorkspaceSize(
                float_bytes, index_bytes, sums_q, sums_kv, call.total_q, call.batch, call.heads_q,
                call.heads_kv, head_dim, head_dim, call.page_size, cuda_graph, sizeof(Element),
                window_left, fixed_split, call.unsplit, colocated_blocks, uniform_q_len,
                stream_of(tensors)),
            "FlashInfer's planner");
    ::flashinfer::PrefillPlanInfo info;
    plan_into(tensors, made, float_bytes, index_bytes,
              [&](void* floats, std::size_t floats_size, void* indices, void* host,
                  std::size_t indices_size) {
                return ::flashinfer::PrefillPlan(
                    floats, floats_size, indices, host, indices_size, info, sums_q, sums_kv,
                    call.total_q, call.batch, call.heads_q, call.heads_kv, head_dim, head_dim,
                    call.page_size, cuda_graph, sizeof(Element), window_left, fixed_split,
                    call.unsplit, colocated_blocks, uniform_q_len, stream_of(tensors));
              });
    made.info = info.ToVector();
    made.tile_q = static_cast<int>(info.cta_tile_q);
    made.blocks = info.padded_batch_size * call.heads_kv;
    made.split = info.split_kv;
  }

  static void set_keys(const Call& call, Params& p) {
    if constexpr (paged) {
      const std::int64_t k[] = {call.k.page, call.k.token, call.k.head};
      const std::int64_t v[] = {call.v.page, call.v.token, call.v.head};
      p.paged_kv = ::flashinfer::paged_kv_t<Element, int>(
          call.heads_kv, call.page_size, head_dim, call.batch, ::flashinfer::QKVLayout::kNHD,
          static_cast<Element*>(call.k.data), static_cast<Element*>(call.v.data), k, v,
          call.pages->data(), call.device_sums_kv->data(), call.last_page->data());
    } else {
      p.k = static_cast<Element*>(call.k.data);
      p.v = static_cast<Element*>(call.v.data);
      p.kv_indptr = call.device_sums_kv->data();
      p.num_kv_heads = call.heads_kv;
      p.k_stride_n = call.k.token;
      p.k_stride_h = call.k.head;
      p.v_stride_n = call.v.token;
      p.v_stride_h = call.v.head;
    }
  }

  static Params parameters(const Call& call) {
    Params p;
    set_keys(call, p);
    p.q = static_cast<Element*>(call.q.data);
    p.q_indptr = call.device_sums_q->data();
    p.q_stride_n = call.q.token;
    p.q_stride_h = call.q.head;
    p.o = static_cast<Element*>(call.out);
    p.lse = call.lse;
    p.num_qo_heads = call.heads_q;
    p.group_size = ::flashinfer::uint_fastdiv(call.heads_q / call.heads_kv);
    p.window_left = -1;
    p.sm_scale = call.scale;
    p.rope_rcp_scale = p.rope_rcp_theta = 1;
    return p;
  }

  template <int tile_q>
  static cudaError_t launch(const Params& p, Element* parts, float* part_lse, cudaStream_t stream) {
    constexpr bool half_accumulator = false, programmatic_launch = false;
    constexpr auto positions = ::flashinfer::PosEncodingMode::kNone;
    if constexpr (paged) {
      constexpr bool same_strides = true;  // strides of K and V
      return ::flashinfer::BatchPrefillWithPagedKVCacheDispatched<
          same_strides, tile_q, head_dim, head_dim, positions, half_accumulator, mask, Variant,
          Params>(p, parts, part_lse, programmatic_launch, stream);
    } else {
      return ::flashinfer::BatchPrefillWithRaggedKVCacheDispatched<
          tile_q, head_dim, head_dim, positions, half_accumulator, mask, Variant, Params>(
          p, parts, part_lse, programmatic_launch, stream);
    }
  }

  static void run(const Call& call, const Planned& made, void* floats, void* stream) {
    ::flashinfer::PrefillPlanInfo info;
    info.FromVector(made.info);
    void* const indices = made.indices->data();
    Params p = parameters(call);
    p.request_indices = at<int>(indices, info.request_indices_offset);
    p.qo_tile_indices = at<int>(indices, info.qo_tile_indices_offset);
    p.kv_tile_indices = at<int>(indices, info.kv_tile_indices_offset);
    p.o_indptr = at<int>(indices, info.o_indptr_offset);
    p.kv_chunk_size_ptr = at<int>(indices, info.kv_chunk_size_ptr_offset);
    p.padded_batch_size = info.padded_batch_size;
    p.max_total_num_rows = info.total_num_rows;
    Element* parts = nullptr;
    float* part_lse = nullptr;
    if (info.split_kv) {
      p.merge_indptr = at<int>(indices, info.merge_indptr_offset);
      parts = at<Element>(floats, info.v_offset);
      part_lse = at<float>(floats, info.s_offset);
    }
    auto* const on = static_cast<cudaStream_t>(stream);
    // FA2DetermineCtaTileQ returns no other value below head dimension 512.
    switch (info.cta_tile_q) {
      case 16:
        return require(launch<16>(p, parts, part_lse, on), "FlashInfer's prefill");
      case 64:
        return require(launch<64>(p, parts, part_lse, on), "FlashInfer's prefill");
      case 128:
        return require(launch<128>(p, parts, part_lse, on), "FlashInfer's prefill");
      default:
        throw provider::Refused(PLUMBLINE_ERROR,
                                "FlashInfer's planner chose a tile_q other than 16, 64 or 128");
    }
  }
};

}  // namespace plumbline::flashinfer_kernels
