// Devices, architectures and tensor-core modes of groups and diffs.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/problem/arch.h"
#include "tests/suite/suite_files.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class SuiteDevicesTest : public SuiteFiles {};

TEST_F(SuiteDevicesTest, ArchIsShortForEmulatedDevices) {
  EXPECT_THAT(
      ids(R"(schema = 1
name = "s"
[[group]]
name = "g"
reason = "r"
kernels = ["emulated/a", "emulated/b"]
arch = ["sm_80", "sm_100"]
product = { dtype = ["fp16", "bf16"] }
set = { heads = 1, seq = 8 }
)"),
      ElementsAre(AllOf(StartsWith("emulated/a/fp16/"), HasSubstr("device=emulated:sm_80")),
                  AllOf(StartsWith("emulated/a/bf16/"), HasSubstr("device=emulated:sm_80")),
                  AllOf(StartsWith("emulated/a/fp16/"), HasSubstr("device=emulated:sm_100")),
                  AllOf(StartsWith("emulated/a/bf16/"), HasSubstr("device=emulated:sm_100")),
                  AllOf(StartsWith("emulated/b/fp16/"), HasSubstr("device=emulated:sm_80")),
                  AllOf(StartsWith("emulated/b/bf16/"), HasSubstr("device=emulated:sm_80")),
                  AllOf(StartsWith("emulated/b/fp16/"), HasSubstr("device=emulated:sm_100")),
                  AllOf(StartsWith("emulated/b/bf16/"), HasSubstr("device=emulated:sm_100"))));
}

TEST_F(SuiteDevicesTest, ArchAllIsEveryEmulatedArchitecture) {
  const auto all = ids(R"(schema = 1
name = "s"
[[group]]
name = "g"
reason = "r"
kernels = ["emulated/a"]
arch = ["all"]
product = { dtype = ["fp16"] }
set = { heads = 1, seq = 8 }
)");
  ASSERT_EQ(all.size(), emulated_archs().size());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_THAT(all[i], HasSubstr(fmt::format("device=emulated:{}", emulated_archs()[i])));
}

TEST_F(SuiteDevicesTest, TwoModesAreTwoCases) {
  const auto suite = read(R"(schema = 1
name = "s"
[[group]]
name = "on"
reason = "r"
kernels = ["emulated/*"]
arch = ["sm_80"]
tensor_cores = ["on"]
[[group]]
name = "off"
reason = "r"
kernels = ["emulated/*"]
arch = ["sm_80"]
tensor_cores = ["off", "none"]
[[diff]]
name = "d"
reason = "r"
a = { kernel = "emulated/a", arch = "sm_80", tensor_cores = "on" }
b = { kernel = "emulated/a", device = "emulated:sm_90" }
)");
  ASSERT_TRUE(suite) << to_string(suite.error());
  ASSERT_EQ(suite->cases.size(), 2U);
  EXPECT_THAT(suite->cases[0].tensor_cores, ElementsAre("on"));
  EXPECT_THAT(suite->cases[1].tensor_cores, ElementsAre("off", "none"));
  ASSERT_EQ(suite->diffs.size(), 1U);
  EXPECT_EQ(suite->diffs[0].a.device, "emulated:sm_80");
  EXPECT_THAT(suite->diffs[0].a.tensor_cores, ElementsAre("on"));
  EXPECT_EQ(suite->diffs[0].b.device, "emulated:sm_90");
}

TEST_F(SuiteDevicesTest, Errors) {
  EXPECT_THAT(
      errors(R"(schema = 1
name = "s"
[[group]]
name = "g"
reason = "r"
kernels = ["emulated/*"]
devices = ["cuda:0"]
arch = ["sm_80"]
[[group]]
name = "h"
reason = "r"
kernels = ["emulated/*"]
arch = ["sm_91"]
tensor_cores = ["yes"]
[[group]]
name = "i"
reason = "r"
kernels = ["emulated/*"]
arch = "sm_80"
tensor_cores = "on"
[[diff]]
name = "d"
reason = "r"
a = { kernel = "emulated/a", arch = "sm_80", device = "cpu" }
b = { kernel = "emulated/a", arch = ["sm_90"], tensor_cores = "maybe" }
)"),
      ElementsAre(StartsWith("suite.toml:8: arch and devices are both given | remove one; arch = "
                             "[\"sm_90\"] is short for"),
                  AllOf(StartsWith(fmt::format("suite.toml:13: arch: \"sm_91\" is not one of {}",
                                               fmt::join(emulated_archs(), ", "))),
                        HasSubstr("sm_90?")),
                  StartsWith("suite.toml:14: tensor_cores: \"yes\" is not one of on, off, none"),
                  StartsWith("suite.toml:19: arch is not a list of texts"),
                  StartsWith("suite.toml:20: tensor_cores is not a list of texts"),
                  StartsWith("suite.toml:24: arch and device are both given"),
                  StartsWith("suite.toml:25: arch: \"\" is not one of"),
                  StartsWith("suite.toml:25: tensor_cores: \"maybe\" is not one of")));
}

}  // namespace
}  // namespace plumbline
