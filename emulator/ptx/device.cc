// Facts of the devices, and the formula of occupancy.
//
// Sources of the numbers.
//   Threads, blocks, shared memory and registers of a multiprocessor and of a block: CUDA C++
//     Programming Guide 13.0, table "Technical Specifications per Compute Capability". The sizes
//     that shared memory can be set to: the same, sections "Shared Memory". Units and partitions:
//     NVIDIA's occupancy calculation (cuda_occupancy.h 12.1), with which tests/ptx/test_device.cc
//     compares all of this.
//   Multiprocessors, L2 cache and memory: NVIDIA's white papers "A100 Tensor Core GPU Architecture"
//     (A100 SXM4 80 GB), "Ampere GA102 GPU Architecture" (GeForce RTX 3090) and "H100 Tensor Core
//     GPU Architecture" (H100 SXM5); the data sheet of the L40S (18,176 cores, of which a
//     multiprocessor of Ada has 128) and "Ada GPU Architecture" (its chip's 96 MB of L2);
//     "Blackwell Tuning Guide" (B200: 126 MB of L2, 180 GB) and what a B200 says of itself (148
//     multiprocessors). Bytes of memory are what the data sheet says, in units of 2^30: a driver
//     shows some percent less.
#include "emulator/ptx/device.h"

#include <algorithm>
#include <array>

namespace plumbline::ptx {
namespace {

using emulator::Arch;

constexpr std::size_t kib = 1U << 10U, mib = kib << 10U, gib = mib << 10U;

// Ada: a server's device rather than GeForce RTX 4090 (128 multiprocessors, 72 MiB of L2).
constexpr Device a100{
    "NVIDIA A100-SXM4-80GB", 108, 40 * mib, 80 * gib, 2048, 32, 164 * kib, 163 * kib};
constexpr Device rtx3090{
    "NVIDIA GeForce RTX 3090", 82, 6 * mib, 24 * gib, 1536, 16, 100 * kib, 99 * kib};
constexpr Device l40s{"NVIDIA L40S", 142, 96 * mib, 48 * gib, 1536, 24, 100 * kib, 99 * kib};
constexpr Device h100{
    "NVIDIA H100 80GB HBM3", 132, 50 * mib, 80 * gib, 2048, 32, 228 * kib, 227 * kib};
constexpr Device b200{"NVIDIA B200", 148, 126 * mib, 180 * gib, 2048, 32, 228 * kib, 227 * kib};

// What the L1 cache leaves to shared memory can be set to these, up to what the device has.
constexpr std::array<std::size_t, 10> carveouts{0,         8 * kib,   16 * kib,  32 * kib,
                                                64 * kib,  100 * kib, 132 * kib, 164 * kib,
                                                196 * kib, 228 * kib};

template <class Integer>
constexpr Integer rounded_up(Integer value, Integer unit) {
  return (value + unit - 1) / unit * unit;
}

// The least carveout that holds `bytes`, which the device has.
std::size_t carveout_of(std::size_t bytes) {
  return *std::lower_bound(carveouts.begin(), carveouts.end(), bytes);
}

int blocks_by_registers(const Device& on, int registers_per_thread, int warps) {
  const int of_a_warp = rounded_up(registers_per_thread * on.warp_size, on.register_unit);
  if (of_a_warp == 0) return on.blocks_per_multiprocessor;
  // The hardware admits a block as if its warps filled all partitions alike.
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
    // A preference for less than one block needs gives way to the block.
    all = carveout_of(std::max(carveout_of(percent * all / 100), of_a_block));
  }
  return static_cast<int>(all / of_a_block);
}

}  // namespace

const Device& device(Arch arch) {
  switch (arch) {
    case Arch::sm_80:
      return a100;
    case Arch::sm_86:
      return rtx3090;
    case Arch::sm_89:
      return l40s;
    case Arch::sm_90:
      return h100;
    case Arch::sm_100:
      break;
  }
  return b200;
}

int occupancy(Arch arch, int registers_per_thread, int threads_per_block,
              std::size_t shared_bytes_per_block, int carveout_percent) {
  const Device& on = device(arch);
  if (threads_per_block <= 0 || threads_per_block > on.threads_per_block) return 0;
  if (registers_per_thread < 0 || registers_per_thread > on.registers_per_thread) return 0;
  const int warps = (threads_per_block + on.warp_size - 1) / on.warp_size;
  return std::min({on.blocks_per_multiprocessor,
                   on.threads_per_multiprocessor / on.warp_size / warps,
                   blocks_by_registers(on, registers_per_thread, warps),
                   blocks_by_shared_memory(on, shared_bytes_per_block, carveout_percent)});
}

int registers_bound(Arch arch, int max_threads, int min_blocks) {
  const Device& on = device(arch);
  if (max_threads <= 0 || max_threads > on.threads_per_block) return on.registers_per_thread;
  const int warps = (max_threads + on.warp_size - 1) / on.warp_size;
  const int most_blocks =
      std::min(on.blocks_per_multiprocessor, on.threads_per_multiprocessor / on.warp_size / warps);
  const int blocks = min_blocks < 1 || min_blocks > most_blocks ? 1 : min_blocks;
  const int warps_of_a_partition = (warps * blocks + on.partitions - 1) / on.partitions;
  const int of_a_warp = on.registers_per_multiprocessor / on.partitions / warps_of_a_partition /
                        on.register_unit * on.register_unit;
  return std::min(of_a_warp / on.warp_size, on.registers_per_thread);
}

}  // namespace plumbline::ptx
