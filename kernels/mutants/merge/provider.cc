// The provider "merge_mutants": kernels with one known bug in a merge of states, and legal
// variants. Mutants declare what the correct kernel would; a bug is never declared.
#include <span>
#include <string>

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/cpu/rounding_mode.h"
#include "kernels/mutants/merge/merge.h"

namespace plumbline::merge_mutants {
namespace {

struct MergeMutants : provider::Library {
  using Kernel = NamedChange;
  struct Plan {
    Kernel kernel;
    plumbline_problem problem;
  };

  static const char* name() { return "merge_mutants"; }
  static const char* version() { return PLUMBLINE_MERGE_MUTANTS_VERSION; }
  static std::span<const Kernel> kernels() { return changes; }
  static plumbline_question question(const Kernel&) { return PLUMBLINE_MERGE; }

  static std::string set_options(std::string_view text) {
    return text.empty() ? "" : "the merge mutants have no options";
  }
  static std::string refusal(const Kernel&, const plumbline_problem&,
                             const plumbline_device& device) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
      return "the merge mutants need an x86-64-v3 CPU";
    return provider::refuse_other_devices(device, PLUMBLINE_HOST, "the merge mutants");
  }
  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors&, const plumbline_device&, std::uint64_t&) {
    return {kernel, problem};
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    const cpu::DefaultRounding default_rounding;
    merge_mutants::run(cpu::bind(plan.problem, tensors), plan.kernel.change);
  }
  static void describe(const Plan& plan, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_ZEROS;
    provider::copy_text(std::string("merge, ") + plan.kernel.name, description.launched);
    provider::copy_text(PLUMBLINE_MERGE_MUTANTS_SOURCE_HASH, description.build_id);
    description.promises = provider::promises(PLUMBLINE_PROMISE_BITWISE);
  }
};

}  // namespace
}  // namespace plumbline::merge_mutants

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::merge_mutants::MergeMutants>(abi_version, options);
}
