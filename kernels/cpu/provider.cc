// The provider "cpu" at the C ABI. online_softmax.cc, naive.cc, unpad.cc and merge.cc have the
// computations; kernels.cc has the list of kernels, their refusals and declarations.
#include "harness/provider/plumbline_provider.hpp"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rounding_mode.h"

namespace plumbline::cpu {
namespace {

struct Cpu : provider::Library {
  using Kernel = cpu::Kernel;
  // Keeps copies of everything it needs, so later options do not change it.
  struct Plan {
    const Kernel* kernel;
    std::string options;
    Variant variant;
    plumbline_problem problem;
  };

  static const char* name() { return "cpu"; }
  static const char* version() { return PLUMBLINE_CPU_VERSION; }
  static std::uint64_t features() {
    return PLUMBLINE_FEATURE_FP8_SCALES | PLUMBLINE_FEATURE_FP8_OUTPUT;
  }
  static std::span<const Kernel> kernels() { return cpu::kernels(); }
  static plumbline_question question(const Kernel& kernel) { return kernel.question; }
  static const char* outputs(const Kernel& kernel) {
    const bool returns = cpu::apply({}, options()).max_logit != PLUMBLINE_DTYPE_NONE;
    return returns && kernel.algorithm->run == naive ? "max_logit" : "";
  }

  static std::string set_options(std::string_view text) {
    options() = text;
    return wrong_options(text);
  }
  static std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                             const plumbline_device& device) {
    return cpu::refusal(kernel, problem, device, cpu_features());
  }
  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors& tensors, const plumbline_device&,
                      std::uint64_t& workspace_bytes) {
    const Variant variant = variant_of(kernel, options(), problem);
    workspace_bytes = kernel.algorithm->workspace(bind(problem, tensors).problem, variant);
    return {&kernel, options(), variant, problem};
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    const DefaultRounding default_rounding;
    const Attention attention = bind(plan.problem, tensors);
    auto* workspace = static_cast<std::byte*>(tensors.workspace.data);
    for (int i = 0; i < plan.variant.repeats; ++i)
      plan.kernel->algorithm->run(attention, plan.variant, workspace);
  }
  static void describe(const Plan& plan, plumbline_description& description) {
    cpu::describe(*plan.kernel, plan.variant, plan.options, plan.problem, description);
  }

 private:
  static std::string& options() {
    static std::string text;
    return text;
  }
};

}  // namespace
}  // namespace plumbline::cpu

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::cpu::Cpu>(abi_version, options);
}
