// The provider "mutants", for audits of the judge: kernels with one known bug each, and legal
// variants.
//
//   --provider plumbline_mutants.so              kernels mutants/…        fp16, bf16, fp32
//   --provider plumbline_mutants.so:mode=tf32    kernels mutants_tf32/…   fp32: Q, K, V and P
//                                                rounded to tf32
//   --provider plumbline_mutants.so:mode=e4m3    kernels mutants_e4m3/…   fp16, bf16, fp8: P in
//                                                e4m3, times 256
//
// "splits=N", alone or after a comma, requests N KV splits; only varies_split uses it.
//
// Mutants declare what the correct kernel would; a bug is never declared.
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/cpu/rounding_mode.h"
#include "kernels/mutants/choices.h"
#include "kernels/mutants/online_softmax.h"

namespace plumbline::mutants {
namespace {

struct Settings {
  Mode mode = Mode::input;
  int requested_splits = 0;  // 0 = the kernel chooses
};
Settings settings;

// Reads the options. Returns an error message, or "".
std::string read(std::string_view text, Settings& into) {
  using Rule = provider::Option<Settings>;
  static constexpr std::array known{
      Rule{"mode", "tf32 or e4m3",
           [](Settings& s, std::string_view t) {
             return provider::set_choice(s.mode, t, {{"tf32", Mode::tf32}, {"e4m3", Mode::e4m3}});
           }},
      Rule{"splits", "0 (the kernel chooses) or more",
           [](Settings& s, std::string_view t) {
             return provider::set_number(s.requested_splits, t, 0, std::numeric_limits<int>::max());
           }},
  };
  return provider::read_options(text, known, into, "of the mutants");
}

std::string refuse(Mode mode, const plumbline_problem& problem, const plumbline_device& device) {
  const std::string got = provider::dtype_name(problem.dtype_q);
  const bool f32 = problem.dtype_q == PLUMBLINE_F32;
  if (std::string why = provider::refuse_other_devices(device, PLUMBLINE_HOST, "the mutants");
      !why.empty())
    return why;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return "the mutants need an x86-64-v3 CPU";
  const bool fp8_q = provider::is_fp8(problem.dtype_q);
  if (!f32 && !provider::is_16_bit(problem.dtype_q) && !(fp8_q && mode == Mode::e4m3))
    return "the mutants support fp32, fp16 and bf16; e4m3 and e5m2 need mode=e4m3 (got " + got +
           ")";
  if (mode == Mode::tf32 && !f32) return "mode=tf32 takes fp32 inputs (got " + got + ")";
  if (mode == Mode::e4m3 && f32) return "mode=e4m3 takes fp16, bf16 and fp8 inputs (got fp32)";
  const bool fp8 = provider::is_fp8(problem.dtype_kv) && !f32;
  if (problem.dtype_kv != problem.dtype_q && !fp8)
    return "the mutants need K and V in the dtype of Q, or in fp8 if Q is fp16, bf16 or fp8";
  const bool written =
      fp8_q ? provider::dtype_bytes(problem.dtype_out) > 1 : problem.dtype_out == problem.dtype_q;
  if (!written && problem.dtype_out != PLUMBLINE_F32)
    return "the mutants write fp32 or the dtype of Q; with fp8 Q, fp16, bf16 or fp32";
  if (problem.mask > PLUMBLINE_MASK_CUSTOM) return "the mutants do not know this mask";
  return "";
}

// Declares the roundings of the correct kernel; a legal variant declares its own.
void declare_roundings(Mode mode, Change change, const plumbline_problem& problem,
                       plumbline_description& description) {
  const Change declared = is_legal(change)       ? change
                          : normalises_p(change) ? Change::legal_p_normalized
                                                 : Change::legal_baseline;
  plumbline_rounding_spec& spec = description.spec;
  spec.p_dtype = p_dtype(problem, mode, declared);
  spec.p_prescale = p_prescale(mode, declared);
  spec.qk_accumulator = spec.pv_accumulator = accumulator(problem, mode, declared);
  spec.kv_dequantized_to = mode == Mode::tf32 ? PLUMBLINE_TF32 : PLUMBLINE_DTYPE_NONE;
  plumbline_more_roundings& more = description.more_roundings;
  more.p_normalized = declared == Change::legal_p_normalized ? 1 : 0;
  more.p_max = declared == Change::legal_maximum_power_of_two ? PLUMBLINE_P_MAX_CEIL2
               : declared == Change::legal_maximum_bf16       ? PLUMBLINE_P_MAX_BF16
               : declared == Change::legal_maximum_shared     ? PLUMBLINE_P_MAX_FREE
                                                              : PLUMBLINE_P_MAX_RUNNING;
}

// Returns true for variants that have a contract only in the default mode.
bool is_of_input_mode(Change change) {
  return normalises_p(change) || change == Change::legal_maximum_power_of_two ||
         change == Change::legal_maximum_bf16 || change == Change::legal_maximum_shared;
}

// precision_p_rounded_twice differs from the correct kernel only if the mode is the default and P
// is rounded.
Change applied(Mode mode, Change change, const plumbline_problem& problem) {
  const bool rounds_p = mode == Mode::input && problem.dtype_q != PLUMBLINE_F32;
  return change == Change::precision_p_rounded_twice && !rounds_p ? Change::legal_baseline : change;
}

// A breaker makes the promises of the kernel that it changes.
plumbline_promises promises_of(Change change) {
  plumbline_promises promises = provider::promises(PLUMBLINE_PROMISE_BITWISE);
  if (!has_fixed_order(change))
    promises.split = promises.prefill_decode = PLUMBLINE_PROMISE_ROUNDING;
  return promises;
}

template <Mode mode>
struct Mutants : provider::Library {
  using Kernel = NamedChange;
  struct Plan {
    Kernel kernel;
    plumbline_problem problem;
    int requested_splits;
  };

