// Lists the CPU kernels, with the refusals, declared roundings and promises of each.
#include "kernels/cpu/kernels.h"

#include <cpuid.h>

#include <array>
#include <cstdio>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::cpu {
namespace {

constexpr Algorithm whole_row{naive_workspace, naive, false};
constexpr Algorithm tiled{online_softmax_workspace, online_softmax, true};
constexpr Algorithm unpadded{unpad_workspace, unpad, true};
constexpr Algorithm merging{merge_workspace, merge, false};

constexpr const char* flash_16_bit = "FlashAttention only supports fp16 and bf16";
constexpr const char* naive_16_bit =
    "cpu/naive rounds S and P to the input dtype and only supports fp16 and bf16";
constexpr const char* partials_16_bit =
    "cpu/split_kv_16 stores split partials in 16 bits and only supports fp16 and bf16";

constexpr Variant p_in_fp32{.p_dtype = PLUMBLINE_F32};
constexpr std::array all_kernels{
    Kernel{"naive", &whole_row, {.s_rounded = true}, naive_16_bit, false, true},
    Kernel{"flash", &tiled, {}, flash_16_bit, false, true},
    Kernel{"flash_p32", &tiled, p_in_fp32, nullptr, false, true},
    Kernel{"split_kv", &tiled, {.splits = 0}, nullptr},
    Kernel{"flash_unpad", &unpadded, {}, flash_16_bit, true},
    Kernel{"flash_attended", &tiled, {.padded_rows = PLUMBLINE_PADDED_ROWS_ATTENDED}, flash_16_bit},
    Kernel{"flash_denominator", &tiled, {.denominator_from_rounded_p = true}, flash_16_bit},
    Kernel{"split_kv_16", &tiled, {.splits = 0, .partials_in_16_bits = true}, partials_16_bit},
    Kernel{"flash_tile32", &tiled, {.tile_kv = 32}, flash_16_bit},
    Kernel{"flash_tile128", &tiled, {.tile_kv = 128}, flash_16_bit},
    Kernel{"flash_lazy", &tiled, {.lazy_rescale = true}, flash_16_bit},
    Kernel{"flash_lse2", &tiled, {.lse_in_log2 = true}, flash_16_bit, false, true},
    Kernel{"merge", &merging, p_in_fp32, nullptr, false, false, PLUMBLINE_MERGE}};

constexpr const char* fp8_kernels = "; cpu/flash, cpu/flash_p32 and cpu/flash_lse2 take it";
constexpr const char* feature_kernels = "; cpu/naive, cpu/flash and cpu/flash_p32 take it";

bool is_stored(std::uint32_t dtype) { return dtype == PLUMBLINE_F32 || is_16_bit(dtype); }

std::string refuse_dtypes(const Kernel& kernel, const plumbline_problem& problem) {
  const std::string got = provider::dtype_name(problem.dtype_q);
  const bool fp8 = is_fp8(problem.dtype_q);
  if (!is_stored(problem.dtype_q) && !fp8)
    return "the cpu kernels support fp32, fp16, bf16, e4m3 and e5m2 (got " + got + ")";
  if (fp8 && (!kernel.all_features || kernel.variant.s_rounded))
    return "cpu/" + std::string(kernel.name) + " does not take Q in " + got + fp8_kernels;
  if (problem.dtype_kv != problem.dtype_q && !(kernel.all_features && is_fp8(problem.dtype_kv))) {
    return "cpu/" + std::string(kernel.name) + " needs K and V in the dtype of Q (got " + got +
           " with " + provider::dtype_name(problem.dtype_kv) + ")" +
           (is_fp8(problem.dtype_kv) ? feature_kernels : "");
  }
  const bool narrows = kernel.question == PLUMBLINE_MERGE && is_16_bit(problem.dtype_out);
  const bool writes_fp8 = kernel.all_features && problem.dtype_q != PLUMBLINE_F32;
  const bool written =
      is_fp8(problem.dtype_out) ? writes_fp8
      : fp8                     ? is_stored(problem.dtype_out)
            : problem.dtype_out == problem.dtype_q || problem.dtype_out == PLUMBLINE_F32 || narrows;
  if (!written) {
    return "the cpu kernels write fp32 or the dtype of Q; with fp8 Q, fp32, fp16 or bf16; some "
           "write fp8 for Q in 16 bits or fp8 (Q is " +
           got + ", the output " + provider::dtype_name(problem.dtype_out) + ")";
  }
  if (kernel.why_not_fp32 != nullptr && problem.dtype_q == PLUMBLINE_F32)
    return std::string(kernel.why_not_fp32) + " (got fp32)";
  return "";
}

std::string refuse_features(const Kernel& kernel, const plumbline_problem& problem) {
  if (problem.layout > PLUMBLINE_PAGED_HND)
    return "unknown layout " + std::to_string(problem.layout);
  if (kernel.padded_only && !is_padded(problem.layout))
    return "cpu/flash_unpad supports padded layouts only: others have no padding to remove";
  if (problem.mask > PLUMBLINE_MASK_CUSTOM) return "unknown mask " + std::to_string(problem.mask);
  const char* feature = problem.mask == PLUMBLINE_MASK_CUSTOM ? "a mask of bits"
                        : problem.softcap != 0                ? "a softcap"
                        : problem.has_alibi != 0              ? "ALiBi"
                        : problem.has_sink != 0               ? "an attention sink"
                                                              : nullptr;
  if (kernel.all_features || feature == nullptr) return "";
  return "cpu/" + std::string(kernel.name) + " does not take " + feature + feature_kernels;
}

std::string refuse_cpu(const CpuFeatures& cpu) {
  std::string missing;
  if (!cpu.avx2) missing += " AVX2";
  if (!cpu.fma) missing += " FMA";
  if (!cpu.f16c) missing += " F16C";
  return missing.empty() ? "" : "the cpu kernels need an x86-64-v3 CPU; this one lacks" + missing;
}

void declare_roundings(const Variant& variant, const plumbline_problem& problem,
                       plumbline_rounding_spec& spec) {
  spec.p_dtype = variant.p_dtype;
  spec.denominator_from_rounded_p = variant.denominator_from_rounded_p ? 1 : 0;
  if (variant.s_rounded) spec.s_rounded = problem.dtype_q;
  spec.p_prescale = variant.p_prescale;
  if (variant.partials_in_16_bits && variant.splits != 1)
    spec.split_partial_dtype = partial_dtype(problem);
  // fp8 is widened exactly; its scales act on logits and output in fp32
  spec.kv_dequantized_to = PLUMBLINE_DTYPE_NONE;
  if (problem.question == PLUMBLINE_ATTENTION && variant.lse_in_log2) spec.lse_base = 2;
}

// Each sample is computed alone, in key order, from tiles that start at multiples of tile_kv, so
// most transformations change no bit. The number of splits depends on the number of keys, so decode
// may be split differently from prefill.
plumbline_promises promises_of(const Variant& variant) {
  plumbline_promises promises = provider::promises(PLUMBLINE_PROMISE_BITWISE);
  promises.split = PLUMBLINE_PROMISE_ROUNDING;
  if (variant.splits != 1) promises.prefill_decode = PLUMBLINE_PROMISE_ROUNDING;
  return promises;
}

// The id depends on the sources and the options, not on the compiler: the order of operations is
// fixed, so every compiler must give the same bits.
std::string build_id(std::string_view options) {
  std::string sources = PLUMBLINE_CPU_SOURCE_HASH;
  if (options.empty()) return sources;
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : options) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return sources + "+" + digits.data();
}

