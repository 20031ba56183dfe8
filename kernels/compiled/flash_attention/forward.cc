// Sets parameters as csrc/flash_attn/flash_api.cpp does (2.8.3: set_params_fprop, run_mha_fwd,
// num_splits_heuristic), and dispatches by dtype, head dimension and mask.
#include "kernels/compiled/flash_attention/forward.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "flash_instances.h"
#include "kernels/compiled/flash_attention/flash.h"

namespace plumbline::flash_attention {
namespace {

using FLASH_NAMESPACE::Flash_fwd_params;

void set_tensors(const Call& call, Flash_fwd_params& p) {
  p.q_ptr = call.q.data;
  p.k_ptr = call.k.data;
  p.v_ptr = call.v.data;
  p.o_ptr = call.out.data;
  p.q_batch_stride = call.q.batch_stride;
  p.k_batch_stride = call.k.batch_stride;
  p.v_batch_stride = call.v.batch_stride;
  p.o_batch_stride = call.out.batch_stride;
  p.q_row_stride = call.q.row_stride;
  p.k_row_stride = call.k.row_stride;
  p.v_row_stride = call.v.row_stride;
  p.o_row_stride = call.out.row_stride;
  p.q_head_stride = call.q.head_stride;
  p.k_head_stride = call.k.head_stride;
  p.v_head_stride = call.v.head_stride;
  p.o_head_stride = call.out.head_stride;
  p.softmax_lse_ptr = call.lse;
}

int rounded(int size, int to) { return (size + to - 1) / to * to; }

Flash_fwd_params parameters(const Call& call) {
  Flash_fwd_params p{};
  set_tensors(call, p);
  p.is_bf16 = call.is_bf16;
  p.b = call.batch;
  p.h = call.heads_q;
  p.h_k = call.heads_kv;
  p.h_h_k_ratio = call.heads_q / call.heads_kv;
  p.seqlen_q = call.seq_q;
  p.seqlen_k = call.seq_kv;
  p.seqlen_q_rounded = rounded(call.seq_q, 128);
  p.seqlen_k_rounded = rounded(call.seq_kv, 128);
  p.d = p.d_rounded = call.head_dim;
  p.total_q = call.total_q;
  p.scale_softmax = static_cast<float>(call.scale);
  // the float scale times a double, as in flash_api.cpp
  p.scale_softmax_log2 = static_cast<float>(p.scale_softmax * M_LOG2E);
  p.p_dropout = 1;
  p.p_dropout_in_uint8_t = 255;
  p.rp_dropout = 1;
  p.scale_softmax_rp_dropout = p.scale_softmax;
  p.window_size_left = -1;
  p.cu_seqlens_q = call.cu_seqlens_q;
  p.cu_seqlens_k = call.lengths_kv != nullptr ? call.lengths_kv : call.cu_seqlens_kv;
  p.is_seqlens_k_cumulative = call.lengths_kv == nullptr;
  p.unpadded_lse = call.cu_seqlens_q != nullptr;
  p.block_table = call.page_table;
  p.block_table_batch_stride = call.pages_per_sample;
  p.page_block_size = call.page_size == 0 ? 1 : call.page_size;
  p.num_splits = call.splits;
  p.softmax_lseaccum_ptr = call.lse_parts;
  p.oaccum_ptr = call.out_parts;
  return p;
}

using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

template <bool split, class Element, int head_dim, bool causal>
void launch(Flash_fwd_params& p, cudaStream_t stream) {
  if constexpr (split) {
    FLASH_NAMESPACE::run_mha_fwd_splitkv_dispatch<Element, head_dim, causal>(p, stream);
  } else {
    FLASH_NAMESPACE::run_mha_fwd_<Element, head_dim, causal>(p, stream);
  }
}

// The launcher of a compiled instance (CMakeLists.txt).
struct Launcher {
  Instance instance;
  void (*launch)(Flash_fwd_params&, cudaStream_t);
};
#define PLUMBLINE_LAUNCHER(split, dtype, head_dim, causal) \
  {{split, std::is_same_v<dtype, bf16>, head_dim, causal}, launch<split, dtype, head_dim, causal>},
constexpr Launcher launchers[] = {PLUMBLINE_FLASH_INSTANCES(PLUMBLINE_LAUNCHER)};

const Launcher* launcher_of(const Instance& instance) {
  const auto* const found =
      std::find_if(std::begin(launchers), std::end(launchers),
                   [&](const Launcher& one) { return one.instance == instance; });
  return found == std::end(launchers) ? nullptr : found;
}

// A single query sees all keys with or without the mask, and flash_api.cpp chooses the kernel
// without it.
bool needs_mask(const Call& call) { return call.causal && call.seq_q > 1; }

}  // namespace

bool is_compiled(const Instance& instance) { return launcher_of(instance) != nullptr; }

Instance instance_of(const Call& call) {
  return {call.split_kernel, call.is_bf16, call.head_dim, needs_mask(call)};
}

void forward(const Call& call, void* stream) {
  Flash_fwd_params p = parameters(call);
  p.is_causal = needs_mask(call);
  p.window_size_right = p.is_causal ? 0 : -1;
  launcher_of(instance_of(call))->launch(p, static_cast<cudaStream_t>(stream));
}

int splits_of(const Call& call, int multiprocessors) {
  // the tiles of run_mha_fwd_splitkv_dispatch
  const int tile_kv = call.head_dim <= 64 ? 256 : 128;
  const int tiles = (call.seq_kv + tile_kv - 1) / tile_kv;
  const int blocks = call.batch * call.heads_q * ((call.seq_q + 63) / 64);
  const int slots = 2 * multiprocessors;  // two blocks of 128 threads per multiprocessor
  if (static_cast<float>(blocks) >= 0.8F * static_cast<float>(slots)) return 1;
  const auto tiles_each = [&](int splits) { return (tiles + splits - 1) / splits; };
  const auto is_eligible = [&](int splits) {
    return splits == 1 || tiles_each(splits) != tiles_each(splits - 1);
  };
  const auto efficiency = [&](int splits) {
    const float waves = static_cast<float>(blocks * splits) / static_cast<float>(slots);
    return waves / std::ceil(waves);
  };
  const int most = std::min({128, slots, tiles});
  float best = 0;
  for (int splits = 1; splits <= most; ++splits) {
    if (is_eligible(splits)) best = std::max(best, efficiency(splits));
  }
  for (int splits = 1; splits <= most; ++splits) {
    if (is_eligible(splits) && efficiency(splits) >= 0.85F * best) return splits;
  }
  return 1;
}

}  // namespace plumbline::flash_attention
