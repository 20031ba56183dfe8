// Calculates occupancy with the toolkit's cuda_occupancy.h, which otherwise only
// tests/ptx/test_device.cc includes. Without that header, occupancy_unknown.cc is compiled instead.
#include "harness/resources/occupancy.h"

#include <cuda_occupancy.h>

#include <array>
#include <utility>

namespace plumbline {
namespace {

cudaOccDeviceProp device_of(const MultiprocessorLimits& limits) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.major;
  device.computeMinor = limits.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = limits.threads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared_kib) * 1024;
  device.numSms = 1;  // must be positive; has no effect here
  device.reservedSharedMemPerBlock =
      static_cast<std::size_t>(limits.reserved_shared_bytes_per_block);
  device.sharedMemPerBlockOptin =
      device.sharedMemPerMultiprocessor - device.reservedSharedMemPerBlock;
  return device;
}

cudaOccFuncAttributes kernel_of(const BlockUsage& usage) {
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = usage.registers;
  kernel.sharedSizeBytes = static_cast<std::size_t>(usage.static_shared_bytes);
  // Assumes that the launcher sets cudaFuncAttributeMaxDynamicSharedMemorySize.
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(usage.dynamic_shared_bytes);
  kernel.numBlockBarriers = usage.barriers;
  return kernel;
}

std::string factors(unsigned bits) {
  static constexpr std::array<std::pair<unsigned, const char*>, 6> names{
      {{OCC_LIMIT_WARPS, "warps"},
       {OCC_LIMIT_REGISTERS, "registers"},
       {OCC_LIMIT_SHARED_MEMORY, "shared memory"},
       {OCC_LIMIT_BLOCKS, "blocks"},
       {OCC_LIMIT_BARRIERS, "barriers"},
       {OCC_LIMIT_VIRTUAL_RESOURCES, "virtual resources"}}};
  std::string text;
  for (const auto& [bit, word] : names) {
    if ((bits & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(word);
  }
  return text;
}

}  // namespace

bool occupancy_is_known() { return true; }

std::optional<Occupancy> theoretical_occupancy(std::string_view arch, const BlockUsage& usage) {
  const auto limits = multiprocessor_limits(arch);
  if (!limits) return std::nullopt;
  const cudaOccDeviceProp device = device_of(*limits);
  const cudaOccFuncAttributes kernel = kernel_of(usage);
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const auto dynamic = static_cast<std::size_t>(usage.dynamic_shared_bytes);
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, usage.threads,
                                              dynamic) != CUDA_OCC_SUCCESS)
    return std::nullopt;
  const int warps_of_a_block = (usage.threads + 31) / 32;
  return Occupancy{result.activeBlocksPerMultiprocessor * warps_of_a_block, limits->threads / 32,
                   factors(result.limitingFactors)};
}

}  // namespace plumbline
