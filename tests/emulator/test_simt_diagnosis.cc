// The error of a kernel that cannot continue or makes an undefined call.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::Arch;
using emulator::Dim3;
using emulator::launch;
using emulator::LaunchOptions;
using emulator::Schedule;

constexpr unsigned everyone = 0xffffffffU;
constexpr const char* file = "test_simt_diagnosis.cc";

std::string run(void (*kernel)(int), int argument, Dim3 block = {64},
                std::size_t shared_bytes = 1024) {
  return launch({}, {2}, block, shared_bytes, kernel, argument);
}

constexpr unsigned two_barriers_line = __LINE__ + 3;
__global__ void two_barriers(int limit) {
  if (static_cast<int>(threadIdx.x) < limit) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST(SimtDiagnosis, DivergentBarriers) {
  EXPECT_EQ(run(two_barriers, 64), "");
  EXPECT_EQ(run(two_barriers, 40), fmt::format(R"(block (0, 0, 0): divergent barrier
  warp 0 lanes 0-31 in __syncthreads at {0}:{1}
  warp 1 lanes 0-7 in __syncthreads at {0}:{1}
  warp 1 lanes 8-31 in __syncthreads at {0}:{2})",
                                               file, two_barriers_line, two_barriers_line + 2));
}

constexpr unsigned early_exit_line = __LINE__ + 3;
__global__ void early_exit(int limit) {
  if (static_cast<int>(threadIdx.x) >= limit) return;
  __syncthreads();
}

TEST(SimtDiagnosis, ThreadsEndBeforeBarrier) {
  EXPECT_EQ(run(early_exit, 64), "");
  EXPECT_EQ(run(early_exit, 33, {160}), fmt::format(R"(block (0, 0, 0): divergent barrier
  warp 0 lanes 0-31 in __syncthreads at {0}:{1}
  warp 1 lanes 0 in __syncthreads at {0}:{1}
  warp 1 lanes 1-31 finished
  warps 2-4 lanes 0-31 finished)",
                                                    file, early_exit_line));
}

constexpr unsigned missing_lanes_line = __LINE__ + 4;
__global__ void missing_lanes(int lane) {
  unsigned value = threadIdx.x;
  if (static_cast<int>(threadIdx.x) != lane) {
    value = __shfl_xor_sync(everyone, value, 1);
  }
  __syncthreads();
}

TEST(SimtDiagnosis, ShuffleWithMissingLane) {
  EXPECT_EQ(run(missing_lanes, -1), "");
  EXPECT_EQ(run(missing_lanes, 37), fmt::format(R"(block (0, 0, 0): deadlock
  warp 0 lanes 0-31 in __syncthreads at {0}:{1}
  warp 1 lanes 0-4, 6-31 in __shfl_xor_sync at {0}:{2} (waits for lanes 5)
  warp 1 lanes 5 in __syncthreads at {0}:{1})",
                                                file, missing_lanes_line + 2, missing_lanes_line));
}

constexpr unsigned mixed_line = __LINE__ + 3;
__global__ void mixed_collectives(int limit) {
  if (static_cast<int>(threadIdx.x % 32) < limit) {
    __syncwarp();
  } else {
    (void)__ballot_sync(everyone, 1);
  }
}

TEST(SimtDiagnosis, LanesInDifferentCollectives) {
  EXPECT_EQ(run(mixed_collectives, 32), "");
  EXPECT_EQ(
      run(mixed_collectives, 8),
      fmt::format(
          "block (0, 0, 0): warp 0 lane 8, __ballot_sync at {0}:{2}: while lanes 0-7 of the warp "
          "are in __syncwarp at {0}:{1}",
          file, mixed_line, mixed_line + 2));
}

constexpr unsigned mma_line = __LINE__ + 3;
__global__ void one_mma(int limit) {
  float d[4]{};
  if (static_cast<int>(threadIdx.x % 32) < limit) simt::mma_bf16(d, {}, {});
  if (limit < 0) simt::mma_e4m3(d, {}, {});
}

