// FlashInfer, compiled from its own source, as a plumbline_provider.h library.
//
// Line numbers refer to flashinfer_python 0.7.2.post1, include/flashinfer.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compiled/flashinfer/launch.h"
#include "kernels/compiled/library.h"

namespace plumbline::flashinfer_kernels {
namespace {

using compiled::DeviceArray;
using compiled::refuse_tensors;
using compiled::values;

struct Options : compiled::MachineOptions {
  // splits=off: the prefill kernels' disable_split_kv; auto: the planner's choice.
  bool unsplit = false;
  // split_pages=N: the prefill kernels' fixed_split_size, in pages of the cache; in keys for a
  // ragged problem. 0: the planner's choice.
  int split_pages = 0;
};
// The names of FlashInfer's Python wrappers in kernels/foreign.
struct Kernel {
  const char* name;
  Kind kind;
  // BatchDecodeWithPagedKVCacheWrapper; with use_tensor_cores it runs the prefill kernel.
  bool decodes;
};
constexpr std::array<Kernel, 4> all_kernels{{{"ragged_prefill", Kind::ragged, false},
                                             {"paged_prefill", Kind::paged, false},
                                             {"paged_decode", Kind::decode, true},
                                             {"paged_decode_tensor_cores", Kind::paged, true}}};

struct Plan : compiled::PlanOf<Kernel, Options> {
  const Launcher* launcher;
  Call call;
  Planned made;
};

std::string refuse_features(const plumbline_problem& p) {
  if (!compiled::has_single_16_bit_dtype(p))
    return "is compiled here for fp16 and bf16, the same for Q, K, V and the output";
  if (p.head_dim_qk != p.head_dim_vo)
    return "is compiled here for V with the head dimension of Q and K";
  if (p.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT)
    return "aligns its causal mask bottom right (prefill.cuh:1675)";
  if (p.mask == PLUMBLINE_MASK_CUSTOM) return "is compiled here without custom masks";
  if (p.window_left >= 0 || p.window_right >= 0) return "is compiled here without a window";
  if (p.softcap != 0) return "is compiled here without softcap";
  if (p.has_alibi != 0) return "is compiled here without ALiBi";
  if (p.has_sink != 0) return "is compiled here without attention sinks";
  return "";
}

bool decode_has_group(std::int64_t group) {  // DISPATCH_GQA_GROUP_SIZE (utils.cuh:142-168)
  constexpr std::int64_t known[] = {1, 2, 3, 4, 6, 8, 16};
  return std::find(std::begin(known), std::end(known), group) != std::end(known);
}

std::string refuse_problem(const Kernel& kernel, const plumbline_problem& p,
                           const Options& options) {
  if (std::string why = refuse_features(p); !why.empty()) return why;
  if (kernel.kind == Kind::ragged) {
    if (p.layout != PLUMBLINE_RAGGED_THD) return "takes ragged tensors";
    return "";
  }
  if (!provider::is_paged(p.layout)) return "takes a paged KV cache";
  if (!kernel.decodes) return "";
  if (p.seq_q != 1 || p.total_q != p.batch) return "takes one query of each sample";
  if (kernel.kind != Kind::decode) return "";
  if (!decode_has_group(p.heads_q / p.heads_kv))
    return "takes 1, 2, 3, 4, 6, 8 or 16 query heads for each key head (utils.cuh:142)";
  if (options.unsplit || options.split_pages != 0)
    return "lets its planner choose splits: the options splits and split_pages are for the prefill "
           "kernels (DecodePlan in scheduler.cuh takes no such choice)";
  return "";
}

Instance instance_of(const Kernel& kernel, const plumbline_problem& p) {
  // The decode wrapper plans its single query without a mask.
  const bool causal = p.mask == PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT && !kernel.decodes;
  return {kernel.kind, p.dtype_q == PLUMBLINE_BF16, static_cast<int>(p.head_dim_qk), causal};
}

// The kernels compute output addresses from the number of heads alone (prefill.cuh:3071,
// decode.cuh:605). The decode kernel reads V at K's offsets (decode.cuh:483), and the paged prefill
// kernel is also compiled for that (SAME_KV_STRIDES).
void refuse_strides(const Kernel& kernel, const plumbline_tensors& tensors) {
  const plumbline_tensor& out = tensors.out;
  if (out.stride[1] != out.extent[2] || out.stride[0] != out.extent[1] * out.extent[2])
    refuse_tensors("FlashInfer writes a contiguous output");
  const plumbline_tensor& lse = tensors.lse;
  if (lse.rank != 0 && (lse.stride[1] != 1 || lse.stride[0] != lse.extent[1]))
    refuse_tensors("FlashInfer writes a contiguous LSE");
  if (kernel.kind == Kind::ragged) return;
  for (int i = 0; i < 3; ++i) {
    if (tensors.k.stride[i] != tensors.v.stride[i])
      refuse_tensors("FlashInfer takes pages of K and V with the same strides");
  }
}

std::vector<std::int32_t> sums(const std::vector<std::int32_t>& of) {
  std::vector<std::int32_t> all{0};
  for (const std::int32_t one : of) all.push_back(all.back() + one);
  return all;
}

void set_pages(Call& call, const plumbline_problem& p, const plumbline_tensors& tensors) {
  const std::vector<std::int32_t> keys = values(tensors.seqlens_kv, p.batch);
  const auto page_size = static_cast<std::int32_t>(p.page_size);
  std::vector<std::int32_t> counts, pages, last_page;
  const std::int64_t columns = tensors.page_table.extent[1];
  const auto* const table = static_cast<const std::int32_t*>(tensors.page_table.data);
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    const std::int32_t count = (keys[sample] + page_size - 1) / page_size;
    const std::int32_t* const row = table + sample * columns;
    pages.insert(pages.end(), row, row + count);
    counts.push_back(count);
    last_page.push_back(count == 0 ? 0 : keys[sample] - (count - 1) * page_size);
  }
  call.page_size = page_size;
  call.sums_kv = sums(counts);
  call.pages = std::make_unique<DeviceArray>(tensors, pages);
  call.last_page = std::make_unique<DeviceArray>(tensors, last_page);
  call.device_sums_kv = std::make_unique<DeviceArray>(tensors, call.sums_kv);
}

Call call_of(const plumbline_problem& p, const plumbline_tensors& tensors, const Options& options) {
  Call call;
  call.batch = static_cast<int>(p.batch);
  call.heads_q = static_cast<int>(p.heads_q);
  call.heads_kv = static_cast<int>(p.heads_kv);
  call.total_q = static_cast<int>(p.total_q);
  call.scale = static_cast<float>(p.scale);
  call.unsplit = options.unsplit;
  call.fixed_split_pages = options.split_pages;
  call.sums_q = values(tensors.cu_seqlens_q, p.batch + 1);
  if (provider::is_paged(p.layout)) {
    set_pages(call, p, tensors);
  } else {
    call.sums_kv = values(tensors.cu_seqlens_kv, p.batch + 1);
    call.device_sums_kv = std::make_unique<DeviceArray>(
        tensors, &plumbline_tensors::device_cu_seqlens_kv, call.sums_kv);
  }
  call.device_sums_q =
      std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_cu_seqlens_q, call.sums_q);
  return call;
}

