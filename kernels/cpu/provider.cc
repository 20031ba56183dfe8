// The provider "cpu" at the C ABI: a full example of plumbline_provider.h. This file is the C ABI
// and nothing else; what is computed is in online_softmax.cc, naive.cc and unpad.cc, which kernels
// exist is in kernels.cc.
#include <immintrin.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "kernels/cpu/answer.h"
#include "kernels/cpu/kernels.h"

// A plan keeps copies of all it needs: a later call of plumbline_get_provider with other options
// does not change it.
struct plumbline_plan {
  const plumbline::cpu::Kernel* kernel;
  plumbline::cpu::Options options;
  plumbline::cpu::Variant variant;
  plumbline_problem problem;
};

namespace plumbline::cpu {
namespace {

// Of the latest plumbline_get_provider; queries and plans made from then on follow it.
Options& current_options() {
  static Options options;
  return options;
}

// Round to nearest, subnormal numbers kept, whatever the process has set: part of what output bits
// depend on.
class DefaultRounding {
 public:
  DefaultRounding() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultRounding() { _mm_setcsr(saved_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  unsigned saved_;
};

const char* kernel_name(std::uint32_t kernel) {
  return kernel < kernels().size() ? kernels()[kernel].name : nullptr;
}

plumbline_status query(std::uint32_t kernel, const plumbline_problem* problem,
                       const plumbline_device* device, char* reason, std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    if (kernel >= kernels().size())
      return answer(PLUMBLINE_ERROR, "no such kernel", reason, reason_bytes);
    if (problem->struct_size < sizeof(plumbline_problem) ||
        device->struct_size < sizeof(plumbline_device)) {
      return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason,
                    reason_bytes);
    }
    const std::string& bad_option = current_options().error;
    if (!bad_option.empty()) return answer(PLUMBLINE_ERROR, bad_option, reason, reason_bytes);
    const std::string why_not = refusal(kernels()[kernel], *problem, *device, cpu_features());
    if (!why_not.empty()) return answer(PLUMBLINE_UNSUPPORTED, why_not, reason, reason_bytes);
    return PLUMBLINE_OK;
  });
}

plumbline_status prepare(std::uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors* tensors, const plumbline_device* device,
                         plumbline_plan** plan, std::uint64_t* workspace_bytes, char* reason,
                         std::size_t reason_bytes) {
  const plumbline_status supported = query(kernel, problem, device, reason, reason_bytes);
  if (supported != PLUMBLINE_OK) return supported;
  return guarded(reason, reason_bytes, [&] {
    if (tensors->struct_size < sizeof(plumbline_tensors)) {
      return answer(PLUMBLINE_ERROR, "struct_size is smaller than this provider's header", reason,
                    reason_bytes);
    }
    const Kernel& chosen = kernels()[kernel];
    const Variant variant = variant_of(chosen, current_options(), *problem);
    auto made = std::make_unique<plumbline_plan>(
        plumbline_plan{&chosen, current_options(), variant, *problem});
    *workspace_bytes = chosen.algorithm->workspace(bind(*problem, *tensors).problem, variant);
    *plan = made.release();
    return PLUMBLINE_OK;
  });
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void*, char* reason,
                     std::size_t reason_bytes) {
  return guarded(reason, reason_bytes, [&] {
    const DefaultRounding default_rounding;
    const Attention attention = bind(plan->problem, *tensors);
    auto* workspace = static_cast<std::byte*>(tensors->workspace.data);
    for (int i = 0; i < plan->variant.repeats; ++i)
      plan->kernel->algorithm->run(attention, plan->variant, workspace);
    return PLUMBLINE_OK;
  });
}

plumbline_status describe_plan(const plumbline_plan* plan, plumbline_description* description) {
  return guarded(nullptr, 0, [&] {
    if (description->struct_size < sizeof(plumbline_description)) return PLUMBLINE_ERROR;
    describe(*plan->kernel, plan->variant, plan->options, plan->problem, *description);
    return PLUMBLINE_OK;
  });
}

void destroy(plumbline_plan* plan) { delete plan; }

}  // namespace
}  // namespace plumbline::cpu

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(
    std::uint32_t abi_version, const char* options) {
  using namespace plumbline::cpu;
  if (abi_version != PLUMBLINE_ABI_VERSION) return nullptr;
  static plumbline_provider provider{};
  try {
    current_options() = parse_options(options == nullptr ? "" : options);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  provider.struct_size = sizeof provider;
  provider.abi_version = PLUMBLINE_ABI_VERSION;
  provider.name = "cpu";
  provider.version = PLUMBLINE_CPU_VERSION;
  provider.kernel_count = static_cast<std::uint32_t>(kernels().size());
  provider.kernel_name = kernel_name;
  provider.query = query;
  provider.prepare = prepare;
  provider.run = run;
  provider.describe = describe_plan;
  provider.destroy = destroy;
  provider.memory = nullptr;  // host only
  provider.kernel_tensor_cores = [](std::uint32_t) { return "none"; };
  return &provider;
}
