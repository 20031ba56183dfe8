#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "harness/provider/default_providers.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;

// An empty folder for libraries and one that stands for /dev.
class DefaultProviders : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "plumbline-default.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = fs::path(pattern) / "lib";
    devices_ = fs::path(pattern) / "dev";
    fs::create_directories(folder_);
    fs::create_directories(devices_);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
  }
  void TearDown() override {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    fs::remove_all(folder_.parent_path());
  }
  static void touch(const fs::path& path) { std::ofstream(path) << "x"; }

  fs::path folder_, devices_;
};

TEST_F(DefaultProviders, TheCpuAloneWhereNothingElseWasBuilt) {
  EXPECT_THAT(default_providers(folder_, devices_), ElementsAre((folder_ / "plumbline_cpu.so").string()));
}

TEST_F(DefaultProviders, TheEmulatorWhereItWasBuiltAndCudaWhereADeviceIsThere) {
  touch(folder_ / "plumbline_emulated.so");
  touch(folder_ / "plumbline_cuda.so");
  EXPECT_THAT(default_providers(folder_, devices_), ElementsAre(EndsWith("plumbline_cpu.so"), EndsWith("plumbline_emulated.so")));
  touch(devices_ / "nvidiactl");
  touch(devices_ / "nvidia-uvm");  // the driver without a GPU
  EXPECT_FALSE(has_cuda_device(devices_));
  touch(devices_ / "nvidia3");
  EXPECT_THAT(default_providers(folder_, devices_),
              ElementsAre(EndsWith("plumbline_cpu.so"), EndsWith("plumbline_emulated.so"), EndsWith("plumbline_cuda.so")));
}

TEST_F(DefaultProviders, AHiddenDeviceIsNone) {
  touch(devices_ / "nvidiactl");
  touch(devices_ / "nvidia0");
  for (const auto& [visible, there] : {std::pair{"", false}, std::pair{"-1", false}, std::pair{"0", true}}) {
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    EXPECT_EQ(has_cuda_device(devices_), there) << visible;
  }
  EXPECT_FALSE(has_cuda_device(devices_ / "nowhere"));
}

}  // namespace
}  // namespace plumbline
