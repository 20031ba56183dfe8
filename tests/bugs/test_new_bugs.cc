// Known bugs in NumPy (new_bugs.py) that smoke must catch, and those that only nightly's shapes
// reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/command.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline {
namespace {

// These need more keys, wider groups or other pages than smoke has.
const std::set<std::string> only_in_nightly{
    "new_bugs/alibi_distance_at_most_2048", "new_bugs/groups_above_16_cut",
    "new_bugs/mask_bits_beyond_1024_set", "new_bugs/page_size_as_power_of_two"};

class NewBugs : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto listed = plumbline("list --kernels --no-default-provider --provider " + provider());
    if (test::is_python_missing(listed.text)) GTEST_SKIP() << listed.text;
    ASSERT_EQ(listed.code, 0) << listed.text;
  }
  static std::string source(const std::string& path) {
    return (test::source_directory / path).string();
  }
  static std::string provider() { return "'" + source("tests/bugs/new_bugs.py") + "'"; }

  // Returns the kernels of a run, and those that no case fails.
  struct Kernels {
    std::set<std::string> all, missed;
  };
  Kernels run(const std::string& suite, const std::string& chosen) const {
    const auto result =
        plumbline("run '" + source("cases/" + suite) + "' --no-default-provider --provider " +
                  provider() + chosen + " --format json --no-store -q");
    EXPECT_EQ(result.code, 1) << result.text;
    Kernels kernels;
    std::set<std::string> caught;
    const auto data = nlohmann::json::parse(result.text)["data"];
    for (const auto& outcome : data["outcomes"]) {
      kernels.all.insert(outcome["kernel"]);
      if (outcome["verdict"] == "fail") caught.insert(outcome["kernel"]);
    }
    for (const std::string& kernel : kernels.all) {
      if (!caught.contains(kernel)) kernels.missed.insert(kernel);
    }
    return kernels;
  }
};

TEST_F(NewBugs, SmokeCatchesAllWithinReach) {
  const Kernels kernels = run("smoke.toml", " --kernel 'new_bugs/*'");
  EXPECT_EQ(kernels.all.size(), 85U);
  EXPECT_EQ(kernels.missed, only_in_nightly);
}

TEST_F(NewBugs, ReachCatchesOthers) {
  std::string chosen;
  for (const std::string& kernel : only_in_nightly) chosen += " --kernel " + kernel;
  const Kernels kernels = run("reach.toml", chosen);
  EXPECT_EQ(kernels.all, only_in_nightly);
  EXPECT_THAT(kernels.missed, testing::IsEmpty());
}

}  // namespace
}  // namespace plumbline
