// FlashAttention-2, compiled from its own source, as a plumbline_provider.h library.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compiled/flash_attention/forward.h"
#include "kernels/compiled/library.h"

namespace plumbline::flash_attention {
namespace {

using compiled::all_equal_to;
using compiled::DeviceArray;
using compiled::refuse_tensors;
using compiled::values;

struct Options : compiled::MachineOptions {
  // splits=1..128: KV splits of split_kv; 0: FlashAttention-2's choice.
  int splits = 0;
};
struct Kernel {
  const char* name;
  bool split;
};
constexpr std::array<Kernel, 2> all_kernels{{{"forward", false}, {"split_kv", true}}};

struct Plan : compiled::PlanOf<Kernel, Options> {
  Call call;
  std::unique_ptr<DeviceArray> sums_q, sums_kv, pages;
  std::int64_t lse_floats = 0, lse_part_floats = 0, out_part_floats = 0;
};

std::string refuse_problem(const Kernel& kernel, const plumbline_problem& p) {
  if (!compiled::has_single_16_bit_dtype(p))
    return "takes fp16 and bf16, the same for Q, K, V and the output (flash_api.cpp: \"only "
           "support fp16 and bf16 data type\")";
  if (p.head_dim_qk != p.head_dim_vo) return "takes V with the head dimension of Q and K";
  if (p.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT)
    return "aligns its causal mask bottom right (since 2.1)";
  if (p.mask == PLUMBLINE_MASK_CUSTOM) return "has no custom mask";
  if (p.window_left >= 0 || p.window_right >= 0)
    return "is compiled here without local attention (FLASHATTENTION_DISABLE_LOCAL)";
  if (p.softcap != 0) return "is compiled here without softcap (FLASHATTENTION_DISABLE_SOFTCAP)";
  if (p.has_alibi != 0) return "is compiled here without ALiBi (FLASHATTENTION_DISABLE_ALIBI)";
  if (p.has_sink != 0) return "has no attention sinks";
  if (kernel.split) {
    if (p.layout == PLUMBLINE_RAGGED_THD || p.layout == PLUMBLINE_PAGED_HND)
      return "takes a KV cache: padded, or paged as [page, token, head, element]";
    if (provider::is_paged(p.layout) && p.page_size % 256 != 0)
      return "needs pages of a multiple of 256 tokens (flash_api.cpp: \"Paged KV cache block size "
             "must be divisible by 256\")";
    if (provider::is_padded(p.layout) && p.padding == PLUMBLINE_PADDING_LEFT)
      return "takes KV caches without padding on the left";
    return "";
  }
  if (provider::is_paged(p.layout)) return "takes no pages; flash_attention/split_kv does";
  return "";
}

// Sets everything except addresses.
Call call_of(const Kernel& kernel, const plumbline_problem& problem) {
  Call call;
  call.split_kernel = kernel.split;
  call.is_bf16 = problem.dtype_q == PLUMBLINE_BF16;
  call.causal = problem.mask == PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT;
  call.batch = static_cast<int>(problem.batch);
  call.heads_q = static_cast<int>(problem.heads_q);
  call.heads_kv = static_cast<int>(problem.heads_kv);
  call.head_dim = static_cast<int>(problem.head_dim_qk);
  call.seq_q = static_cast<int>(problem.seq_q);
  call.seq_kv = static_cast<int>(problem.seq_kv);
  call.total_q = static_cast<int>(problem.total_q);
  call.scale = problem.scale;
  return call;
}

// Refuses problems that flash_api.cpp handles without a kernel or does not accept.
void refuse_lengths(const Plan& plan, const plumbline_tensors& tensors) {
  const plumbline_problem& p = plan.problem;
  const bool queries_full = all_equal_to(tensors.seqlens_q, p.batch, p.seq_q);
  if (plan.kernel->split) {
    if (!queries_full) refuse_tensors("split_kv needs the same number of queries in all samples");
    return;
  }
  if (provider::is_padded(p.layout) &&
      (!queries_full || !all_equal_to(tensors.seqlens_kv, p.batch, p.seq_kv)))
    refuse_tensors(
        "flash_attn_func takes no lengths; use the ragged layout for samples of different lengths, "
        "as Transformers does");
}

void plan_indices(Plan& plan, const plumbline_tensors& tensors) {
  const plumbline_problem& p = plan.problem;
  Call& call = plan.call;
  if (p.layout == PLUMBLINE_RAGGED_THD) {
    plan.sums_q = std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_cu_seqlens_q,
                                                values(tensors.cu_seqlens_q, p.batch + 1));
    plan.sums_kv = std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_cu_seqlens_kv,
                                                 values(tensors.cu_seqlens_kv, p.batch + 1));
    call.cu_seqlens_q = plan.sums_q->data();
    call.cu_seqlens_kv = plan.sums_kv->data();
  }
  if (!plan.kernel->split) return;
  plan.sums_kv = std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_seqlens_kv,
                                               values(tensors.seqlens_kv, p.batch));
  call.lengths_kv = plan.sums_kv->data();
  if (!provider::is_paged(p.layout)) return;
  call.pages_per_sample = tensors.page_table.extent[1];
  call.page_size = static_cast<int>(p.page_size);
  // The cache rows that the page table can hold (flash_api.cpp: seqlen_k).
  call.seq_kv = static_cast<int>(call.pages_per_sample * p.page_size);
  std::vector<std::int32_t> pages = values(tensors.page_table, p.batch * call.pages_per_sample);
  for (std::int32_t& page : pages) page = std::max(page, 0);  // negative pages are never read
  plan.pages = std::make_unique<DeviceArray>(tensors, pages);
  call.page_table = plan.pages->data();
}

