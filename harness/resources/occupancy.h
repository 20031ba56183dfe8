// Theoretical occupancy: how many warps of a kernel one multiprocessor holds at once. Computed by
// the toolkit's cuda_occupancy.h, which needs no GPU but needs the device's limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// Limits of one multiprocessor by compute capability, from the CUDA C++ Programming Guide, table
// "Technical Specifications per Compute Capability", checked against cuda/__device/arch_traits.h of
// NVIDIA's CCCL. All have 1024 threads per block, 65,536 32-bit registers per multiprocessor and
// per block, and 48 KiB of shared memory per block unless it opts in to more. From 8.0 on the
// driver reserves 1 KiB of shared memory for each block.
struct MultiprocessorLimits {
  int major = 0, minor = 0;
  int threads = 0;     // resident
  int shared_kib = 0;  // of all blocks
  int reserved_shared_bytes_per_block = 0;
};
// "sm_90" and "sm_90a" are the same device. Returns nullopt if the table does not list it.
std::optional<MultiprocessorLimits> multiprocessor_limits(std::string_view arch);

struct BlockUsage {
  int registers = 0;  // per thread
  int threads = 0;
  std::int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  int barriers = 0;
};
struct Occupancy {
  int active_warps = 0;  // 0: a block does not fit
  int max_warps = 0;
  std::string limited_by;  // "registers", "shared memory, registers"
  double share() const { return static_cast<double>(active_warps) / max_warps; }
};

// Returns false if plumbline was built without cuda_occupancy.h; then no occupancy is known.
bool occupancy_is_known();
std::optional<Occupancy> theoretical_occupancy(std::string_view arch, const BlockUsage& usage);

}  // namespace plumbline
