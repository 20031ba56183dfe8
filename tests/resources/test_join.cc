// Launch facts are matched to kernels; facts that match none are errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/resources/resources.h"
#include "tests/resources/recorded.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LaunchFacts facts(const std::string& kernel, const std::string& name, std::int64_t shared) {
  return {kernel, name, 128, shared, false, std::nullopt};
}
std::vector<KernelUsage> usages() {
  return parse_ptxas_report(recorded::functions, "x").value().kernels;
}

TEST(Join, OneRowPerLaunchOrKernel) {
  const auto rows =
      join(usages(), {facts("anon<*>", "large", 2048), facts("anon<*>", "small", 1024)},
           "x.launch.toml");
  ASSERT_TRUE(rows) << to_string(rows.error());
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[0].launch, "small");
  EXPECT_EQ((*rows)[0].shared_bytes(), 512 + 1024);
  EXPECT_EQ((*rows)[1].launch, "large");
  EXPECT_EQ((*rows)[2].usage.kernel, "caller");
  EXPECT_FALSE((*rows)[2].facts);
  EXPECT_FALSE((*rows)[2].occupancy);
  EXPECT_EQ((*rows)[0].occupancy.has_value(), occupancy_is_known());
}

TEST(Join, UnmatchedOrAmbiguousFactsAreErrors) {
  const auto rows =
      join(usages(), {facts("anon<*>", "", 0), facts("*", "", 0), facts("prefill<*>", "", 0)},
           "x.launch.toml");
  ASSERT_FALSE(rows);
  EXPECT_THAT(to_string(rows.error()),
              AllOf(HasSubstr("two [[launch]] tables named \"\" match kernel anon<128, (Mode)0>"),
                    HasSubstr("\"prefill<*>\" matches no kernel")));
}

TEST(ReadResources, MissingFolderIsEmpty) {
  EXPECT_TRUE(read_resources("/nonexistent/folder").value().empty());
}

}  // namespace
}  // namespace plumbline
