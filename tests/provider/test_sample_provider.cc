// A user's way: install the ABI package, build a provider against it with CMake, run a case.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/provider/client/worker.h"
#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

class SampleProvider : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plumbline-sample-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void command(const std::string& arguments) {
    const fs::path log = folder_ / "log";
    const std::string line =
        std::string("\"" CMAKE_PROGRAM "\" ") + arguments + " >" + log.string() + " 2>&1";
    const int result = std::system(line.c_str());
    std::stringstream output;
    output << std::ifstream(log).rdbuf();
    ASSERT_EQ(result, 0) << line << "\n" << output.str();
  }

  fs::path folder_;
};

TEST_F(SampleProvider, BuildsAgainstTheInstalledPackageAndRuns) {
  const std::string prefix = (folder_ / "prefix").string(), build = (folder_ / "build").string();
  ASSERT_NO_FATAL_FAILURE(
      command("--install \"" PLUMBLINE_BUILD_DIR "\" --component provider_abi --prefix " + prefix));
  ASSERT_NO_FATAL_FAILURE(command(
      "-S \"" SAMPLE_SOURCE_DIR "\" -B " + build +
      " -G \"" GENERATOR "\" -DCMAKE_C_COMPILER=\"" C_COMPILER "\" -DCMAKE_PREFIX_PATH=" + prefix));
  ASSERT_NO_FATAL_FAILURE(command("--build " + build));

  auto worker = Worker::create({PLUMBLINE_WORKER_PATH, build + "/sample_provider.so"});
  ASSERT_TRUE(worker) << to_string(worker.error());
  const auto hello = (*worker)->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_EQ(hello->kernels, std::vector<std::string>{"sample/naive"});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd}) {
      for (const Padding padding : {Padding::right, Padding::left}) {
        Problem p = mean_problem(dtype);
        p.layout = layout;
        p.lengths = Lengths::random;
        p.padding = padding;
        PlacedCase c(**worker, p);
        const RunReply reply = c.run("sample/naive");
        ASSERT_EQ(reply.status, Status::ok) << reply.reason;
        EXPECT_LE(c.error(), dtype == DType::f32 ? 1e-6 : 4 * unit_roundoff(dtype))
            << "half an ulp of the answers, at most 8";
        EXPECT_TRUE(c.broken_out_fences().empty());
      }
    }
  }
  Problem causal = mean_problem();
  causal.mask = Mask::causal_bottom_right;
  const RunReply refused = PlacedCase(**worker, causal).run("sample/naive");
  EXPECT_EQ(refused.status, Status::unsupported);
  EXPECT_EQ(refused.reason, "masks are not supported");
}

}  // namespace
}  // namespace plumbline
