// The numbers are those of cudaDeviceAttr in CUDA's driver_types.h; the values come from
// emulator/ptx/device.h.
#include "emulator/cudart/attributes.h"

#include <cstdint>
#include <limits>
#include <map>

#include "emulator/ptx/device.h"

namespace plumbline::cudart {

std::optional<int> device_attribute(emulator::Arch arch, int attribute) {
  const ptx::Device& device = ptx::device(arch);
  const int number = static_cast<int>(arch);
  const std::map<int, std::int64_t> known{
      {1, device.threads_per_block},                 // max threads per block
      {2, device.threads_per_block},                 // max block dim x
      {3, device.threads_per_block},                 // max block dim y
      {4, 64},                                       // max block dim z
      {5, std::numeric_limits<int>::max()},          // max grid dim x
      {6, 65535},                                    // max grid dim y
      {7, 65535},                                    // max grid dim z
      {8, device.shared_bytes_per_block},            // max shared memory per block
      {9, 64 << 10},                                 // total constant memory
      {10, device.warp_size},                        // warp size
      {12, device.registers_per_block},              // max registers per block
      {16, device.multiprocessors},                  // multiprocessor count
      {18, 0},                                       // integrated
      {19, 1},                                       // can map host memory
      {20, 0},                                       // compute mode
      {31, 1},                                       // concurrent kernels
      {38, device.l2_bytes},                         // l2 cache size
      {39, device.threads_per_multiprocessor},       // max threads per multiprocessor
      {41, 1},                                       // unified addressing
      {75, number / 10},                             // compute capability major
      {76, number % 10},                             // compute capability minor
      {81, device.shared_bytes_per_multiprocessor},  // max shared memory per multiprocessor
      {82, device.registers_per_multiprocessor},     // max registers per multiprocessor
      {83, 1},                                       // managed memory
      {95, 0},  // cooperative launch: no, because blocks cannot wait for each other
      {97, device.shared_bytes_per_block_optin},      // max shared memory per block, opt-in
      {106, device.blocks_per_multiprocessor},        // max blocks per multiprocessor
      {111, device.reserved_shared_bytes_per_block},  // reserved shared memory per block
      {115, 1},                                       // memory pools supported
      {120, 0},                                       // cluster launch
  };
  const auto found = known.find(attribute);
  if (found == known.end()) return std::nullopt;
  return static_cast<int>(found->second);
}

}  // namespace plumbline::cudart
