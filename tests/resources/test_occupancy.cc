// Theoretical occupancy agrees with examples computed by hand. A multiprocessor has four partitions
// of 16,384 registers. A warp takes registers in units of 256. From 8.0 on, a block takes 1 KiB
// more than its shared memory.
#include <gtest/gtest.h>

#include "harness/resources/occupancy.h"

namespace plumbline {
namespace {

class TheoreticalOccupancy : public testing::Test {
 protected:
  void SetUp() override {
    if (!occupancy_is_known()) GTEST_SKIP() << "built without cuda_occupancy.h";
  }
  static void expect(std::string_view arch, const BlockUsage& usage, int active, int most,
                     std::string_view limited_by) {
    const auto occupancy = theoretical_occupancy(arch, usage);
    ASSERT_TRUE(occupancy) << arch;
    EXPECT_EQ(occupancy->active_warps, active) << arch;
    EXPECT_EQ(occupancy->max_warps, most) << arch;
    EXPECT_EQ(occupancy->limited_by, limited_by) << arch;
  }
};

// 84 x 32 = 2688 registers per warp, 2816 in units of 256: 5 warps per partition, 20 in total, 5
// blocks of 4.
TEST_F(TheoreticalOccupancy, Registers) {
  expect("sm_75", {84, 128, 0, 1024, 1}, 20, 32, "registers");
  expect("sm_80", {84, 128, 0, 1024, 1}, 20, 64, "registers");
  expect("sm_86", {84, 128, 0, 1024, 1}, 20, 48, "registers");
  expect("sm_90a", {84, 128, 0, 1024, 1}, 20, 64, "registers");
}

// Blocks of 48 + 1 KiB: 2 in 100 KiB, 3 in 164 KiB, 4 in 228 KiB. Without the reserved KiB, 1 in 64
// KiB.
TEST_F(TheoreticalOccupancy, SharedMemory) {
  expect("sm_75", {32, 256, 0, 48 << 10, 1}, 8, 32, "shared memory");
  expect("sm_86", {32, 256, 0, 48 << 10, 1}, 16, 48, "shared memory");
  expect("sm_80", {32, 256, 0, 48 << 10, 1}, 24, 64, "shared memory");
  expect("sm_100a", {32, 256, 0, 48 << 10, 1}, 32, 64, "shared memory");
  expect("sm_100a", {32, 256, 16 << 10, 32 << 10, 1}, 32, 64, "shared memory");
}

TEST_F(TheoreticalOccupancy, WarpsAndBlocks) {
  expect("sm_120", {32, 1024, 0, 0, 1}, 32, 48, "warps");
  expect("sm_89", {16, 32, 0, 0, 1}, 24, 48, "blocks");
  expect("sm_90", {16, 32, 0, 0, 1}, 32, 64, "blocks");
}

// Story S4 on Hopper: 182 x 32 = 5824, in units 5888: 2 warps per partition. 66 x 32 = 2112, in
// units 2304: 7 warps.
TEST_F(TheoreticalOccupancy, StoryS4) {
  expect("sm_90", {182, 128, 0, 69632, 1}, 8, 64, "registers");
  expect("sm_90", {66, 128, 0, 9216, 1}, 28, 64, "registers");
}

// A block may have at most the multiprocessor's shared memory minus the reserved KiB.
TEST_F(TheoreticalOccupancy, ZeroIfBlockDoesNotFit) {
  expect("sm_86", {32, 128, 0, 99 << 10, 1}, 4, 48, "shared memory");
  expect("sm_86", {32, 128, 0, 100 << 10, 1}, 0, 48, "shared memory");
  expect("sm_90", {32, 128, 0, 100 << 10, 1}, 8, 64, "shared memory");
}

TEST_F(TheoreticalOccupancy, NoneForUnknownArchitecture) {
  EXPECT_FALSE(theoretical_occupancy("sm_42", {32, 128, 0, 0, 1}));
}

TEST(MultiprocessorLimits, IgnoreArchitectureSuffix) {
  ASSERT_TRUE(multiprocessor_limits("sm_90a"));
  EXPECT_EQ(multiprocessor_limits("sm_90a")->shared_kib,
            multiprocessor_limits("sm_90")->shared_kib);
  EXPECT_FALSE(multiprocessor_limits("sm_9"));
}

}  // namespace
}  // namespace plumbline
