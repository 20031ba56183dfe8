// CUTLASS's fused attention, compiled from its own source, as a plumbline_provider.h library.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/compiled/cutlass/forward.h"
#include "kernels/compiled/library.h"

namespace plumbline::cutlass_attention {
namespace {

using compiled::DeviceArray;
using compiled::refuse_tensors;
using compiled::values;
using Options = compiled::MachineOptions;

// Kernels that round differently have different names: fp32 inputs take three tf32 multiplications,
// 16-bit inputs one.
struct Kernel {
  const char* name;
  bool is_fp32;
};
constexpr std::array<Kernel, 2> all_kernels{{{"forward", false}, {"forward_3xtf32", true}}};

struct Plan : compiled::PlanOf<Kernel, Options> {
  Call call;
  std::unique_ptr<DeviceArray> sums_q, sums_kv;
  std::vector<std::int32_t> lengths_q;
};

// Rows of Q, K and V are read 16 bytes at a time.
int elements_per_read(const Kernel& kernel) { return kernel.is_fp32 ? 4 : 8; }

std::string refuse_problem(const Kernel& kernel, const plumbline_problem& p) {
  const bool has_dtype =
      kernel.is_fp32 ? p.dtype_q == PLUMBLINE_F32 : provider::is_16_bit(p.dtype_q);
  if (!has_dtype || p.dtype_kv != p.dtype_q || p.dtype_out != p.dtype_q)
    return std::string("takes ") + (kernel.is_fp32 ? "fp32" : "fp16 and bf16") +
           ", the same for Q, K, V and the output";
  if (provider::is_paged(p.layout)) return "takes no pages";
  if (p.layout == PLUMBLINE_PADDED_BHSD)
    return "writes its output as [batch, token, head, element]";
  if (p.mask == PLUMBLINE_MASK_CUSTOM)
    return "supports custom masks only as a bias, which is not passed here";
  if (p.window_left >= 0 || p.window_right >= 0) return "has no window";
  if (p.softcap != 0) return "has no softcap";
  if (p.has_alibi != 0) return "supports ALiBi only as a bias, which is not passed here";
  if (p.has_sink != 0) return "has no attention sinks";
  if (p.heads_kv != p.heads_q && p.heads_kv != 1)
    return "takes as many key heads as query heads, or one: xFormers launches it once for each "
           "group of query heads";
  const int step = elements_per_read(kernel);
  if (p.head_dim_qk % step != 0 || p.head_dim_vo % step != 0)
    return "is compiled here for aligned inputs: head dimensions are multiples of " +
           std::to_string(step);
  return "";
}

Element element_of(const plumbline_problem& problem) {
  if (problem.dtype_q == PLUMBLINE_F32) return Element::fp32;
  return problem.dtype_q == PLUMBLINE_F16 ? Element::fp16 : Element::bf16;
}

Call::Mask mask_of(const plumbline_problem& problem) {
  if (problem.mask == PLUMBLINE_MASK_CAUSAL_TOP_LEFT) return Call::Mask::causal_top_left;
  return problem.mask == PLUMBLINE_MASK_CAUSAL_BOTTOM_RIGHT ? Call::Mask::causal_bottom_right
                                                            : Call::Mask::none;
}

// Sets everything except addresses and strides.
Call call_of(const plumbline_problem& problem) {
  Call call;
  call.element = element_of(problem);
  call.mask = mask_of(problem);
  call.batch = static_cast<int>(problem.batch);
  call.heads = static_cast<int>(problem.heads_q);
  call.head_dim_qk = static_cast<int>(problem.head_dim_qk);
  call.head_dim_vo = static_cast<int>(problem.head_dim_vo);
  call.seq_q = static_cast<int>(problem.seq_q);
  call.seq_kv = static_cast<int>(problem.seq_kv);
  call.scale = static_cast<float>(problem.scale);
  return call;
}

// If all query heads share one key head, the head stride is 0, as after PyTorch's expand().
Rows rows(const plumbline_tensor& tensor, std::int64_t heads) {
  Rows all = compiled::rows<Rows>(tensor);
  if (tensor.extent[tensor.rank - 2] != heads) all.head_stride = 0;
  return all;
}

void set_tensors(Call& call, const plumbline_tensors& tensors) {
  call.q = rows(tensors.q, call.heads);
  call.k = rows(tensors.k, call.heads);
  call.v = rows(tensors.v, call.heads);
  call.out = rows(tensors.out, call.heads);
}

// kernel_forward.h, line 297: heads of the output are contiguous; lines 201 to 212: strides of rows
// and heads are 32 bits. The kernel does not check V (kAlignmentV is 1, line 551).
void refuse_strides(const Plan& plan) {
  const Call& call = plan.call;
  const int step = elements_per_read(*plan.kernel);
  for (const Rows* one : {&call.q, &call.k, &call.v}) {
    if (one->row_stride % step != 0 || one->head_stride % step != 0 ||
        one->batch_stride % step != 0)
      refuse_tensors("CUTLASS's kernel is compiled here for strides that are multiples of " +
                     std::to_string(step) + " elements");
    if (std::max(one->row_stride, one->head_stride) > std::numeric_limits<std::int32_t>::max())
      refuse_tensors("CUTLASS's kernel has 32-bit strides of rows and heads");
  }
  const Rows& out = call.out;
  if ((call.heads > 1 && out.head_stride != call.head_dim_vo) ||
      (call.batch > 1 && out.batch_stride != 0 &&
       out.batch_stride != out.row_stride * std::int64_t{call.seq_q}))
    refuse_tensors("CUTLASS writes the heads of a row and the samples of a batch contiguously");
}

void plan_lengths(Plan& plan, const plumbline_tensors& tensors) {
  const plumbline_problem& p = plan.problem;
  plan.lengths_q = values(tensors.seqlens_q, p.batch);
  if (p.layout == PLUMBLINE_RAGGED_THD) {
    plan.sums_q = std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_cu_seqlens_q,
                                                values(tensors.cu_seqlens_q, p.batch + 1));
    plan.sums_kv = std::make_unique<DeviceArray>(tensors, &plumbline_tensors::device_cu_seqlens_kv,
                                                 values(tensors.cu_seqlens_kv, p.batch + 1));
    plan.call.cu_seqlens_q = plan.sums_q->data();
    plan.call.cu_seqlens_kv = plan.sums_kv->data();
    return;
  }
  if (!compiled::all_equal_to(tensors.seqlens_q, p.batch, p.seq_q) ||
      !compiled::all_equal_to(tensors.seqlens_kv, p.batch, p.seq_kv))
    refuse_tensors("CUTLASS takes samples of different lengths only in the ragged layout");
}

// A tensor core adds the products of one instruction at once, up to the architecture's limit. Here
// an instruction has 8: m16n8k8 of 16 bits (gemm_kernel_utils.h, line 188) or of tf32 (line 172).
plumbline_accumulator accumulator_of(const Plan& plan) {
  plumbline_accumulator one =
      compiled::tensor_core_accumulator(plan.problem.dtype_q, compiled::arch_number(plan.device));
  one.products_per_step = std::min(one.products_per_step, 8U);
  // A product takes three instructions (mma_tensor_op_fast_f32.h, lines 366 to 370).
  if (plan.kernel->is_fp32) one.products_per_step = std::max(1U, one.products_per_step / 3);
  return one;
}

struct Cutlass : compiled::Library<Cutlass, Plan> {
  static constexpr auto known_options = compiled::options_with<Options>();
  static const char* name() { return "cutlass"; }
  static const std::array<Kernel, 2>& kernels() { return all_kernels; }