  static const char* name() {
    return mode == Mode::tf32 ? "mutants_tf32" : mode == Mode::e4m3 ? "mutants_e4m3" : "mutants";
  }
  static const char* version() { return PLUMBLINE_MUTANTS_VERSION; }
  static std::uint64_t features() { return PLUMBLINE_FEATURE_FP8_SCALES; }
  static std::span<const Kernel> kernels() { return changes; }

  static std::string set_options(std::string_view text) {
    settings = {};
    return read(text, settings);
  }
  static std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                             const plumbline_device& device) {
    if (mode != Mode::input && is_of_input_mode(kernel.change))
      return std::string(kernel.name) + " needs the default mode";
    return refuse(mode, problem, device);
  }
  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors&, const plumbline_device&, std::uint64_t& workspace) {
    workspace = workspace_bytes(problem);
    return {kernel, problem, settings.requested_splits};
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    const cpu::DefaultRounding default_rounding;
    mutants::run(plan.problem, tensors, mode, applied(mode, plan.kernel.change, plan.problem),
                 plan.requested_splits);
  }
  static void describe(const Plan& plan, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
    provider::copy_text(std::string("online softmax, ") + plan.kernel.name, description.launched);
    provider::copy_text(PLUMBLINE_MUTANTS_SOURCE_HASH, description.build_id);
    declare_roundings(mode, plan.kernel.change, plan.problem, description);
    description.promises = promises_of(plan.kernel.change);
  }
};

}  // namespace
}  // namespace plumbline::mutants

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  using namespace plumbline;
  using mutants::Mode;
  mutants::Settings asked;
  mutants::read(options == nullptr ? "" : options, asked);
  switch (asked.mode) {
    case Mode::tf32:
      return provider::serve<mutants::Mutants<Mode::tf32>>(abi_version, options);
    case Mode::e4m3:
      return provider::serve<mutants::Mutants<Mode::e4m3>>(abi_version, options);
    case Mode::input:
      break;
  }
  return provider::serve<mutants::Mutants<Mode::input>>(abi_version, options);
}
