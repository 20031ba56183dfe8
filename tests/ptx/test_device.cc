// The devices' numbers agree with our other tables. Occupancy agrees with NVIDIA's own calculation
// (if its header is installed) and with examples computed by hand; register bounds agree with
// ptxas.
#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "emulator/machine/launch.h"
#include "emulator/ptx/device.h"
#include "harness/resources/occupancy.h"

namespace plumbline::ptx {
namespace {

using emulator::Arch;


TEST(PtxDevice, AgreesWithOtherTables) {
  for (const Arch arch : emulator::all_archs) {
    const Device& of = device(arch);
    EXPECT_EQ(of.shared_bytes_per_block_optin, emulator::max_shared_bytes(arch)) << of.name;
    EXPECT_EQ(of.shared_bytes_per_block_optin + of.reserved_shared_bytes_per_block,
              of.shared_bytes_per_multiprocessor)
        << of.name;
    const auto limits = multiprocessor_limits(emulator::name(arch));
    ASSERT_TRUE(limits) << of.name;
    EXPECT_EQ(limits->threads, of.threads_per_multiprocessor) << of.name;
    EXPECT_EQ(static_cast<std::size_t>(limits->shared_kib) << 10U,
              of.shared_bytes_per_multiprocessor)
        << of.name;
  }
}

// A multiprocessor has four partitions of 16,384 registers.
TEST(PtxOccupancy, MatchesHandComputedValues) {
  // 84 x 32 registers are 2816 in units of 256: 5 warps per partition, 5 blocks of 4 warps.
  EXPECT_EQ(occupancy(Arch::sm_80, 84, 128, 0), 5);
  // Blocks of 48 + 1 KiB in 100, 164 and 228 KiB.
  EXPECT_EQ(occupancy(Arch::sm_86, 32, 256, 48U << 10U), 2);
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 256, 48U << 10U), 3);
  EXPECT_EQ(occupancy(Arch::sm_90, 32, 256, 48U << 10U), 4);
  // The opt-in maximum, and one byte more.
  EXPECT_EQ(occupancy(Arch::sm_100, 32, 256, 227U << 10U), 1);
  EXPECT_EQ(occupancy(Arch::sm_100, 32, 256, (227U << 10U) + 1), 0);
  // Small blocks: 32, 16, 24 of them.
  EXPECT_EQ(occupancy(Arch::sm_90, 16, 32, 0), 32);
  EXPECT_EQ(occupancy(Arch::sm_86, 16, 32, 0), 16);
  EXPECT_EQ(occupancy(Arch::sm_89, 16, 32, 0), 24);
  // A carveout of half of 164 KiB becomes 100 KiB.
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 64, 24U << 10U), 6);
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 64, 24U << 10U, 50), 4);
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 64, 24U << 10U, 0), 1);
  // 1024 threads of 65 registers, no threads, too many threads.
  EXPECT_EQ(occupancy(Arch::sm_80, 65, 1024, 0), 0);
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 0, 0), 0);
  EXPECT_EQ(occupancy(Arch::sm_80, 32, 1025, 0), 0);
  EXPECT_EQ(occupancy(Arch::sm_80, 256, 32, 0), 0);
}

