// The provider "mutants": one known bug to a kernel, beside legal variants of the same kernel. What
// audits of the judge run.
//
//   --provider plumbline_mutants.so              kernels mutants/…        fp16, bf16, fp32
//   --provider plumbline_mutants.so:mode=tf32    kernels mutants_tf32/…   fp32: Q, K, V and P
//                                                rounded to tf32
//   --provider plumbline_mutants.so:mode=e4m3    kernels mutants_e4m3/…   fp16, bf16: P in e4m3,
//                                                times 256
//
// "splits=N", behind a comma or alone, asks for N KV splits: only varies_split takes it.
//
// Mutants declare what the correct kernel would: their bug is never declared.
#include <immintrin.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "kernels/cpu/answer.h"
#include "kernels/cpu/dtype.h"
#include "kernels/mutants/online_softmax.h"

struct plumbline_plan {
  plumbline::mutants::Change change;
  plumbline::mutants::Mode mode;
  plumbline_problem problem;
  int splits_asked;
};

namespace plumbline::mutants {
namespace {

int splits_asked = 0;  // "splits=3"; 0 = the kernel chooses

std::string refusal(Mode mode, const plumbline_problem& problem, const plumbline_device& device) {
  const std::string got = cpu::name(problem.dtype_q);
  const bool f32 = problem.dtype_q == PLUMBLINE_F32;
  if (device.memory_space != PLUMBLINE_HOST) return "the mutants run on device cpu only";
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return "the mutants need an x86-64-v3 CPU";
  if (!f32 && !cpu::is_16_bit(problem.dtype_q))
    return "the mutants support fp32, fp16 and bf16 (got " + got + ")";
  if (mode == Mode::tf32 && !f32) return "mode=tf32 takes fp32 inputs (got " + got + ")";
  if (mode == Mode::e4m3 && f32) return "mode=e4m3 takes fp16 and bf16 inputs (got fp32)";
  const bool fp8 = cpu::is_fp8(problem.dtype_kv) && !f32;
  if (problem.dtype_kv != problem.dtype_q && !fp8)
    return "the mutants need K and V in the dtype of Q, or in fp8 beside fp16 and bf16";
  if (problem.dtype_out != problem.dtype_q && problem.dtype_out != PLUMBLINE_F32)
    return "the mutants write the dtype of Q or fp32";
  if (problem.mask > PLUMBLINE_MASK_CUSTOM) return "the mutants do not know this mask";
  return "";
}

template <Mode mode>
plumbline_status query(std::uint32_t kernel, const plumbline_problem* problem,
                       const plumbline_device* device, char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    if (kernel >= change_count)
      return answer(PLUMBLINE_ERROR, "no such kernel", reason, reason_bytes);
    if (problem->struct_size < sizeof(plumbline_problem) ||
        device->struct_size < sizeof(plumbline_device)) {
      return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason,
                    reason_bytes);
    }
    const std::string why_not = refusal(mode, *problem, *device);
    return why_not.empty() ? PLUMBLINE_OK
                           : answer(PLUMBLINE_UNSUPPORTED, why_not, reason, reason_bytes);
  });
}

template <Mode mode>
plumbline_status prepare(std::uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors*, const plumbline_device* device,
                         plumbline_plan** plan, std::uint64_t* workspace, char* reason,
                         std::size_t reason_bytes) {
  const plumbline_status supported = query<mode>(kernel, problem, device, reason, reason_bytes);
  if (supported != PLUMBLINE_OK) return supported;
  return guarded(reason, reason_bytes, [&] {
    const auto change = static_cast<Change>(kernel);
    *workspace = workspace_bytes(*problem, change);
    *plan = std::make_unique<plumbline_plan>(plumbline_plan{change, mode, *problem, splits_asked})
                .release();
    return PLUMBLINE_OK;
  });
}

// Round to nearest, subnormal numbers kept, whatever the process has set.
class DefaultRounding {
 public:
  DefaultRounding() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultRounding() { _mm_setcsr(saved_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  unsigned saved_;
};

plumbline_status run_plan(plumbline_plan* plan, const plumbline_tensors* tensors, void*,
                          char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    const DefaultRounding default_rounding;
    run(plan->problem, *tensors, plan->mode, plan->change, plan->splits_asked);
    return PLUMBLINE_OK;
  });
}

