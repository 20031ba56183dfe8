// The emulated devices, one per architecture, and their occupancy: how many blocks of a kernel one
// multiprocessor holds. Some libraries choose their KV splits by these values, so the bits of their
// outputs depend on the values.
#pragma once

#include <cstddef>
#include <string_view>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::ptx {

struct Device {
  std::string_view name;  // CUDA's name
  int multiprocessors;
  std::size_t l2_bytes, memory_bytes;
  // Limits of one multiprocessor: resident threads and blocks, and shared memory of all blocks.
  int threads_per_multiprocessor, blocks_per_multiprocessor;
  std::size_t shared_bytes_per_multiprocessor;
  // Limit of one block that opts in (cudaFuncAttributeMaxDynamicSharedMemorySize).
  std::size_t shared_bytes_per_block_optin;
  // Values that all devices share.
  int threads_per_block = 1024;
  int warp_size = 32;
  std::size_t shared_bytes_per_block = 48U << 10U;          // for blocks without opt-in
  std::size_t reserved_shared_bytes_per_block = 1U << 10U;  // by the driver
  std::size_t shared_unit = 128;                            // allocation unit of shared memory
  int registers_per_multiprocessor = 65536, registers_per_block = 65536;  // of 32 bits
  int registers_per_thread = 255;
  int register_unit = 256;  // allocation unit of a warp's registers
  int partitions = 4;       // per multiprocessor; each has a quarter of the registers and warps
};
Device device(emulator::Arch);

// Returns how many blocks with these resources one multiprocessor holds; 0 if one does not fit.
// `shared_bytes_per_block` is the sum of static and dynamic shared memory; the limit is
// Device::shared_bytes_per_block_optin. `carveout_percent` is the kernel's preferred share of
// Device::shared_bytes_per_multiprocessor (cudaFuncAttributePreferredSharedMemoryCarveout); -1: no
// preference, so all of that memory.
int occupancy(emulator::Arch, int registers_per_thread, int threads_per_block,
              std::size_t shared_bytes_per_block, int carveout_percent = -1);

// Returns the maximum of registers per thread for blocks of up to `max_threads` threads (.maxntid,
// all dimensions multiplied), `min_blocks` of which must be resident on one multiprocessor
// (.minnctapersm). 0: not given. Impossible values are ignored, as ptxas does with a warning.
int registers_bound(emulator::Arch, int max_threads, int min_blocks);

}  // namespace plumbline::ptx
