// The numbers are those of cudaDeviceAttr in CUDA's driver_types.h; what they mean for a kernel
// comes from emulator/ptx/device.h.
#include "emulator/cudart/attributes.h"

#include <limits>

#include "emulator/ptx/device.h"

namespace plumbline::cudart {
namespace {

enum Attribute : int {
  max_threads_per_block = 1,
  max_block_dim_x = 2,
  max_block_dim_y = 3,
  max_block_dim_z = 4,
  max_grid_dim_x = 5,
  max_grid_dim_y = 6,
  max_grid_dim_z = 7,
  max_shared_memory_per_block = 8,
  total_constant_memory = 9,
  warp_size = 10,
  max_registers_per_block = 12,
  multiprocessor_count = 16,
  integrated = 18,
  can_map_host_memory = 19,
  compute_mode = 20,
  concurrent_kernels = 31,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  unified_addressing = 41,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  managed_memory = 83,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106,
  reserved_shared_memory_per_block = 111,
  memory_pools_supported = 115,
  cluster_launch = 120,
};

}  // namespace

std::optional<int> device_attribute(emulator::Arch arch, int attribute) {
  const ptx::Device& device = ptx::device(arch);
  const int number = static_cast<int>(arch);
  switch (static_cast<Attribute>(attribute)) {
    case max_threads_per_block:
    case max_block_dim_x:
    case max_block_dim_y:
      return device.threads_per_block;
    case max_block_dim_z:
      return 64;
    case max_grid_dim_x:
      return std::numeric_limits<int>::max();
    case max_grid_dim_y:
    case max_grid_dim_z:
      return 65535;
    case max_shared_memory_per_block:
      return static_cast<int>(device.shared_bytes_per_block);
    case total_constant_memory:
      return 64 << 10;
    case warp_size:
      return device.warp_size;
    case max_registers_per_block:
      return device.registers_per_block;
    case multiprocessor_count:
      return device.multiprocessors;
    case l2_cache_size:
      return static_cast<int>(device.l2_bytes);
    case max_threads_per_multiprocessor:
      return device.threads_per_multiprocessor;
    case compute_capability_major:
      return number / 10;
    case compute_capability_minor:
      return number % 10;
    case max_shared_memory_per_multiprocessor:
      return static_cast<int>(device.shared_bytes_per_multiprocessor);
    case max_registers_per_multiprocessor:
      return device.registers_per_multiprocessor;
    case max_shared_memory_per_block_optin:
      return static_cast<int>(device.shared_bytes_per_block_optin);
    case max_blocks_per_multiprocessor:
      return device.blocks_per_multiprocessor;
    case reserved_shared_memory_per_block:
      return static_cast<int>(device.reserved_shared_bytes_per_block);
    case concurrent_kernels:
    case unified_addressing:
    case can_map_host_memory:
    case managed_memory:
    case memory_pools_supported:
      return 1;
    case integrated:
    case compute_mode:
    case cooperative_launch:  // blocks run one after another
    case cluster_launch:
      return 0;
  }
  return std::nullopt;
}

}  // namespace plumbline::cudart
