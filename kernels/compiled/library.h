// The common part of the providers of compiled kernels: options, named refusals, plans and runs on
// a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/compiled/cuda.h"
#include "kernels/compiled/machine.h"

namespace plumbline::compiled {

// The common part of all plans; each provider's plan extends it.
template <class KernelOf, class OptionsOf>
struct PlanOf {
  using Kernel = KernelOf;
  using Options = OptionsOf;

  const Kernel* kernel;
  Options options;
  plumbline_problem problem;
  plumbline_device device;
  Launched launched;
};

// A provider is a class that extends Library<itself, its plan>, and has
//   name(), kernels(), tensor_cores(kernel) and known_options
//   refuse(kernel, problem)           returns "" or why the kernel refuses the problem, in words
//                                     that follow its name
//   plan(plan, tensors)               fills in the provider's part of the plan; returns the bytes
//                                     of the workspace
//   launch(plan, tensors, stream)     enqueues the kernel
//   copy_lse(plan, tensors, stream)   only if the kernel does not write the LSE in place
//   launched_as(plan)                 returns a description of the launch
//   describe_roundings(plan, description)
template <class Author, class PlanOfAuthor>
struct Library : provider::Library {
  using Plan = PlanOfAuthor;
  using Kernel = typename Plan::Kernel;
  using Options = typename Plan::Options;

  static const char* version() { return PLUMBLINE_SOURCE_VERSION; }
  static const plumbline_device_memory* memory() { return device_memory(); }
  static std::uint64_t features() { return compiled::features(); }
  static const char* tensor_cores(const Kernel&) { return "on"; }
  static void copy_lse(const Plan&, const plumbline_tensors&, cudaStream_t) {}

  static Options& current_options() {
    static Options options;
    return options;
  }
  // Replaces all options; those not in the text get their defaults.
  static std::string set_options(std::string_view text) {
    current_options() = {};
    current_options().text = text;
    return provider::read_options(text, Author::known_options, current_options());
  }

  static std::string full_name(const Kernel& kernel) {
    return std::string(Author::name()) + "/" + kernel.name;
  }
  static std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                             const plumbline_device& device) {
    if (std::string why = refuse_device(device); !why.empty()) return why;
    const std::string why = Author::refuse(kernel, problem);
    return why.empty() ? "" : full_name(kernel) + " " + why;
  }

  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors& tensors, const plumbline_device& device,
                      std::uint64_t& workspace_bytes) {
    Plan plan{};
    plan.kernel = &kernel;
    plan.options = current_options();
    plan.problem = problem;
    plan.device = device;
    make_current(device, plan.options);
    workspace_bytes = Author::plan(plan, tensors);
    return plan;
  }

  static void run(Plan& plan, const plumbline_tensors& tensors, void* stream_given) {
    auto* const stream = static_cast<cudaStream_t>(stream_given);
    const Run running(plan.device, plan.options, tensors, plan.launched);
    Author::launch(plan, tensors, stream);
    throw_if_failed(full_name(*plan.kernel));
    if (plan.problem.lse_wanted != 0) Author::copy_lse(plan, tensors, stream);
  }

  static void describe(const Plan& plan, plumbline_description& description) {
    provider::copy_text(Author::launched_as(plan) + "; PTX of sm_80 by " PLUMBLINE_DEVICE_COMPILER,
                        description.launched);
    describe_launch(description, PLUMBLINE_BUILD_ID, plan.options, plan.device, plan.launched);
    Author::describe_roundings(plan, description);
  }
};

// Returns true if Q, K, V and the output have the same 16-bit dtype.
inline bool has_single_16_bit_dtype(const plumbline_problem& p) {
  return provider::is_16_bit(p.dtype_q) && p.dtype_kv == p.dtype_q && p.dtype_out == p.dtype_q;
}

// Refuses during planning, for reasons that refuse() cannot see without tensors.
[[noreturn]] inline void refuse_tensors(const std::string& why) {
  throw provider::Refused(PLUMBLINE_UNSUPPORTED, why);
}

}  // namespace plumbline::compiled
