// A test that finds no GPU is skipped; with PLUMBLINE_REQUIRE_GPU=1 it fails.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/need_gpu.h"

namespace plumbline {
namespace {

void needs_a_gpu() { PLUMBLINE_SKIP_WITHOUT_GPU("none here"); }

class NeedGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv(variable)) before_ = value;
  }
  void TearDown() override {
    if (before_) {
      setenv(variable, before_->c_str(), 1);
    } else {
      unsetenv(variable);
    }
  }
  // Returns the result that GoogleTest records for needs_a_gpu().
  static ::testing::TestPartResult result() {
    ::testing::TestPartResultArray results;
    {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      needs_a_gpu();
    }
    EXPECT_EQ(results.size(), 1);
    return results.GetTestPartResult(0);
  }
  static constexpr const char* variable = "PLUMBLINE_REQUIRE_GPU";
  std::optional<std::string> before_;
};

TEST_F(NeedGpu, SkipsWithoutGpu) {
  for (const char* value : {"", "0"}) {
    setenv(variable, value, 1);
    EXPECT_TRUE(result().skipped());
  }
  unsetenv(variable);
  EXPECT_TRUE(result().skipped());
  EXPECT_THAT(result().message(), ::testing::HasSubstr("no GPU: none here"));
}

TEST_F(NeedGpu, FailsWithoutRequiredGpu) {
  setenv(variable, "1", 1);
  EXPECT_TRUE(result().fatally_failed());
  EXPECT_THAT(result().message(),
              ::testing::HasSubstr("no GPU, and PLUMBLINE_REQUIRE_GPU=1 asks for one: none here"));
}

}  // namespace
}  // namespace plumbline
