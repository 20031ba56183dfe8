// Correct kernels in NumPy (legal_ways.py) that no case may flag.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/cli/command.h"
#include "tests/python_worker/missing_python.h"

namespace plumbline {
namespace {

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
      if (name.starts_with(prefix)) ways_.insert(name.substr(prefix.size()));
    }
  }
  static std::string source(const std::string& path) {
    return (test::source_directory / path).string();
  }
  static std::string provider() { return "'" + source("tests/legal/legal_ways.py") + "'"; }

  const std::string prefix = "legal_ways/";
  std::set<std::string> ways_;
};

TEST_F(LegalWays, SweepPasses) {
  EXPECT_GE(ways_.size(), 60U);
  const auto result =
      plumbline("run '" + source("tests/legal/sweep.toml") + "' --no-default-provider --provider " +
                provider() + " --baselines baselines --db a.db -q");
  EXPECT_EQ(result.code, 0) << result.text;
}

}  // namespace
}  // namespace plumbline