  static std::string refuse(const Kernel& kernel, const plumbline_problem& problem) {
    if (std::string why = refuse_problem(kernel, problem); !why.empty()) return why;
    if (is_compiled(instance_of(call_of(problem)))) return "";
    return "is not compiled here for this dtype and head dimension (CMake's "
           "PLUMBLINE_CUTLASS_INSTANCES; head dimensions to 128)";
  }

  static std::uint64_t plan(Plan& plan, const plumbline_tensors& tensors) {
    const plumbline_problem& problem = plan.problem;
    plan.call = call_of(problem);
    set_tensors(plan.call, tensors);
    refuse_strides(plan);
    plan_lengths(plan, tensors);
    if (problem.lse_wanted == 0) return 0;
    return static_cast<std::uint64_t>(problem.batch * problem.heads_q) * lse_rows(plan.call.seq_q) *
           sizeof(float);
  }

  static void launch(Plan& plan, const plumbline_tensors& tensors, cudaStream_t stream) {
    Call& call = plan.call;
    if (call.batch == 0 || call.heads == 0 || call.seq_q == 0) return;
    set_tensors(call, tensors);
    call.lse = plan.problem.lse_wanted != 0 ? static_cast<float*>(tensors.workspace.data) : nullptr;
    if (const std::string refused = forward(call, stream); !refused.empty())
      refuse_tensors(full_name(*plan.kernel) + " " + refused);
  }

