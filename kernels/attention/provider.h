// The providers "cuda" and "emulated", for the libraries that export or extend them.
#pragma once

#include "harness/provider/plumbline_provider.hpp"
#include "kernels/attention/kernels.h"

namespace plumbline::attention {

// A problem that is ready to launch. It keeps its options, so later options do not change it.
struct Plan {
  const Kernel* kernel;
  const Instance* instance;
  Options options;
  plumbline_problem problem;
  plumbline_device device;
  Parameters parameters;
  Splits splits;
  Grid grid;
  std::unique_ptr<Indices> indices;
};

struct Attention : provider::Library {
  using Kernel = attention::Kernel;
  using Plan = attention::Plan;
  static const char* name() { return provider_name(); }
  static const char* version();
  static std::span<const Kernel> kernels() { return attention::kernels(); }
  static const char* tensor_cores(const Kernel& kernel) {
    return kernel.tensor_cores ? "on" : "off";
  }
  static const plumbline_device_memory* memory() { return device_memory(); }
  static std::string set_options(std::string_view text);  // options.h
  static std::string refusal(const Kernel& kernel, const plumbline_problem& problem,
                             const plumbline_device& device);
  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors& tensors, const plumbline_device& device,
                      std::uint64_t& workspace_bytes);
  static void run(Plan& plan, const plumbline_tensors& tensors, void* stream);
  static void describe(const Plan& plan, plumbline_description& description);
};

}  // namespace plumbline::attention
