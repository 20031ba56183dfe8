// Correct kernels in NumPy (legal_ways.py) that no case may flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LegalWays : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const auto listed = plumbline("list --kernels --no-default-provider --provider " + provider());
    if (test::is_python_missing(listed.text)) GTEST_SKIP() << listed.text;
    ASSERT_EQ(listed.code, 0) << listed.text;
    const auto written = shell("PYTHONPATH='" + source("python") +
                               "' '" PLUMBLINE_TEST_PYTHON "' " + provider() + " baselines");
    ASSERT_EQ(written.code, 0) << written.text;
    std::istringstream lines(listed.text);
    for (std::string line; std::getline(lines, line);) {
      const std::string name = line.substr(0, line.find(' '));
      if (name.starts_with("legal_ways/")) ways_.insert(name);
    }
  }
  static std::string source(const std::string& path) {
    return (test::source_directory / path).string();
  }
  static std::string provider() { return "'" + source("tests/legal/legal_ways.py") + "'"; }

  // Runs a suite. Returns a sentence for each case that neither passes nor is refused as listed,
  // each group that the machine cannot measure, and each way without a case that passes.
  std::vector<std::string> complaints(const std::string& suite, const std::string& options,
                                      int exit_code) const {
    const auto result =
        plumbline("run '" + source("tests/legal/" + suite) + "' --no-default-provider --provider " +
                  provider() + " --format json --no-store -q " + options);
    EXPECT_EQ(result.code, exit_code) << result.text.substr(0, 4000);
    const auto data = nlohmann::json::parse(result.text)["data"];
    std::vector<std::string> found;
    std::set<std::string> without = ways_;
    for (const auto& outcome : data["outcomes"]) {
      const std::string verdict = outcome["verdict"], name = outcome["case"];
      if (verdict == "pass" || verdict == "first_seen") {
        without.erase(outcome["kernel"].get<std::string>());
      } else if (verdict != "unsupported") {
        found.push_back(name + ": " + verdict);
      }
    }
    for (const auto& absent : data["not_measured"]) found.push_back(absent.dump());
    for (const std::string& way : without) found.push_back(way + ": no case passes");
    return found;
  }

  std::set<std::string> ways_;
};

TEST_F(LegalWays, SliceMeasuresAndPassesEveryWay) {
  EXPECT_GE(ways_.size(), 101U);
  EXPECT_THAT(complaints("slice.toml", "--baselines baselines", 0), IsEmpty());
}

TEST_F(LegalWays, SliceNamesFlaggedWay) {
  write("strict/contracts.toml", "schema = 1\n");
  write("strict/support.toml", read("baselines/support.toml"));
  EXPECT_THAT(complaints("slice.toml", "--baselines strict --kernel legal_ways/p_e4m3", 1),
              Contains(AllOf(HasSubstr("legal_ways/p_e4m3/"), HasSubstr(": fail"))));
}

TEST_F(LegalWays, SliceNamesWaysNeverMeasured) {
  const auto of_one =
      complaints("slice.toml", "--baselines baselines --kernel legal_ways/tile_16", 0);
  EXPECT_EQ(of_one.size(), ways_.size() - 1);
  EXPECT_THAT(of_one, Each(AllOf(HasSubstr(": no case passes"), Not(HasSubstr("/tile_16:")))));
  const auto of_refusals =
      complaints("slice.toml",
                 "--baselines baselines --kernel 'legal_ways/fp8_*' --match 'slice/few_keys/*'", 4);
  EXPECT_THAT(of_refusals, Contains("legal_ways/fp8_kv: no case passes"));
}

TEST_F(LegalWays, SliceNamesUnlistedRefusal) {
  write("unlisted/contracts.toml", read("baselines/contracts.toml"));
  write("unlisted/support.toml", "schema = 1\n");
  EXPECT_THAT(complaints("slice.toml", "--baselines unlisted --kernel legal_ways/fp8_kv", 1),
              Contains(HasSubstr(": support_mismatch")));
}

TEST_F(LegalWays, SweepPasses) {
  EXPECT_THAT(complaints("sweep.toml", "--baselines baselines", 0), IsEmpty());
}

}  // namespace
}  // namespace plumbline
