// Types and numbers of the CUDA run-time API, as NVIDIA's cuda_runtime_api.h and driver_types.h
// document them for compiled programs. CUDA itself is not needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::cudart {

struct Dim3 {
  unsigned x, y, z;
};

// cudaError_t
enum Error : int {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_kernel_image = 200,
  no_kernel_image_for_device = 209,
  invalid_resource_handle = 400,
  launch_out_of_resources = 701,
  launch_failure = 719,
  not_supported = 801,
  unknown = 999,
};

// cudaFuncAttribute
enum class FunctionAttribute : int { max_dynamic_shared = 8, preferred_shared_carveout = 9 };

// cudaFuncAttributes
struct FunctionAttributes {
  std::size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version, cache_mode_ca;
  int max_dynamic_shared_bytes, preferred_shared_carveout, cluster_must_be_set;
  int required_cluster[3], cluster_scheduling_policy, non_portable_cluster_allowed, reserved[16];
};

// cudaLaunchConfig_t
struct LaunchConfiguration {
  Dim3 grid, block;
  std::size_t dynamic_shared_bytes;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};

}  // namespace plumbline::cudart
