// The provider "cuda" starts without a visible GPU, lists no device, and reports why.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/provider/provider_fixture.h"

namespace plumbline {
namespace {

TEST(CudaHello, NoDeviceWithoutGpu) {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // for the worker
  auto worker = Worker::create({PLUMBLINE_WORKER_PATH, PLUMBLINE_CUDA_LIBRARY});
  ASSERT_TRUE(worker) << to_string(worker.error());
  const auto hello = (*worker)->hello();
  ASSERT_TRUE(hello) << to_string(hello.error());
  EXPECT_THAT(hello->kernels, testing::Contains("cuda/prefill_mma"));
  EXPECT_THAT(hello->devices, testing::IsEmpty());
  EXPECT_THAT(hello->no_device, testing::HasSubstr("device_count failed: cudaError"));
  PlacedCase c(**worker, mean_problem());
  c.request.device = "cuda:0";
  const RunReply reply = c.run("cuda/naive");
  EXPECT_EQ(reply.status, Status::unsupported);
  EXPECT_THAT(reply.reason, testing::HasSubstr("not measured: no usable CUDA device: cudaError"));
}

}  // namespace
}  // namespace plumbline