struct FlashInfer : compiled::Library<FlashInfer, Plan> {
  static constexpr auto known_options = compiled::options_with<Options>(
      provider::Option<Options>{
          "splits", "auto or off",
          [](Options& options, std::string_view text) {
            return provider::set_choice(options.unsplit, text, {{"auto", false}, {"off", true}});
          }},
      provider::Option<Options>{
          "split_pages", "0 to 1048576", [](Options& options, std::string_view text) {
            return provider::set_number(options.split_pages, text, 0, 1 << 20);
          }});
  static const char* name() { return "flashinfer"; }
  static const std::array<Kernel, 4>& kernels() { return all_kernels; }
  static const char* tensor_cores(const Kernel& kernel) {
    return kernel.kind == Kind::decode ? "off" : "on";
  }

  static std::string refuse(const Kernel& kernel, const plumbline_problem& problem) {
    if (std::string why = refuse_problem(kernel, problem, current_options()); !why.empty())
      return why;
    if (find_launcher(instance_of(kernel, problem)) != nullptr) return "";
    return "is not compiled here for this dtype, head dimension and mask (CMake's "
           "PLUMBLINE_FLASHINFER_INSTANCES)";
  }

  static std::uint64_t plan(Plan& plan, const plumbline_tensors& tensors) {
    refuse_strides(*plan.kernel, tensors);
    plan.launcher = find_launcher(instance_of(*plan.kernel, plan.problem));
    plan.call = call_of(plan.problem, tensors, plan.options);
    plan.launcher->plan(plan.call, tensors, plan.made);
    return plan.made.float_bytes;
  }

