// GPU features of plumbline work on the stand-in, and planted bugs are found. Covers streams,
// times, facts and errors.
#include <gmock/gmock.h>

#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Worker> worker_of(const std::string& options = "") {
  auto worker = Worker::create({PLUMBLINE_WORKER_PATH, std::string(PLUMBLINE_GPU_LIBRARY) +
                                                           (options.empty() ? "" : ":" + options)});
  EXPECT_TRUE(worker) << to_string(worker.error());
  return std::move(*worker);
}

Problem small_problem() {
  Problem p = mean_problem(DType::f16);
  p.heads_q = 4;
  p.heads_kv = 2;
  p.seq_q = 5;
  p.seq_kv = 300;
  p.head_dim_qk = p.head_dim_vo = 64;
  return p;
}

struct Result {
  RunReply reply;
  double error = 0;        // infinite if an element is NaN
  bool all_poison = true;  // no element of the output was written
};

Result run(Worker& worker, const std::string& kernel, int timed_repetitions = 0,
           const std::string& device = "cuda:0") {
  PlacedCase c(worker, small_problem());
  c.request.device = device;
  c.request.timed_repetitions = timed_repetitions;
  Result result;
  result.reply = c.run("cuda/" + kernel);
  result.error = c.error();
  const auto* out = static_cast<const unsigned char*>(
      worker.arena().data(static_cast<std::size_t>(c.request.out)));
  for (std::int64_t i = 0; i < c.geometry().out.elements * 2; ++i)
    result.all_poison = result.all_poison && out[i] == 0xFF;
  return result;
}

// Half an ulp of fp16 at the largest result, 213.
constexpr double tolerance = 0.0626;
const char* const all_kernels[] = {"naive",        "prefill_mma", "prefill_mma_acc16",
                                   "prefill_simt", "decode_mma",  "decode_simt"};

TEST(StandIn, KernelsRunOnOwnStream) {
  auto worker = worker_of();
  for (const std::string kernel : all_kernels) {
    const Result result = run(*worker, kernel);
    ASSERT_EQ(result.reply.status, Status::ok) << kernel << ": " << result.reply.reason;
    EXPECT_LE(result.error, tolerance) << kernel;
    EXPECT_EQ(result.reply.workspace_fault, "") << kernel;
    EXPECT_EQ(result.reply.description.device_arch, "sm_90");
  }
}

TEST(StandIn, DefaultStreamKernelLosesOutput) {
  auto worker = worker_of("stand_in=default_stream");
  for (const std::string kernel : all_kernels) {
    const Result result = run(*worker, kernel);
    EXPECT_EQ(result.reply.status, Status::ok) << kernel << ": " << result.reply.reason;
    EXPECT_TRUE(result.all_poison) << kernel;
    EXPECT_EQ(result.reply.workspace_fault,
              "out was written before the stream given to run had begun: a kernel runs on another "
              "stream");
  }
  EXPECT_TRUE(run(*worker, "prefill_mma", 1).all_poison) << "timed, too";
}

TEST(StandIn, DefaultStreamMergeIsDetected) {
  auto worker = worker_of("stand_in=merge_on_default,splits=2");
  for (const std::string kernel : {"decode_mma", "decode_simt"}) {
    const Result result = run(*worker, kernel);
    EXPECT_EQ(result.reply.status, Status::ok) << kernel << ": " << result.reply.reason;
    EXPECT_TRUE(result.all_poison) << kernel;
    EXPECT_THAT(result.reply.workspace_fault, HasSubstr("out was written before the stream"));
  }
  EXPECT_LE(run(*worker, "prefill_mma").error, tolerance) << "one kernel, on the right stream";
}

TEST(StandIn, WaitingKernelSucceeds) {
  auto worker = worker_of("stand_in=waits");
  const Result result = run(*worker, "prefill_mma", 1);
  ASSERT_EQ(result.reply.status, Status::ok) << result.reply.reason;
  EXPECT_LE(result.error, tolerance);
  EXPECT_EQ(result.reply.workspace_fault, "");
}