  // Copies the LSE from [batch, heads, rows] in the workspace.
  static void copy_lse(const Plan& plan, const plumbline_tensors& tensors, cudaStream_t stream) {
    const Call& call = plan.call;
    const plumbline_tensor& lse = tensors.lse;
    const bool padded = provider::is_padded(plan.problem.layout);
    const std::int64_t row = lse.stride[padded ? 1 : 0];
    const std::int64_t head = lse.stride[padded ? 2 : 1];
    std::int64_t first = 0;  // row of the tensor
    for (int sample = 0; sample < call.batch; ++sample) {
      const std::int32_t length = plan.lengths_q[sample];
      float* const of_sample =
          static_cast<float*>(lse.data) + (padded ? lse.stride[0] * sample : row * first);
      first += length;
      for (int h = 0; h < call.heads && length > 0; ++h) {
        const float* const from =
            call.lse + (std::int64_t{sample} * call.heads + h) * lse_rows(call.seq_q);
        cudaMemcpy2DAsync(of_sample + head * h, row * sizeof(float), from, sizeof(float),
                          sizeof(float), length, cudaMemcpyDeviceToDevice, stream);
      }
    }
  }

  static std::string launched_as(const Plan& plan) {
    return "attention_kernel_batched_impl, 64 queries and " +
           std::to_string(instance_of(plan.call).max_head_dim) + " keys a block, aligned, Sm80";
  }

  // Lines are those of kernel_forward.h unless another file is named. S is fp32 (accum_t, line
  // 137), and so is P until B2bGemm writes it to shared memory as scalar_t (lines 461 to 466 and
  // 908). P's sum is taken before that (lines 1265 to 1280). O stays in fp32 registers
  // (kKeepOutputInRF, line 155); it is multiplied by 1 / l and rounded at the end
  // (epilogue_rescale_output.h, lines 194 to 205). The maximum is over all keys so far (lines 1197
  // to 1213 and 1222 to 1230). exp2f is ex2.approx of log2(e) * scale * S (lines 1191 and 1262).
  // The LSE is the maximum, divided by log2(e), plus the logarithm of the sum (line 1143).
  static void describe_roundings(const Plan& plan, plumbline_description& description) {
    plumbline_rounding_spec& spec = description.spec;
    spec.p_dtype = plan.problem.dtype_q;
    spec.qk_accumulator = spec.pv_accumulator = accumulator_of(plan);
    description.more_roundings.p_max = PLUMBLINE_P_MAX_ONE;
    // A sample's tiles begin at its first key, and a row does not depend on other rows. Keys after
    // the row's last visible key have P = 0, and their tiles multiply the earlier sums by 1.
    plumbline_promises& promises = description.promises =
        provider::promises(PLUMBLINE_PROMISE_BITWISE);
    promises.page = promises.split = PLUMBLINE_PROMISE_NONE;
  }
};

}  // namespace
}  // namespace plumbline::cutlass_attention

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::cutlass_attention::Cutlass>(abi_version, options);
}
