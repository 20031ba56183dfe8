// The devices of the table, and the occupancy formula.
#include "emulator/ptx/device.h"

#include <algorithm>
#include <array>

namespace plumbline::ptx {
namespace {

using emulator::Arch;

constexpr std::size_t kib = 1U << 10U, mib = kib << 10U, gib = mib << 10U;

// The shared memory sizes that the L1 cache can be configured for, up to the device's maximum.
constexpr std::array<std::size_t, 10> carveouts{0,         8 * kib,   16 * kib,  32 * kib,
                                                64 * kib,  100 * kib, 132 * kib, 164 * kib,
                                                196 * kib, 228 * kib};

template <class Integer>
constexpr Integer rounded_up(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

// Returns the smallest carveout that holds `bytes`; the device must have one.
std::size_t carveout_of(std::size_t bytes) {
  return *std::lower_bound(carveouts.begin(), carveouts.end(), bytes);
}

int blocks_by_registers(const Device& on, int registers_per_thread, int warps) {
  const int of_a_warp = rounded_up(registers_per_thread * on.warp_size, on.register_unit);
  if (of_a_warp == 0) return on.blocks_per_multiprocessor;
  // The hardware admits a block as if its warps filled all partitions equally.
  if (of_a_warp * rounded_up(warps, on.partitions) > on.registers_per_block) return 0;
  const int warps_of_a_partition = on.registers_per_multiprocessor / on.partitions / of_a_warp;
  return warps_of_a_partition * on.partitions / warps;
}

int blocks_by_shared_memory(const Device& on, std::size_t bytes, int carveout_percent) {
  if (bytes > on.shared_bytes_per_block_optin) return 0;
  const std::size_t of_a_block =
      rounded_up(bytes + on.reserved_shared_bytes_per_block, on.shared_unit);
  std::size_t all = on.shared_bytes_per_multiprocessor;
  if (carveout_percent >= 0) {
    const auto percent = static_cast<std::size_t>(std::min(carveout_percent, 100));
    // A preference too small for one block is raised to the smallest carveout that holds it.
    all = carveout_of(std::max(carveout_of(percent * all / 100), of_a_block));
  }
  return static_cast<int>(all / of_a_block);
}

}  // namespace

Device device(Arch arch) {
  const Architecture& of = emulator::facts(arch);
  const auto bytes = [](int count, std::size_t unit) {
    return static_cast<std::size_t>(count) * unit;
  };
  return {
      of.device,  of.multiprocessors, bytes(of.l2_mib, mib),     bytes(of.memory_gib, gib),
      of.threads, of.blocks,          bytes(of.shared_kib, kib), bytes(of.block_shared_kib, kib)};
}

int occupancy(Arch arch, int registers_per_thread, int threads_per_block,
              std::size_t shared_bytes_per_block, int carveout_percent) {
  const Device on = device(arch);
  if (threads_per_block <= 0 || threads_per_block > on.threads_per_block) return 0;
  if (registers_per_thread < 0 || registers_per_thread > on.registers_per_thread) return 0;
  const int warps = (threads_per_block + on.warp_size - 1) / on.warp_size;
  return std::min({on.blocks_per_multiprocessor,
                   on.threads_per_multiprocessor / on.warp_size / warps,
                   blocks_by_registers(on, registers_per_thread, warps),
                   blocks_by_shared_memory(on, shared_bytes_per_block, carveout_percent)});
}

int registers_bound(Arch arch, int max_threads, int min_blocks) {
  const Device on = device(arch);
  if (max_threads <= 0 || max_threads > on.threads_per_block) return on.registers_per_thread;
  const int warps = (max_threads + on.warp_size - 1) / on.warp_size;
  const int max_resident_blocks =
      std::min(on.blocks_per_multiprocessor, on.threads_per_multiprocessor / on.warp_size / warps);
  const int blocks = min_blocks < 1 || min_blocks > max_resident_blocks ? 1 : min_blocks;
  const int warps_of_a_partition = (warps * blocks + on.partitions - 1) / on.partitions;
  const int of_a_warp = on.registers_per_multiprocessor / on.partitions / warps_of_a_partition /
                        on.register_unit * on.register_unit;
  return std::min(of_a_warp / on.warp_size, on.registers_per_thread);
}

}  // namespace plumbline::ptx