// What a correct kernel declares; of the legal variants, what each does.
plumbline_rounding_spec spec_of(const plumbline_plan& plan) {
  const bool is_legal = plan.change < first_mutant;
  const Change declared = is_legal ? plan.change : Change::legal_baseline;
  plumbline_rounding_spec spec{};
  spec.struct_size = sizeof spec;
  spec.p_dtype = p_dtype(plan.problem, plan.mode, declared);
  spec.p_prescale = p_prescale(plan.mode, declared);
  spec.s_rounded = PLUMBLINE_DTYPE_NONE;
  spec.q_prescaled = PLUMBLINE_DTYPE_NONE;
  spec.split_partial_dtype = PLUMBLINE_F32;
  spec.qk_accumulator = spec.pv_accumulator = accumulator(plan.problem, plan.mode, declared);
  spec.kv_dequantized_to = plan.mode == Mode::tf32 ? PLUMBLINE_TF32 : PLUMBLINE_DTYPE_NONE;
  spec.out_dtype = plan.problem.dtype_out;
  return spec;
}

// Breakers promise what the kernel that they change keeps.
plumbline_promises promises_of(Change change) {
  plumbline_promises promises{};
  promises.struct_size = sizeof promises;
  promises.run_to_run = promises.batch = promises.layout = promises.page = promises.lse =
      PLUMBLINE_PROMISE_BITWISE;
  promises.split = promises.prefill_decode =
      has_fixed_order(change) ? PLUMBLINE_PROMISE_BITWISE : PLUMBLINE_PROMISE_ROUNDING;
  return promises;
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
  return guarded(nullptr, 0, [&] {
    if (description->struct_size < sizeof(plumbline_description)) return PLUMBLINE_ERROR;
    description->padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
    const char* name = change_names[static_cast<std::uint32_t>(plan->change)];
    std::snprintf(description->launched, sizeof description->launched, "online softmax, %s", name);
    std::snprintf(description->build_id, sizeof description->build_id, "%s",
                  PLUMBLINE_MUTANTS_SOURCE_HASH);
    std::snprintf(description->tensor_cores, sizeof description->tensor_cores, "none");
    description->spec = spec_of(*plan);
    description->promises = promises_of(plan->change);
    description->registers_per_thread = -1;
    description->spill_bytes_per_thread = -1;
    description->shared_memory_bytes = -1;
    description->stack_bytes_per_thread = -1;
    return PLUMBLINE_OK;
  });
}

const char* kernel_name(std::uint32_t kernel) {
  return kernel < change_count ? change_names[kernel] : nullptr;
}
void destroy(plumbline_plan* plan) { delete plan; }

template <Mode mode>
const plumbline_provider* provider_of(const char* name) {
  static plumbline_provider provider{};
  provider.struct_size = sizeof provider;
  provider.abi_version = PLUMBLINE_ABI_VERSION;
  provider.name = name;
  provider.version = PLUMBLINE_MUTANTS_VERSION;
  provider.kernel_count = change_count;
  provider.kernel_name = kernel_name;
  provider.query = query<mode>;
  provider.prepare = prepare<mode>;
  provider.run = run_plan;
  provider.describe = describe;
  provider.destroy = destroy;
  provider.memory = nullptr;  // host only
  provider.kernel_tensor_cores = [](std::uint32_t) { return "none"; };
  return &provider;
}

}  // namespace
}  // namespace plumbline::mutants

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(
    std::uint32_t abi_version, const char* options) {
  using namespace plumbline::mutants;
  if (abi_version != PLUMBLINE_ABI_VERSION) return nullptr;
  std::string_view text = options == nullptr ? "" : options;
  constexpr std::string_view splits = "splits=";
  if (const std::size_t at = text.rfind(splits); at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + splits.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), splits_asked);
    if (error != std::errc() || end != digits.data() + digits.size() || splits_asked < 0)
      return nullptr;
    text = text.substr(0, at == 0 ? 0 : at - 1);
  }
  if (text.empty()) return provider_of<Mode::input>("mutants");
  if (text == "mode=tf32") return provider_of<Mode::tf32>("mutants_tf32");
  if (text == "mode=e4m3") return provider_of<Mode::e4m3>("mutants_e4m3");
  return nullptr;
}