// The registers that ptxas 13.0 gave a kernel with 320 live values, under
// __launch_bounds__(threads, blocks).
TEST(PtxRegistersBound, MatchesPtxas) {
  struct Bound {
    Arch arch;
    int threads, blocks, registers;
  };
  constexpr std::array bounds{Bound{Arch::sm_80, 128, 1, 255}, Bound{Arch::sm_80, 256, 1, 255},
                              Bound{Arch::sm_80, 288, 1, 168}, Bound{Arch::sm_80, 512, 1, 128},
                              Bound{Arch::sm_80, 1024, 1, 64}, Bound{Arch::sm_80, 256, 2, 128},
                              Bound{Arch::sm_80, 128, 3, 168}, Bound{Arch::sm_80, 96, 5, 128},
                              Bound{Arch::sm_80, 128, 5, 96},  Bound{Arch::sm_80, 384, 2, 80},
                              Bound{Arch::sm_80, 32, 20, 96},  Bound{Arch::sm_80, 64, 32, 32},
                              Bound{Arch::sm_80, 1024, 2, 32}, Bound{Arch::sm_80, 160, 3, 128},
                              Bound{Arch::sm_80, 1024, 3, 64}, Bound{Arch::sm_86, 1024, 2, 64},
                              Bound{Arch::sm_86, 768, 2, 40},  Bound{Arch::sm_89, 64, 24, 40},
                              Bound{Arch::sm_89, 32, 30, 255}, Bound{Arch::sm_90, 128, 16, 32},
                              Bound{Arch::sm_100, 96, 7, 80}};
  for (const auto& [arch, threads, blocks, registers] : bounds)
    EXPECT_EQ(registers_bound(arch, threads, blocks), registers)
        << emulator::name(arch) << ", " << blocks << " blocks of " << threads << " threads";
  EXPECT_EQ(registers_bound(Arch::sm_80, 0, 0), 255);
  EXPECT_EQ(registers_bound(Arch::sm_80, 0, 4), 255);
}

// With the bound's registers the blocks fit, with one allocation unit more they do not.
TEST(PtxRegistersBound, OneUnitMoreDoesNotFit) {
  for (const Arch arch : emulator::all_archs) {
    for (int threads = 1; threads <= 1024; threads += 13) {
      for (int blocks = 1; blocks <= occupancy(arch, 1, threads, 0); ++blocks) {
        const int most = registers_bound(arch, threads, blocks);
        EXPECT_GE(occupancy(arch, most, threads, 0), blocks) << threads << ' ' << blocks;
        if (most < 255) {
          EXPECT_LT(occupancy(arch, most + 1, threads, 0), blocks) << threads << ' ' << blocks;
        }
      }
    }
  }
}

#if __has_include(<cuda_occupancy.h>)
int nvidia_says(Arch arch, int registers, int threads, std::size_t shared, int carveout) {
  const Device& of = device(arch);
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(arch) / 10;
  properties.computeMinor = static_cast<int>(arch) % 10;
  properties.maxThreadsPerBlock = of.threads_per_block;
  properties.maxThreadsPerMultiprocessor = of.threads_per_multiprocessor;
  properties.regsPerBlock = of.registers_per_block;
  properties.regsPerMultiprocessor = of.registers_per_multiprocessor;
  properties.warpSize = of.warp_size;
  properties.sharedMemPerBlock = of.shared_bytes_per_block;
  properties.sharedMemPerMultiprocessor = of.shared_bytes_per_multiprocessor;
  properties.numSms = of.multiprocessors;
  properties.sharedMemPerBlockOptin = of.shared_bytes_per_block_optin;
  properties.reservedSharedMemPerBlock = of.reserved_shared_bytes_per_block;
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = of.threads_per_block;
  kernel.numRegs = registers;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = shared;
  kernel.numBlockBarriers = 1;
  cudaOccDeviceState state;
  state.carveoutConfig = carveout;
  cudaOccResult result{};
  EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &kernel, &state, threads,
                                                    shared),
            CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}
#endif

TEST(PtxOccupancy, MatchesNvidiaHeader) {
#if __has_include(<cuda_occupancy.h>)
  int compared = 0, differ = 0;
  for (const Arch arch : emulator::all_archs) {
    for (int registers = 0; registers <= 255; registers += registers % 8 == 0 ? 7 : 1) {
      for (int threads = 1; threads <= 1100; threads += 29) {
        for (std::size_t shared = 0; shared <= 240U << 10U; shared += 5000) {
          for (const int carveout : {-1, 0, 50, 100}) {
            if (carveout >= 0 && (registers + threads) % 5 != 0) continue;  // tests a fifth of them
            ++compared;
            differ += occupancy(arch, registers, threads, shared, carveout) !=
                      nvidia_says(arch, registers, threads, shared, carveout);
          }
        }
      }
    }
  }
  EXPECT_EQ(differ, 0) << "of " << compared;
  EXPECT_GT(compared, 100'000);
#else
  GTEST_SKIP() << "built without cuda_occupancy.h";
#endif
}

}  // namespace
}  // namespace plumbline::ptx
