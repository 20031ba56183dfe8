// Cases on GPUs, real or emulated, and what makes two of them the same question.
#pragma once

#include <string>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

inline bool is_gpu_case(const Case& c) { return c.device != "cpu"; }
// The kind of a device: "cuda" of "cuda:0", "emulated" of "emulated:sm_90", "cpu".
inline std::string_view device_kind(std::string_view device) {
  return device.substr(0, device.find(':'));
}
inline bool is_emulated(std::string_view device) { return device.starts_with("emulated:"); }

// Whether a kernel, or a pattern, belongs to the providers of our GPU kernels.
inline bool is_gpu_kernel(std::string_view kernel) {
  return kernel.starts_with("cuda/") || kernel.starts_with("emulated/");
}

// The kernel without the provider where that only says how our GPU kernels run: "prefill_mma" of
// cuda/prefill_mma and emulated/prefill_mma. Others keep their full name.
inline std::string gpu_kernel(const Case& c) {
  return is_gpu_kernel(c.kernel) ? c.kernel.substr(c.kernel.find('/') + 1) : c.kernel;
}

}  // namespace plumbline