void plan_splits(Plan& plan) {
  Call& call = plan.call;
  int multiprocessors = 0;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  call.splits = plan.options.splits != 0 ? plan.options.splits : splits_of(call, multiprocessors);
  if (call.splits == 1) return;
  plan.lse_part_floats = std::int64_t{call.splits} * call.batch * call.heads_q * call.seq_q;
  plan.out_part_floats = plan.lse_part_floats * call.head_dim;
}

struct FlashAttention : compiled::Library<FlashAttention, Plan> {
  static constexpr auto known_options = compiled::options_with<Options>(
      provider::Option<Options>{"splits", "0 to 128", [](Options& options, std::string_view text) {
                                  return provider::set_number(options.splits, text, 0, 128);
                                }});
  static const char* name() { return "flash_attention"; }
  static const std::array<Kernel, 2>& kernels() { return all_kernels; }

  static std::string refuse(const Kernel& kernel, const plumbline_problem& problem) {
    if (std::string why = refuse_problem(kernel, problem); !why.empty()) return why;
    if (is_compiled(instance_of(call_of(kernel, problem)))) return "";
    return "is not compiled here for this dtype, head dimension and mask (CMake's "
           "PLUMBLINE_FLASH_ATTENTION_FILES)";
  }

  static std::uint64_t plan(Plan& plan, const plumbline_tensors& tensors) {
    const plumbline_problem& problem = plan.problem;
    refuse_lengths(plan, tensors);
    plan.call = call_of(*plan.kernel, problem);
    plan_indices(plan, tensors);
    if (plan.kernel->split) plan_splits(plan);
    const bool ragged = plan.call.cu_seqlens_q != nullptr;
    plan.lse_floats = problem.heads_q * (ragged ? problem.total_q : problem.batch * problem.seq_q);
    return static_cast<std::uint64_t>(plan.lse_floats + plan.lse_part_floats +
                                      plan.out_part_floats) *
           sizeof(float);
  }

  static void launch(Plan& plan, const plumbline_tensors& tensors, cudaStream_t stream) {
    Call& call = plan.call;
    if (plan.lse_floats == 0) return;
    call.q = compiled::rows<Rows>(tensors.q);
    call.k = compiled::rows<Rows>(tensors.k);
    call.v = compiled::rows<Rows>(tensors.v);
    call.out = compiled::rows<Rows>(tensors.out);
    if (plan.kernel->split && provider::is_paged(plan.problem.layout)) {
      // All samples have the same number of queries, stored contiguously.
      call.q.batch_stride = call.q.row_stride * call.seq_q;
      call.out.batch_stride = call.out.row_stride * call.seq_q;
    }
    auto* floats = static_cast<float*>(tensors.workspace.data);
    call.lse = floats;
    call.lse_parts = floats + plan.lse_floats;
    call.out_parts = call.lse_parts + plan.lse_part_floats;
    forward(call, stream);
  }

  // The kernel writes its LSE with heads before tokens, so the LSE goes to the workspace first.
  static void copy_lse(const Plan& plan, const plumbline_tensors& tensors, cudaStream_t stream) {
    const Call& call = plan.call;
    if (plan.lse_floats == 0) return;
    const plumbline_tensor& lse = tensors.lse;
    const bool padded = provider::is_padded(plan.problem.layout);
    const int token = padded ? 1 : 0;
    const bool ragged = call.cu_seqlens_q != nullptr;
    const int samples = ragged ? 1 : call.batch;
    const std::size_t tokens = ragged ? call.total_q : call.seq_q;
    for (int sample = 0; sample < samples; ++sample) {
      for (int head = 0; head < call.heads_q; ++head) {
        const float* from =
            call.lse + (static_cast<std::size_t>(sample) * call.heads_q + head) * tokens;
        const std::int64_t outer =
            padded ? lse.stride[0] * sample
                   : lse.stride[0] * static_cast<std::int64_t>(sample) * call.seq_q;
        float* to = static_cast<float*>(lse.data) + outer + lse.stride[token + 1] * head;
        cudaMemcpy2DAsync(to, lse.stride[token] * sizeof(float), from, sizeof(float), sizeof(float),
                          tokens, cudaMemcpyDeviceToDevice, stream);
      }
    }
  }

  static std::string launched_as(const Plan& plan) {
    const Call& call = plan.call;
    return std::string(call.split_kernel ? "flash_fwd_splitkv_kernel" : "flash_fwd_kernel") +
           ", head dimension " + std::to_string(call.head_dim) + ", " +
           (call.causal ? "causal" : "no mask") + ", " + std::to_string(call.splits) + " split" +
           (call.splits == 1 ? "" : "s");
  }

  static void describe_roundings(const Plan& plan, plumbline_description& description) {
    // softmax.h computes P relative to the largest logit so far, and rounds P after summing it
    // (softmax_rescale_o, then convert_type). mma.sync accumulates in fp32.
    plumbline_rounding_spec& spec = description.spec;
    spec.p_dtype = plan.problem.dtype_q;
    description.more_roundings.p_max = PLUMBLINE_P_MAX_ONE;
    spec.qk_accumulator = spec.pv_accumulator =
        compiled::tensor_core_accumulator(plan.problem.dtype_q, compiled::arch_number(plan.device));
    description.promises = provider::promises(PLUMBLINE_PROMISE_ROUNDING);
    description.promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
    description.promises.lse = PLUMBLINE_PROMISE_BITWISE;
    // A sample's tiles begin at its own first token, and a row's bits do not depend on other
    // samples.
    if (!plan.kernel->split) description.promises.batch = PLUMBLINE_PROMISE_BITWISE;
  }
};

}  // namespace
}  // namespace plumbline::flash_attention

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::flash_attention::FlashAttention>(abi_version,
                                                                                options);
}