  static void launch(Plan& plan, const plumbline_tensors& tensors, cudaStream_t stream) {
    Call& call = plan.call;
    call.q = compiled::rows<Rows>(tensors.q);
    call.k = compiled::rows<Rows>(tensors.k);
    call.v = compiled::rows<Rows>(tensors.v);
    call.out = tensors.out.data;
    // Without return_lse, FlashInfer's wrappers pass no LSE tensor.
    call.lse = plan.problem.lse_wanted != 0 ? static_cast<float*>(tensors.lse.data) : nullptr;
    plan.launcher->run(call, plan.made, tensors.workspace.data, stream);
  }

  static std::string launched_as(const Plan& plan) {
    const Planned& made = plan.made;
    const std::string kernel =
        plan.kernel->kind == Kind::decode
            ? "BatchDecodeWithPagedKVCacheKernel"
            : "BatchPrefillWith" +
                  std::string(plan.kernel->kind == Kind::paged ? "Paged" : "Ragged") +
                  "KVCacheKernel, CTA_TILE_Q " + std::to_string(made.tile_q);
    return kernel + ", head dimension " + std::to_string(plan.problem.head_dim_qk) + ", " +
           (plan.launcher->instance.causal ? "causal" : "no mask") + ", " +
           std::to_string(made.blocks) + " blocks" + (made.split ? ", split and merged" : "");
  }

  // compute_sfm_v (prefill.cuh:1855): P is rounded to Q's dtype (1868), and the denominator is the
  // sum of the rounded values, by mma.sync with ones (1882, mma.cuh:522). The maximum includes the
  // current tile (update_mdo_states, 1753). The decode kernel keeps P, denominator and maximum in
  // fp32 (decode.cuh:63, compute_qk; 134, update_local_state). Both kernels store a split's partial
  // results in the output's dtype (DTypeO* tmp_v: prefill.cuh:4547, decode.cuh:805) and an LSE to
  // base 2 (ptx_log2: prefill.cuh:3408, state.cuh:45). Partial results are merged in fp32
  // (cascade.cuh:374).
  static void describe_roundings(const Plan& plan, plumbline_description& description) {
    plumbline_rounding_spec& spec = description.spec;
    spec.lse_base = 2;
    spec.split_partial_dtype = plan.problem.dtype_out;
    if (plan.kernel->kind != Kind::decode) {
      spec.p_dtype = plan.problem.dtype_q;
      spec.denominator_from_rounded_p = 1;
      spec.qk_accumulator = spec.pv_accumulator = compiled::tensor_core_accumulator(
          plan.problem.dtype_q, compiled::arch_number(plan.device));
    }
    description.more_roundings.p_max = PLUMBLINE_P_MAX_ONE;
    // Splits and the tile of Q depend on the whole batch (PrefillSplitQOKVIndptr and DecodePlan in
    // scheduler.cuh); splits also depend on the page size.
    description.promises = provider::promises(PLUMBLINE_PROMISE_ROUNDING);
    description.promises.run_to_run = PLUMBLINE_PROMISE_BITWISE;
    description.promises.lse = PLUMBLINE_PROMISE_BITWISE;
  }
};

}  // namespace
}  // namespace plumbline::flashinfer_kernels

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::flashinfer_kernels::FlashInfer>(abi_version,
                                                                               options);
}
