// Times of Python kernels: only ratios, which a busy machine does not change.
#include <algorithm>
#include <chrono>
#include <functional>

#include "tests/python_worker/python_fixture.h"

namespace plumbline {
namespace {

using test::python_worker;
using test::PythonTest;
using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

double fastest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

RunReply time(Worker& worker, const std::string& kernel, int repetitions) {
  PlacedCase c(worker, mean_problem());
  c.request.timed_repetitions = repetitions;
  RunReply reply = c.run(kernel);
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  return reply;
}

TEST_F(PythonTest, EverySampleIsReported) {
  auto worker = python_worker("behaved.py");
  for (const int repetitions : {1, 4}) {
    PlacedCase c(*worker, mean_problem());
    c.request.timed_repetitions = repetitions;
    const RunReply reply = c.run("behaved/attention");
    ASSERT_EQ(reply.status, Status::ok) << reply.reason;
    EXPECT_THAT(reply.timing.kernel_ns,
                AllOf(SizeIs(static_cast<std::size_t>(repetitions)), Each(Gt(0))));
    EXPECT_THAT(reply.timing.sentinel_ns,
                AllOf(SizeIs(static_cast<std::size_t>(repetitions)), Each(Gt(0))));
    EXPECT_THAT(reply.timing.kernel_cpu_ns, SizeIs(static_cast<std::size_t>(repetitions)));
    EXPECT_THAT(reply.timing.sentinel_cpu_ns,
                AllOf(SizeIs(static_cast<std::size_t>(repetitions)), Each(Gt(0))));
    EXPECT_GT(reply.timing.plan_ns, 0);
    EXPECT_LE(c.error(), 1e-5) << "the outputs are there as well";
  }
  PlacedCase c(*worker, mean_problem());
  EXPECT_THAT(c.run("behaved/attention").timing.kernel_ns, IsEmpty());
}

TEST_F(PythonTest, WaitForQuietCoreIsLimited) {
  auto worker = python_worker("behaved.py");
  time(*worker, "behaved/attention", 2);
  PlacedCase c(*worker, mean_problem());
  c.request.timed_repetitions = 2;
  c.request.quiet_ns = 1;  // no core is that quiet
  const auto start = std::chrono::steady_clock::now();
  const RunReply reply = c.run("behaved/attention");
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_THAT(reply.timing.kernel_cpu_ns, SizeIs(2));
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 0.5);
}

TEST_F(PythonTest, KernelReturningArraysIsTimedWhole) {
  auto worker = python_worker("behaved.py");
  EXPECT_THAT(time(*worker, "behaved/zeros", 2).timing.kernel_ns, AllOf(SizeIs(2), Each(Gt(0))));
}

// Returns the ratio of the fastest repetitions of two kernels, a / b. Other programs only add time,
// so both are repeated until the ratio is within the bounds, or often enough.
double ratio_of_fastest(const std::function<double()>& a, const std::function<double()>& b,
                        double low, double high) {
  double fastest_a = a(), fastest_b = b();
  for (int i = 0; i < 12 && !(fastest_a / fastest_b > low && fastest_a / fastest_b < high); ++i) {
    fastest_a = std::min(fastest_a, a());
    fastest_b = std::min(fastest_b, b());
  }
  return fastest_a / fastest_b;
}

TEST_F(PythonTest, SleepingKernelUsesNoProcessorTime) {
  auto worker = python_worker("behaved.py");
  const RunReply reply = time(*worker, "behaved/sleeps", 3);
  EXPECT_GE(fastest(reply.timing.kernel_ns), 20e6) << "it sleeps for 20 ms";
  EXPECT_LT(fastest(reply.timing.kernel_cpu_ns), 10e6);
}

TEST_F(PythonTest, TwiceTheWorkTakesTwiceTheTime) {
  auto worker = python_worker("behaved.py");
  const auto kernel = [&](const char* name) {
    return [&worker, name] { return fastest(time(*worker, name, 8).timing.kernel_ns); };
  };
  const double ratio =
      ratio_of_fastest(kernel("behaved/work_40"), kernel("behaved/work_20"), 1.4, 2.8);
  EXPECT_GT(ratio, 1.4);
  EXPECT_LT(ratio, 2.8);
}

TEST_F(PythonTest, SentinelMatchesPlumblineWorker) {
  auto python = python_worker("behaved.py");
  auto compiled = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_TEST_PROVIDER});
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const auto ours = [&] {
    return fastest(time(*python, "behaved/where_am_i", 8).timing.sentinel_ns);
  };
  const auto theirs = [&] { return fastest(time(**compiled, "test/ok", 8).timing.sentinel_ns); };
  // the two are measured at different times on a busy machine
  const double ratio = ratio_of_fastest(ours, theirs, 0.4, 2.5);
  EXPECT_GT(ratio, 0.4);
  EXPECT_LT(ratio, 2.5);
}

TEST_F(PythonTest, MeasuresPeakMemoryOfCall) {
  auto worker = python_worker("behaved.py");
  EXPECT_EQ(time(*worker, "behaved/takes_64_mib", 0).peak_memory_bytes, -1);
  const std::int64_t little = time(*worker, "behaved/where_am_i", 1).peak_memory_bytes;
  const std::int64_t much = time(*worker, "behaved/takes_64_mib", 1).peak_memory_bytes;
  if (much < 0) GTEST_SKIP() << "/proc/self/clear_refs cannot be written here";
  EXPECT_LT(little, 8 << 20);
  EXPECT_GE(much, 60 << 20);
  EXPECT_LT(much, 90 << 20);
}

}  // namespace
}  // namespace plumbline
