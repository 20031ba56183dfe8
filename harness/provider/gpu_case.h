// Cases on GPUs, real or emulated, and what makes two of them the same question.
#pragma once

#include <string>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

inline bool is_gpu_case(const Case& c) { return c.device != "cpu"; }
inline bool is_emulated(std::string_view device) { return device.starts_with("emulated:"); }

// The kernel without the provider where that only says how our GPU kernels run: "prefill_mma" of cuda/prefill_mma and
// emulated/prefill_mma. Others keep their full name.
inline std::string gpu_kernel(const Case& c) {
  for (const std::string_view provider : {"cuda/", "emulated/"}) {
    if (c.kernel.starts_with(provider)) return c.kernel.substr(provider.size());
  }
  return c.kernel;
}

}  // namespace plumbline
