// The devices that the emulator stands for, one an architecture, and how many blocks of a kernel
// one of their multiprocessors holds: libraries ask for both, and some choose by them how they
// split their work, hence their bits.
#pragma once

#include <cstddef>
#include <string_view>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::ptx {

struct Device {
  std::string_view name;  // as CUDA names it
  int multiprocessors;
  std::size_t l2_bytes, memory_bytes;
  // Of one multiprocessor: resident threads and blocks, and bytes of shared memory of all blocks.
  int threads_per_multiprocessor, blocks_per_multiprocessor;
  std::size_t shared_bytes_per_multiprocessor;
  // Of one block that asks for it (cudaFuncAttributeMaxDynamicSharedMemorySize).
  std::size_t shared_bytes_per_block_optin;
  // The same on all of them.
  int threads_per_block = 1024;
  int warp_size = 32;
  std::size_t shared_bytes_per_block = 48U << 10U;          // of a block that does not ask
  std::size_t reserved_shared_bytes_per_block = 1U << 10U;  // by the driver
  std::size_t shared_unit = 128;                            // shared memory comes in such pieces
  int registers_per_multiprocessor = 65536, registers_per_block = 65536;  // of 32 bits
  int registers_per_thread = 255;
  int register_unit = 256;  // a warp's registers come in such pieces
  int partitions = 4;       // of a multiprocessor: each has a quarter of the registers and warps
};
Device device(emulator::Arch);

// How many such blocks are resident on one multiprocessor at once; 0 where one does not fit.
// `shared_bytes_per_block` is static and dynamic shared memory together, of a kernel that asked for
// as much. `carveout_percent` is how much of the shared memory the kernel prefers to have
// (cudaFuncAttributePreferredSharedMemoryCarveout), -1: no preference, which is all of it.
int occupancy(emulator::Arch, int registers_per_thread, int threads_per_block,
              std::size_t shared_bytes_per_block, int carveout_percent = -1);

// The most registers that a thread can have where blocks have up to `max_threads` threads
// (.maxntid, all dimensions multiplied) and `min_blocks` of them are to be resident on one
// multiprocessor (.minnctapersm). 0: not said. What no multiprocessor can hold is ignored, as ptxas
// does with a warning.
int registers_bound(emulator::Arch, int max_threads, int min_blocks);

}  // namespace plumbline::ptx
