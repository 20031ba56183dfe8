// The time limit of a worker follows from the work of its request.
#include <gtest/gtest.h>

#include "harness/timing/time_limit.h"

namespace plumbline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Problem of_size(std::int64_t seq) {
  Problem problem;
  problem.batch = 4;
  problem.heads_q = problem.heads_kv = 4;
  problem.seq_q = problem.seq_kv = seq;
  problem.head_dim_qk = problem.head_dim_vo = 64;
  return problem;
}

TEST(TimeLimit, SmallCaseGetsMinimum) {
  const auto limit = time_limit(of_size(64), "cpu", 0);
  EXPECT_GE(limit, min_time_limit);
  EXPECT_LT(limit, min_time_limit + seconds(1));
}

TEST(TimeLimit, GrowsWithWork) {
  EXPECT_DOUBLE_EQ(multiply_adds(of_size(8192)), 4.0 * 4 * 8192 * 8192 * 128);
  const auto once = time_limit(of_size(8192), "cpu", 0) - milliseconds(min_time_limit);
  const auto timed = time_limit(of_size(8192), "cpu", 10) - milliseconds(min_time_limit);
  EXPECT_NEAR(static_cast<double>(timed.count()), 14.0 * static_cast<double>(once.count()), 20.0);
  EXPECT_NEAR(static_cast<double>(once.count()),
              multiply_adds(of_size(8192)) / slowest_rate("cpu") * 1000, 1.0);
}

// With the former limit of 60 s for every case, this one timed out.
TEST(TimeLimit, LongestStoryCaseGetsTenMinutes) {
  EXPECT_GT(time_limit(of_size(8192), "cpu", 10), seconds(600));
}

TEST(TimeLimit, EmulatorGetsMore) {
  EXPECT_LT(slowest_rate("emulated:sm_90"), slowest_rate("cpu"));
  EXPECT_EQ(slowest_rate("cuda:0"), slowest_rate("cpu"));
  EXPECT_GT(time_limit(of_size(512), "emulated:sm_90", 0), time_limit(of_size(512), "cpu", 0));
}

TEST(TimeLimit, StaysFiniteForHugeProblem) {
  EXPECT_LT(time_limit(of_size(std::int64_t{1} << 40), "emulated:sm_90", 1000),
            std::chrono::hours(24 * 31));
}

}  // namespace
}  // namespace plumbline