std::string launched(const Kernel& kernel, const Variant& variant, std::string_view options) {
  if (kernel.question == PLUMBLINE_MERGE) return "cpu/merge fp32";
  std::string text = std::string("cpu/") + kernel.name + " tile " + std::to_string(variant.tile_q) +
                     "x" + std::to_string(variant.tile_kv);
  text += " fp32 accumulate";
  if (variant.splits == 0) text += ", splits by length";
  if (variant.splits > 1) text += ", " + std::to_string(variant.splits) + " splits";
  if (!options.empty()) text += ", options " + std::string(options);
  return text;
}

}  // namespace

std::span<const Kernel> kernels() { return all_kernels; }

Variant variant_of(const Kernel& kernel, std::string_view options,
                   const plumbline_problem& problem) {
  Variant variant = apply(kernel.variant, options);
  if (variant.p_dtype == PLUMBLINE_DTYPE_NONE) variant.p_dtype = problem.dtype_q;
  if (is_fp8(problem.dtype_q) && variant.p_dtype == PLUMBLINE_E4M3) variant.p_prescale = 256;
  if (!kernel.algorithm->splits_kv) variant.splits = 1;
  if (kernel.padded_only) variant.padded_rows = PLUMBLINE_PADDED_ROWS_ZEROS;
  return variant;
}

CpuFeatures cpu_features() {
  // Queried once: in a virtual machine, cpuid exits to the host, which takes longer than a small
  // problem.
  static const CpuFeatures features = [] {
    __builtin_cpu_init();
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    // clang 14's builtin does not know f16c
    const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
    return CpuFeatures{__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("fma") != 0,
                       f16c};
  }();
  return features;
}

std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                    const plumbline_device& device, const CpuFeatures& cpu) {
  if (std::string reason =
          provider::refuse_other_devices(device, PLUMBLINE_HOST, "the cpu kernels");
      !reason.empty())
    return reason;
  if (std::string reason = refuse_cpu(cpu); !reason.empty()) return reason;
  if (std::string reason = refuse_dtypes(kernel, problem); !reason.empty()) return reason;
  return refuse_features(kernel, problem);
}

void describe(const Kernel& kernel, const Variant& variant, std::string_view options,
              const plumbline_problem& problem, plumbline_description& description) {
  const Variant declared = variant.undeclared ? variant_of(kernel, "", problem) : variant;
  description.padding_policy = declared.padded_rows;
  provider::copy_text(launched(kernel, variant, options), description.launched);
  provider::copy_text(build_id(options), description.build_id);
  declare_roundings(declared, problem, description.spec);
  description.promises = promises_of(declared);
}

}  // namespace plumbline::cpu
