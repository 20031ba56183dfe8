// Cases on real or emulated GPUs, and the part of a kernel's name that identifies the computation.
#pragma once

#include <string>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

inline bool is_gpu_case(const Case& c) { return c.device != "cpu"; }
// Returns the kind of a device: "cuda" for "cuda:0", "emulated" for "emulated:sm_90", "cpu".
inline std::string_view device_kind(std::string_view device) {
  return device.substr(0, device.find(':'));
}
inline bool is_emulated(std::string_view device) { return device.starts_with("emulated:"); }

// Returns true if a kernel or pattern belongs to the providers of our own GPU kernels.
inline bool is_gpu_kernel(std::string_view kernel) {
  return kernel.starts_with("cuda/") || kernel.starts_with("emulated/");
}

// Returns a case's kernel. Our GPU kernels lose their provider, which only states how they run:
// "prefill_mma" for cuda/prefill_mma and emulated/prefill_mma.
inline std::string gpu_kernel(const Case& c) {
  return is_gpu_kernel(c.kernel) ? c.kernel.substr(c.kernel.find('/') + 1) : c.kernel;
}

}  // namespace plumbline