TEST(StandIn, PrepareWorkPrecedesRun) {
  const Result result = run(*worker_of("stand_in=plans_on_stream"), "prefill_mma", 1);
  ASSERT_EQ(result.reply.status, Status::ok) << result.reply.reason;
  EXPECT_LE(result.error, tolerance);
}

TEST(StandIn, MeasuresColdHotAndSentinelTimes) {
  const Result result = run(*worker_of(), "prefill_mma", 3);
  ASSERT_EQ(result.reply.status, Status::ok) << result.reply.reason;
  const Timing& timing = result.reply.timing;
  for (const auto& times : {timing.kernel_ns, timing.hot_ns, timing.sentinel_ns})
    EXPECT_THAT(times, AllOf(SizeIs(3), Each(Gt(0))));
  EXPECT_LE(result.error, tolerance);
  EXPECT_EQ(result.reply.peak_memory_bytes, -1) << "of the host: says nothing of a device";
}

TEST(StandIn, DescribesDevice) {
  auto worker = worker_of("stand_in_model=Another GPU");
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->devices, ElementsAre("cuda:0"));
  const DeviceFacts expected{"Another GPU", std::int64_t{8} << 30, "stand-in", "stand-in", "sm_90"};
  EXPECT_EQ(run(*worker, "naive").reply.device, expected);
  EXPECT_EQ(run(*worker_of(), "naive").reply.device.model, "Stand-in GPU");
}

TEST(StandIn, SupportsFirstReleaseTable) {
  const Result result = run(*worker_of("stand_in=table_1"), "decode_mma", 2);
  ASSERT_EQ(result.reply.status, Status::ok) << result.reply.reason;
  EXPECT_LE(result.error, tolerance);
  EXPECT_THAT(result.reply.timing.kernel_ns, SizeIs(2));
  EXPECT_THAT(result.reply.timing.hot_ns, IsEmpty());
  EXPECT_EQ(result.reply.device.model, "");
}

TEST(StandIn, DeviceErrorHasName) {
  const Result result = run(*worker_of("stand_in=illegal_access"), "naive");
  EXPECT_EQ(result.reply.status, Status::error);
  EXPECT_EQ(result.reply.reason,
            "synchronize failed: cudaErrorIllegalAddress (700): an illegal memory access was "
            "encountered");
  EXPECT_EQ(result.reply.device.model, "Stand-in GPU")
      << "an error, too, belongs to a machine class";
}

TEST(StandIn, BusyIsNotOutOfMemory) {
  auto worker = worker_of("stand_in=busy");
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->devices, IsEmpty());
  const RunReply reply = run(*worker, "naive").reply;
  EXPECT_EQ(reply.status, Status::error);
  EXPECT_THAT(
      reply.reason,
      AllOf(HasSubstr("allocate of "),
            HasSubstr(
                " of device memory for q failed: cudaErrorDevicesUnavailable (46): CUDA-capable"),
            HasSubstr("; end the process that has the GPU for itself")));
}

TEST(StandIn, MissingDriverOrDeviceIsReported) {
  auto worker = worker_of("stand_in=no_driver");
  const auto hello = worker->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->devices, IsEmpty());
  EXPECT_THAT(hello->no_device,
              HasSubstr("device_count failed: cudaErrorInsufficientDriver (35): CUDA driver "));
  EXPECT_THAT(hello->no_device, HasSubstr("; install a driver for CUDA 13.0 or later"));
  const RunReply without = run(*worker, "naive").reply;
  EXPECT_EQ(without.status, Status::unsupported);
  EXPECT_THAT(without.reason,
              HasSubstr("not measured: no usable CUDA device: cudaErrorInsufficientDriver"));
  EXPECT_EQ(run(*worker_of(), "naive", 0, "cuda:1").reply.reason,
            "not measured: there is no CUDA device 1: this machine has 1");
}

}  // namespace
}  // namespace plumbline
