// plumbline's use of memory tables of every size: their functions and error codes.
#include <gmock/gmock.h>

#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Worker> worker_of(const std::string& provider, const std::string& options = "") {
  auto worker =
      Worker::create({PLUMBLINE_WORKER_PATH, provider + (options.empty() ? "" : ":" + options)});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return std::move(*worker);
}

RunReply run_on_device(Worker& worker, int timed_repetitions = 0) {
  PlacedCase c(worker, mean_problem());
  c.request.device = "cuda:0";
  c.request.timed_repetitions = timed_repetitions;
  RunReply reply = c.run("test/ok");
  if (reply.status == Status::ok) {
    EXPECT_LE(c.error(), 1e-5);
  }
  return reply;
}

// The provider is compiled against the header of the first release.
TEST(MemoryTable, FirstReleaseLoadsAndRuns) {
  auto worker = worker_of(PLUMBLINE_FIRST_RELEASE_PROVIDER);
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->devices, ElementsAre("cuda:0"));
  const RunReply reply = run_on_device(*worker, 2);
  ASSERT_EQ(reply.status, Status::ok) << reply.reason;
  EXPECT_THAT(reply.timing.kernel_ns, AllOf(SizeIs(2), Each(Gt(0))));
  EXPECT_THAT(reply.timing.hot_ns, IsEmpty());
  EXPECT_EQ(reply.device, DeviceFacts{});
}

// A provider that declares neither feature would misread token scales, and does not know fp8 Q.
TEST(Features, UndeclaredFeatureIsUnsupported) {
  for (const std::string library : {PLUMBLINE_TEST_PROVIDER, PLUMBLINE_FIRST_RELEASE_PROVIDER}) {
    auto worker = worker_of(library);
    for (const bool fp8_q : {false, true}) {
      Problem problem = mean_problem();
      problem.kv_dtype = DType::e4m3;
      if (fp8_q) {
        problem.dtype = DType::e4m3;
      } else {
        problem.dtype = DType::bf16;
        problem.kv_scales = KvScales::token;
      }
      PlacedCase c(*worker, problem);
      const RunReply reply = c.run("test/ok");
      EXPECT_EQ(reply.status, Status::unsupported) << reply.reason;
      EXPECT_THAT(reply.reason, HasSubstr("PLUMBLINE_FEATURE_FP8_SCALES"));
    }
    Problem problem = mean_problem();
    problem.dtype = DType::bf16;
    problem.out_dtype = DType::e4m3;
    PlacedCase c(*worker, problem);
    const RunReply reply = c.run("test/ok");
    EXPECT_EQ(reply.status, Status::unsupported) << reply.reason;
    EXPECT_THAT(reply.reason, HasSubstr("PLUMBLINE_FEATURE_FP8_OUTPUT"));
  }
}

TEST(MemoryTable, RunsWithOnlyMemoryFunctions) {
  const RunReply reply = run_on_device(*worker_of(PLUMBLINE_TEST_PROVIDER));
  EXPECT_EQ(reply.status, Status::ok) << reply.reason;
}

// 72 bytes are three functions more than in the first release, 60 bytes one and a half.
TEST(MemoryTable, AcceptsSizesBetweenReleases) {
  for (const char* size : {"memory_size=48", "memory_size=60", "memory_size=72"}) {
    const RunReply reply = run_on_device(*worker_of(PLUMBLINE_TEST_PROVIDER, size));
    EXPECT_EQ(reply.status, Status::ok) << size << ": " << reply.reason;
  }
}

TEST(MemoryTable, OnlyCode2IsOutOfMemory) {
  for (const std::string library : {PLUMBLINE_TEST_PROVIDER, PLUMBLINE_FIRST_RELEASE_PROVIDER}) {
    const RunReply full = run_on_device(*worker_of(library, "allocate=2"));
    EXPECT_EQ(full.status, Status::out_of_memory) << full.reason;
    EXPECT_THAT(full.reason, AllOf(HasSubstr("allocate of "),
                                   HasSubstr(" bytes of device memory for q failed with code 2")));
    const RunReply busy = run_on_device(*worker_of(library, "allocate=46"));
    EXPECT_EQ(busy.status, Status::error) << busy.reason;
    EXPECT_THAT(busy.reason, HasSubstr("failed with code 46"));
  }
}

TEST(MemoryTable, HelloExplainsMissingDevice) {
  const auto hello_of = [](const std::string& options) {
    const auto hello = worker_of(PLUMBLINE_TEST_PROVIDER, options)->hello();
    EXPECT_TRUE(hello) << to_string(hello.error());
    Hello none;
    none.devices = {"no hello"};
    return hello ? *hello : none;
  };
  const auto devices = [&](const std::string& options) { return hello_of(options).devices; };
  EXPECT_THAT(devices(""), ElementsAre("cuda:0"));
  EXPECT_THAT(devices("allocate=2"), Contains("cuda:0"))
      << "memory that is used up at the moment is no reason to deny a device";
  EXPECT_THAT(devices("allocate=35"), IsEmpty());
  EXPECT_THAT(devices("throw_on_allocate"), IsEmpty());
  EXPECT_THAT(devices("host"), IsEmpty());
  EXPECT_EQ(hello_of("").no_device, "");
  EXPECT_EQ(hello_of("host").no_device, "") << "it is none for devices";
  EXPECT_EQ(hello_of("allocate=35").no_device, "allocate failed with code 35");
  EXPECT_EQ(hello_of("throw_on_allocate").no_device, "an exception left allocate: no driver");
}

}  // namespace
}  // namespace plumbline
