// The timed suites have as many cases as nights need, and every case is timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/suite/suite.h"

namespace plumbline {
namespace {

Suite read(const std::string& file) {
  auto suite = read_suite(PLUMBLINE_CASES "/" + file);
  EXPECT_TRUE(suite) << (suite ? "" : to_string(suite.error()));
  return suite ? *suite : Suite{};
}

std::set<std::string> kernels_of(const Suite& suite) {
  std::set<std::string> kernels;
  for (const SuiteCase& c : suite.cases) kernels.insert(c.kernel_pattern);
  return kernels;
}

bool any(const Suite& suite, bool (*holds)(const Problem&)) {
  for (const SuiteCase& c : suite.cases) {
    if (holds(c.problem)) return true;
  }
  return false;
}

TEST(TimedSuites, AtLeastThirtyCpuCases) {
  const Suite timed = read("timed.toml");
  EXPECT_GE(timed.cases.size(), 30u);
  for (const SuiteCase& c : timed.cases) {
    EXPECT_TRUE(c.timed) << c.group;
    EXPECT_EQ(c.tier, Tier::nightly) << c.group;
  }
  EXPECT_THAT(kernels_of(timed),
              testing::IsSupersetOf({"cpu/flash", "cpu/flash_p32", "cpu/split_kv", "cpu/merge",
                                     "cpu/flash_attended", "cpu/flash_unpad"}));
  EXPECT_TRUE(any(timed, [](const Problem& p) { return p.is_paged() && p.seq_q == 1; }));
  EXPECT_TRUE(any(timed, [](const Problem& p) { return p.is_causal() && p.seq_q > 1; }));
  EXPECT_TRUE(any(timed, [](const Problem& p) { return p.is_padded() && p.batch > 1; }));
  EXPECT_TRUE(any(timed, [](const Problem& p) { return p.group() > 1; }));
}

TEST(TimedSuites, AtLeastHundredGpuCases) {
  const Suite timed = read("timed_gpu.toml");
  EXPECT_GE(timed.cases.size(), 100u);
  for (const SuiteCase& c : timed.cases) EXPECT_TRUE(c.timed) << c.group;
}

}  // namespace
}  // namespace plumbline
