// The default providers depend on the build and on the visible GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "harness/provider/client/bundled_providers.h"
#include "harness/provider/client/default_providers.h"
#include "harness/provider/client/launch.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;

// An empty folder for libraries, and one that replaces /dev.
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
    path_ = ::getenv("PATH");
    // no nvidia-smi except one that a test writes
    ::setenv("PATH", (folder_.parent_path() / "bin").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_.parent_path());
  }
  static void touch(const fs::path& path) { std::ofstream(path) << "x"; }

  void write_nvidia_smi(const std::string& lists) const {
    const fs::path program = folder_.parent_path() / "bin" / "nvidia-smi";
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\n[ \"$1\" = -L ] && echo '" << lists << "'\n";
    fs::permissions(program, fs::perms::owner_all);
  }

  fs::path folder_, devices_;
  std::string path_;
};

TEST_F(DefaultProviders, OnlyCpuIfNothingElseBuilt) {
  EXPECT_THAT(default_providers(folder_, devices_),
              ElementsAre((folder_ / "plumbline_cpu.so").string()));
}

TEST_F(DefaultProviders, CudaNeedsLibraryAndDevice) {
  touch(folder_ / "plumbline_emulated.so");
  touch(folder_ / "plumbline_cuda.so");
  EXPECT_THAT(default_providers(folder_, devices_),
              ElementsAre(EndsWith("plumbline_cpu.so"), EndsWith("plumbline_emulated.so")));
  touch(devices_ / "nvidiactl");
  touch(devices_ / "nvidia-uvm");  // the driver without a GPU
  EXPECT_FALSE(has_cuda_device(devices_));
  touch(devices_ / "nvidia3");
  EXPECT_THAT(default_providers(folder_, devices_),
              ElementsAre(EndsWith("plumbline_cpu.so"), EndsWith("plumbline_emulated.so"),
                          EndsWith("plumbline_cuda.so")));
}

// ci/gpu.sh uses the same test (look_for_gpu).
TEST_F(DefaultProviders, DetectsGpuByNvidiaSmi) {
  EXPECT_FALSE(has_cuda_device(devices_));
  write_nvidia_smi("No devices found.");
  EXPECT_FALSE(has_cuda_device(devices_));
  write_nvidia_smi("GPU 0: NVIDIA H200 (UUID: GPU-0)");
  EXPECT_TRUE(has_cuda_device(devices_));
  ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  EXPECT_FALSE(has_cuda_device(devices_));
}

TEST_F(DefaultProviders, DetectsGpuByDxg) {
  touch(devices_ / "dxg");
  EXPECT_TRUE(has_cuda_device(devices_));
}

// ---- Bundled providers by name ----

class BundledProviders : public DefaultProviders {
 protected:
  void SetUp() override {
    DefaultProviders::SetUp();
    fs::create_directories(folder_ / "python");
    for (const char* file :
         {"plumbline_cpu.so", "plumbline_mutants.so", "plumbline_reference_cuda.so", "mutants.toml",
          "python/torch_kernels.py", "python/plumbline_worker.py"}) {
      touch(folder_ / file);
    }
  }
};

TEST_F(BundledProviders, FoundByNameOrFile) {
  EXPECT_EQ(find_bundled_provider("cpu", folder_), folder_ / "plumbline_cpu.so");
  EXPECT_EQ(find_bundled_provider("plumbline_cpu.so", folder_), folder_ / "plumbline_cpu.so");
  EXPECT_EQ(find_bundled_provider("torch", folder_), folder_ / "python" / "torch_kernels.py");
  EXPECT_EQ(find_bundled_provider("torch_kernels.py", folder_),
            folder_ / "python" / "torch_kernels.py");
  for (const char* none : {"", "reference_cuda", "plumbline_worker.py", "./plumbline_cpu.so",
                           "nowhere/torch_kernels.py", "plumbline_cpu"}) {
    EXPECT_EQ(find_bundled_provider(none, folder_), std::nullopt) << none;
  }
  EXPECT_EQ(bundled_providers(folder_).size(), 3U);
}

TEST_F(BundledProviders, MissingProviderListsBundledNames) {
  EXPECT_THAT(missing_provider_remedy("cup", folder_), testing::HasSubstr("did you mean cpu?"));
  EXPECT_THAT(missing_provider_remedy("./plumbline_cpu.so", folder_),
              testing::HasSubstr("did you mean cpu?"));
  EXPECT_THAT(missing_provider_remedy("./libmine.so", folder_),
              testing::HasSubstr("or name a bundled provider: cpu, mutants, torch"));
}

TEST_F(BundledProviders, MissingFileIsAnError) {
  const auto launch = find_launch({"", "./nowhere.so:option=1"});
  ASSERT_FALSE(launch.has_value());
  EXPECT_THAT(to_string(launch.error()), testing::HasSubstr("./nowhere.so: no such provider file"));
}

TEST_F(DefaultProviders, IgnoresHiddenDevice) {
  touch(devices_ / "nvidiactl");
  touch(devices_ / "nvidia0");
  for (const auto& [visible, there] :
       {std::pair{"", false}, std::pair{"-1", false}, std::pair{"0", true}}) {
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    EXPECT_EQ(has_cuda_device(devices_), there) << visible;
  }
  EXPECT_FALSE(has_cuda_device(devices_ / "nowhere"));
}

}  // namespace
}  // namespace plumbline