TEST(SimtDiagnosis, MmaWithMissingLanesOrUnsupported) {
  EXPECT_EQ(run(one_mma, 32), "");
  EXPECT_EQ(run(one_mma, 30, {32}), fmt::format(R"(block (0, 0, 0): deadlock
  warp 0 lanes 0-29 in mma_bf16 at {0}:{1} (waits for lanes 30-31)
  warp 0 lanes 30-31 finished)",
                                                file, mma_line));
  EXPECT_EQ(run(one_mma, 16, {16}), fmt::format(R"(block (0, 0, 0): deadlock
  warp 0 lanes 0-15 in mma_bf16 at {0}:{1} (waits for lanes 16-31))",
                                                file, mma_line));
  for (const auto& [arch, text] : {std::pair(Arch::sm_80, "sm_80"), {Arch::sm_86, "sm_86"}}) {
    LaunchOptions options;
    options.arch = arch;
    EXPECT_EQ(
        launch(options, {1}, {32}, 0, one_mma, -1),
        fmt::format("block (0, 0, 0): warp 0 lane 0, mma_e4m3 at {}:{}: {} has no such instruction",
                    file, mma_line + 1, text));
  }
}

constexpr unsigned named_line = __LINE__ + 4;
__global__ void named(int kind) {
  const bool first = threadIdx.x < 32;
  if (kind == 0) {
    simt::named_barrier_sync(3, 96);
  } else if (kind == 1) {
    simt::named_barrier_sync(first ? 1 : 2, 64);
  } else if (kind == 2) {
    simt::named_barrier_sync(1, first ? 64 : 96);
  } else if (kind == 3 && first) {
    simt::named_barrier_arrive(1, 96);
    simt::named_barrier_arrive(1, 96);
  } else if (kind >= 4) {
    simt::named_barrier_sync(kind, kind == 4 ? 65 : 64);
  }
}

TEST(SimtDiagnosis, NamedBarriers) {
  EXPECT_EQ(run(named, 5), "");
  EXPECT_EQ(run(named, 0), fmt::format(R"(block (0, 0, 0): deadlock
  warps 0-1 lanes 0-31 in named_barrier_sync at {}:{} (barrier 3: 64 of 96 threads have arrived))",
                                       file, named_line));
  EXPECT_EQ(run(named, 1), fmt::format(R"(block (0, 0, 0): deadlock
  warp 0 lanes 0-31 in named_barrier_sync at {0}:{1} (barrier 1: 32 of 64 threads have arrived)
  warp 1 lanes 0-31 in named_barrier_sync at {0}:{1} (barrier 2: 32 of 64 threads have arrived))",
                                       file, named_line + 2));
  EXPECT_EQ(run(named, 2), fmt::format("block (0, 0, 0): warp 1 lane 0, named_barrier_sync at "
                                       "{}:{}: barrier 1 of 96 threads, but other "
                                       "threads expect 64",
                                       file, named_line + 4));
  EXPECT_EQ(run(named, 3), fmt::format("block (0, 0, 0): warp 0 lane 0, named_barrier_arrive at "
                                       "{}:{}: arrives twice at barrier 1, which has "
                                       "1 of 96 threads",
                                       file, named_line + 7));
  EXPECT_EQ(run(named, 4), fmt::format("block (0, 0, 0): warp 0 lane 0, named_barrier_sync at "
                                       "{}:{}: barrier 4 of 65 threads: a multiple of 32 "
                                       "up to 1024 is needed",
                                       file, named_line + 9));
  EXPECT_EQ(run(named, 16), fmt::format("block (0, 0, 0): warp 0 lane 0, named_barrier_sync at "
                                        "{}:{}: barrier 16: named barriers are 1 to 15",
                                        file, named_line + 9));
}

constexpr unsigned addresses_line = __LINE__ + 4;
__global__ void addresses(int offset) {
  alignas(16) static const std::uint8_t global[64]{};
  std::uint32_t r[4];
  simt::ldmatrix_x4(r, simt::dynamic_shared() + offset % 4096);
  simt::cp_async_16(simt::dynamic_shared(), global + offset / 4096, true);
}

