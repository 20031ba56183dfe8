// Launches kernels and answers queries about them.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/cudart/device.h"
#include "emulator/ptx/device.h"

namespace plumbline::cudart {
namespace {

// Pushed by <<<…>>>, and popped by the kernel's stub, which the compiler generates.
struct Configuration {
  Dim3 grid, block;
  std::size_t dynamic_shared_bytes;
  void* stream;
};
thread_local std::vector<Configuration> configurations;

Error launch(const void* host, Dim3 grid, Dim3 block, void** arguments,
             std::size_t dynamic_shared_bytes) {
  return finish(Device::instance().launch(host, {grid, block, dynamic_shared_bytes, arguments}));
}

// PTX does not state a register count; its launch bounds give an upper bound.
int registers_of(const ptx::Kernel& kernel) {
  return ptx::registers_bound(Device::instance().settings().launch.arch,
                              static_cast<int>(kernel.facts.max_threads),
                              static_cast<int>(kernel.facts.min_blocks));
}

Error max_active_blocks(int* blocks, const void* host, int threads, std::size_t dynamic_shared) {
  const auto ready = Device::instance().ready(host);
  if (!ready) return report(ready.error());
  if (threads < 1 || threads > 1024)
    return report(invalid_value,
                  fmt::format("a block of {} threads: 1 to 1024 are possible", threads));
  const ptx::Kernel& kernel = *ready->kernel;
  *blocks = ptx::occupancy(Device::instance().settings().launch.arch, registers_of(kernel), threads,
                           ptx::dynamic_shared_offset(kernel.facts) + dynamic_shared);
  return success;
}

}  // namespace
}  // namespace plumbline::cudart

using namespace plumbline::cudart;  // the functions below are C
namespace ptx = plumbline::ptx;

extern "C" {

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
Error __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return report(invalid_configuration, "no launch was configured");
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.dynamic_shared_bytes;
  std::memcpy(stream, &last.stream, sizeof last.stream);
  return success;
}

Error cudaLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments,
                       std::size_t shared, void*) {
  return launch(host, grid, block, arguments, shared);
}
Error cudaLaunchKernelExC(const LaunchConfiguration* of, const void* host, void** arguments) {
  // Clusters and programmatic launches would change the meaning of kernel code.
  if (of->attribute_count != 0)
    return report(not_supported, fmt::format("a launch with {} attributes (clusters, programmatic "
                                             "launches) is not emulated",
                                             of->attribute_count));
  return launch(host, of->grid, of->block, arguments, of->dynamic_shared_bytes);
}
// For CUDA 13's stubs, a kernel handle is the registered address.
Error __cudaGetKernel(void** kernel, const void* host) {
  *kernel = const_cast<void*>(host);
  return success;
}
Error __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                         void*) {
  return launch(kernel, grid, block, arguments, shared);
}

Error cudaFuncSetAttribute(const void* host, FunctionAttribute attribute, int value) {
  switch (attribute) {
    case FunctionAttribute::max_dynamic_shared:
      return finish(Device::instance().allow_dynamic_shared(host, value));
    case FunctionAttribute::preferred_shared_carveout:
      return success;  // a hint
  }
  return report(not_supported, fmt::format("cudaFuncSetAttribute: attribute {} is not emulated",
                                           static_cast<int>(attribute)));
}
Error cudaFuncSetCacheConfig(const void*, int) { return success; }  // a hint

Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  const auto ready = Device::instance().ready(host);
  if (!ready) return report(ready.error());
  const ptx::Kernel& kernel = *ready->kernel;
  *attributes = {};
  attributes->shared_bytes = kernel.facts.static_shared_bytes;
  attributes->max_threads_per_block =
      kernel.facts.max_threads == 0 ? 1024 : static_cast<int>(kernel.facts.max_threads);
  attributes->registers = registers_of(kernel);
  attributes->ptx_version = attributes->binary_version =
      static_cast<int>(Device::instance().settings().launch.arch);
  attributes->max_dynamic_shared_bytes = ready->max_dynamic_shared_bytes;
  attributes->preferred_shared_carveout = -1;
  return success;
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                    std::size_t shared) {
  return max_active_blocks(blocks, host, threads, shared);
}
Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                             int threads, std::size_t shared,
                                                             unsigned) {
  return max_active_blocks(blocks, host, threads, shared);
}

}  // extern "C"
