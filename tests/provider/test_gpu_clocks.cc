// Clocks and throttle reasons from a stub with NVML's name.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/provider/child/gpu_clocks.h"

namespace plumbline {
namespace {

class GpuClocksTest : public testing::Test {
 protected:
  // dlopen then finds the stub instead of the driver's library, which has the same name.
  void SetUp() override {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    stub_ = ::dlopen(PLUMBLINE_NVML_STUB, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(stub_, nullptr) << ::dlerror();
  }
  void TearDown() override {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    if (stub_ != nullptr) ::dlclose(stub_);
  }
  void* stub_ = nullptr;
};

TEST_F(GpuClocksTest, ReadsClocksOfDevice) {
  const GpuClocks first(0, "Stub GPU 0"), second(1, "Stub GPU 1");
  EXPECT_EQ(first.now().mhz, 1980);
  EXPECT_EQ(throttle_words(first.now().reasons), "") << "it idles";
  EXPECT_EQ(second.now().mhz, 1200);
  EXPECT_EQ(throttle_words(second.now().reasons), "power cap, thermal slowdown");
}

TEST_F(GpuClocksTest, FollowsCudaVisibleDevices) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  EXPECT_EQ(GpuClocks(0, "Stub GPU 1").now().mhz, 1200);
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-second", 1);
  EXPECT_EQ(GpuClocks(0, "Stub GPU 1").now().mhz, 1200);
  EXPECT_EQ(GpuClocks(1, "Stub GPU 1").now().mhz, 0) << "there is no second one";
}

TEST_F(GpuClocksTest, EmptyIfModelDiffers) {
  const GpuClocks other(0, "Stub GPU 1");
  EXPECT_EQ(other.now().mhz, 0);
  EXPECT_EQ(other.now().reasons, 0u);
  EXPECT_EQ(GpuClocks(7, "Stub GPU 7").now().mhz, 0);
}

}  // namespace
}  // namespace plumbline
