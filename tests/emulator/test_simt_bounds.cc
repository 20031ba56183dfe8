// Accesses out of bounds are found by guard bytes, by AddressSanitizer, and by the guard page of a
// stack. AddressSanitizer names the source line.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "emulator/machine/launch.h"
#include "kernels/attention/simt.h"

namespace plumbline {
namespace {

using emulator::launch;
using emulator::LaunchOptions;

struct BoundsParameters {
  std::ptrdiff_t write;  // this byte of shared memory
  const std::uint8_t* read = nullptr;
  std::ptrdiff_t read_at = 0;
};

__global__ void touch(BoundsParameters p) {
  auto* const shared = reinterpret_cast<volatile std::uint8_t*>(simt::dynamic_shared());
  if (threadIdx.x != 5) return;
  shared[p.write] = 7;
  if (p.read != nullptr) shared[0] = p.read[p.read_at];
}

std::string write_at(std::ptrdiff_t at) { return launch({}, {3}, {64}, 1000, touch, {at}); }

unsigned overflow(unsigned depth) {
  volatile unsigned frame[512];
  frame[depth % 512] = depth;
  return depth == 0 ? 0 : overflow(depth - 1) + frame[depth % 512];
}
__global__ void deep(unsigned depth) {
  if (overflow(depth) == 1) __syncthreads();
}

class SimtBoundsDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

#ifdef __SANITIZE_ADDRESS__

TEST_F(SimtBoundsDeathTest, AddressSanitizerNamesTheLine) {
  EXPECT_EQ(write_at(999), "");
  EXPECT_DEATH(write_at(1000), "use-after-poison(.|\n)*touch.*test_simt_bounds.cc");
  EXPECT_DEATH(write_at(-1), "use-after-poison(.|\n)*touch.*test_simt_bounds.cc");
}

TEST_F(SimtBoundsDeathTest, AddressSanitizerKnowsGlobalMemory) {
  const std::vector<std::uint8_t> global(64);
  const auto read_at = [&](std::ptrdiff_t at) {
    return launch({}, {1}, {64}, 1000, touch, {0, global.data(), at});
  };
  EXPECT_EQ(read_at(63), "");
  EXPECT_DEATH(read_at(64), "heap-buffer-overflow(.|\n)*touch.*test_simt_bounds.cc");
}

struct CopyParameters {
  const std::uint8_t* global;
};
__global__ void copy_beyond(CopyParameters p) {
  simt::cp_async_16(simt::dynamic_shared(), p.global + 64, true);  // planted: never waited for
}

TEST_F(SimtBoundsDeathTest, AsyncCopyErrorNamesIssuingLine) {
  const std::vector<std::uint8_t> global(64);
  EXPECT_DEATH(launch({}, {1}, {1}, 16, copy_beyond, {global.data()}),
               "heap-buffer-overflow(.|\n)*copy_beyond.*test_simt_bounds.cc");
}

TEST_F(SimtBoundsDeathTest, StackOverflowHitsGuardPage) {
  EXPECT_DEATH(launch({}, {1}, {64}, 0, deep, 1000), "stack-overflow");
}

#else

TEST(SimtBounds, GuardBytesAroundSharedMemory) {
  EXPECT_EQ(write_at(999), "");
  EXPECT_EQ(write_at(1000),
            "block (0, 0, 0): wrote past its 1000 bytes of shared memory: at byte 1000");
  EXPECT_EQ(write_at(1100),
            "block (0, 0, 0): wrote past its 1000 bytes of shared memory: at byte 1100");
  EXPECT_EQ(write_at(-4), "block (0, 0, 0): wrote before its shared memory: 4 bytes before byte 0");
}

TEST_F(SimtBoundsDeathTest, StackOverflowHitsGuardPage) {
  EXPECT_EXIT(launch({}, {1}, {64}, 0, deep, 1000), testing::KilledBySignal(SIGSEGV), "");
}

#endif

}  // namespace
}  // namespace plumbline