TEST(SimtDiagnosis, InvalidSixteenByteAddresses) {
  const auto text = [](int offset) { return run(addresses, offset, {32}); };
  EXPECT_EQ(text(1008), "");
  EXPECT_EQ(text(1024),
            fmt::format("block (0, 0, 0): warp 0 lane 0, ldmatrix_x4 at {}:{}: accesses "
                        "bytes from 1024 on, but shared memory has 1024 bytes",
                        file, addresses_line));
  EXPECT_EQ(text(-16), fmt::format("block (0, 0, 0): warp 0 lane 0, ldmatrix_x4 at {}:{}: accesses "
                                   "bytes from -16 on, but shared memory has 1024 bytes",
                                   file, addresses_line));
  EXPECT_EQ(text(8), fmt::format("block (0, 0, 0): warp 0 lane 0, ldmatrix_x4 at {}:{}: byte 8 of "
                                 "shared memory is not 16-byte aligned",
                                 file, addresses_line));
  EXPECT_THAT(text(4096 * 8), testing::HasSubstr(fmt::format("cp_async at {}:{}: global address",
                                                             file, addresses_line + 1)));
}

constexpr unsigned masks_line = __LINE__ + 3;
__global__ void masks(int kind) {
  const unsigned lane = threadIdx.x % 32;
  if (kind == 0 && lane < 8) (void)__ballot_sync(0xf0U, 1);
  if (kind == 1 && lane < 8) (void)__shfl_sync(0xffU, lane, 9);
  if (kind == 2) (void)__shfl_sync(everyone, lane, 0, 5);
}

TEST(SimtDiagnosis, InvalidMasksAndWidths) {
  const auto text = [](unsigned line, const char* rest) {
    return fmt::format("block (0, 0, 0): warp 0 lane 0, {}",
                       fmt::format(fmt::runtime(rest), file, line));
  };
  EXPECT_EQ(
      run(masks, 0),
      text(masks_line, "__ballot_sync at {}:{}: the mask 0x000000f0 leaves out the calling lane"));
  EXPECT_EQ(run(masks, 1),
            text(masks_line + 1,
                 "__shfl_sync at {}:{}: reads lane 9, which the mask 0x000000ff leaves out"));
  EXPECT_EQ(run(masks, 2),
            text(masks_line + 2, "__shfl_sync at {}:{}: width 5 is not a power of two up to 32"));
}

// Only blocks from `first` on have a barrier that some threads do not reach. The first of them is
// named, whichever ran first.
struct ManyParameters {
  unsigned first;
};
__global__ void fails_from(ManyParameters p) {
  if (blockIdx.x >= p.first && threadIdx.x == 0) return;
  __syncthreads();
}

TEST(SimtDiagnosis, NamesFirstBlockAndReusesBlocks) {
  for (const auto switching : {emulator::Switching::assembly, emulator::Switching::ucontext}) {
    LaunchOptions options;
    options.switching = switching;
    for (const unsigned first : {0U, 17U, 99U}) {
      EXPECT_THAT(launch(options, {100}, {64}, 0, fails_from, {first}),
                  testing::StartsWith(fmt::format("block ({}, 0, 0): divergent", first)));
    }
    EXPECT_EQ(launch(options, {100}, {64}, 0, fails_from, {100}), "");
  }
}

__global__ void nothing(int) {}

TEST(SimtDiagnosis, RefusesInvalidLaunches) {
  EXPECT_EQ(launch({}, {1}, {1025}, 0, nothing, 0),
            "a block of 1025 x 1 x 1 threads: 1 to 1024 are possible, at most 64 in z");
  EXPECT_EQ(launch({}, {1, 65536}, {32}, 0, nothing, 0),
            "a grid of 1 x 65536 x 1 blocks: 1 to 2147483647 x 65535 x 65535 are possible");
  EXPECT_EQ(launch({}, {0}, {32}, 0, nothing, 0),
            "a grid of 0 x 1 x 1 blocks: 1 to 2147483647 x 65535 x 65535 are possible");
  LaunchOptions options;
  options.arch = Arch::sm_86;
  EXPECT_EQ(launch(options, {1}, {32}, 99 * 1024, nothing, 0), "");
  EXPECT_EQ(launch(options, {1}, {32}, 100 * 1024, nothing, 0),
            "102400 bytes of shared memory: sm_86 has 101376 for a block");
}

}  // namespace
}  // namespace plumbline
