// The cuda provider loads without a driver or GPU and reports why it cannot run. The test hides
// existing GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "kernels/attention/driver_version.h"
#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const Library& cuda_library() {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // read at the first CUDA call
  static const Library library(PLUMBLINE_CUDA_LIBRARY);
  return library;
}

std::pair<plumbline_status, std::string> query(const plumbline_device& device,
                                               DType dtype = DType::f16) {
  const plumbline_provider& provider = *cuda_library().provider();
  Problem problem;
  problem.dtype = dtype;
  const plumbline_problem asked = abi_problem(Geometry(problem));
  std::array<char, 200> reason{};
  const plumbline_status status = provider.query(0, &asked, &device, reason.data(), reason.size());
  return {status, reason.data()};
}

TEST(CudaProvider, LoadsAndNamesItself) {
  EXPECT_EQ(cuda_library().provider("", PLUMBLINE_ABI_VERSION + 1), nullptr);
  const plumbline_provider* provider = cuda_library().provider();
  ASSERT_NE(provider, nullptr);
  EXPECT_STREQ(provider->name, "cuda");
  EXPECT_STREQ(provider->kernel_name(0), "naive");
  ASSERT_NE(provider->memory, nullptr);
}

TEST(CudaProvider, RefusesTheHost) {
  plumbline_device host{};
  host.struct_size = sizeof host;
  EXPECT_EQ(query(host).first, PLUMBLINE_UNSUPPORTED);
  EXPECT_THAT(query(host).second, HasSubstr("run on CUDA devices only"));
}

TEST(CudaProvider, MissingGpuIsReportedAsError) {
  const plumbline_provider& provider = *cuda_library().provider();
  const plumbline_device device = first_device(provider);
  EXPECT_EQ(query(device).first, PLUMBLINE_NO_DEVICE);
  EXPECT_THAT(query(device).second, HasSubstr("no usable CUDA device: "));
  void* pointer = nullptr;
  EXPECT_NE(provider.memory->allocate(&device, 64, &pointer), 0);
  EXPECT_NE(provider.memory->synchronize(&device, nullptr), 0);
}

TEST(CudaProvider, MemoryTableFailsWithoutGpu) {
  const plumbline_device_memory& memory = *cuda_library().provider()->memory;
  ASSERT_EQ(memory.struct_size, sizeof memory);
  const plumbline_device device = first_device(*cuda_library().provider());
  std::int32_t count = 1;
  EXPECT_NE(memory.device_count(&count), 0);
  EXPECT_EQ(count, 0);
  plumbline_device_facts facts{};
  facts.struct_size = sizeof facts;
  EXPECT_NE(memory.facts(&device, &facts), 0);
  void* handle = nullptr;
  double ns = 0;
  EXPECT_NE(memory.create_stream(&device, &handle), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_NE(memory.destroy_stream(&device, handle), 0);
  EXPECT_NE(memory.enqueue_copy(&device, handle, handle, 1, handle), 0);
  EXPECT_NE(memory.enqueue_fill(&device, handle, 0, 1, handle), 0);
  EXPECT_NE(memory.enqueue_call(
                &device, [](void*) {}, handle, handle),
            0);
  EXPECT_NE(memory.create_event(&device, &handle), 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_NE(memory.destroy_event(&device, handle), 0);
  EXPECT_NE(memory.record_event(&device, handle, handle), 0);
  EXPECT_NE(memory.elapsed_ns(&device, handle, handle, &ns), 0);
}

plumbline_device_error described(std::int32_t code) {
  plumbline_device_error error{};
  error.struct_size = sizeof error;
  EXPECT_EQ(cuda_library().provider()->memory->describe_error(code, &error), 0);
  return error;
}

TEST(CudaProvider, ErrorsHaveNamesWithoutGpu) {
  EXPECT_EQ(described(2).out_of_memory, 1U);
  EXPECT_STREQ(described(2).name, "cudaErrorMemoryAllocation");
  EXPECT_EQ(described(700).out_of_memory, 0U);
  EXPECT_STREQ(described(700).name, "cudaErrorIllegalAddress");
  EXPECT_STREQ(described(700).text, "an illegal memory access was encountered");
  EXPECT_THAT(described(700).remedy, HasSubstr("compute-sanitizer"));
  EXPECT_THAT(described(35).remedy, HasSubstr("install a driver"));
  EXPECT_STREQ(described(1).remedy, "");
  EXPECT_STRNE(described(123456).name, "");
}

TEST(DriverVersion, FirstWordOfDigitsAndDots) {
  using attention::first_version;
  EXPECT_EQ(first_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 "
                          "01:15:15 UTC 2023"),
            "535.104.05");
  EXPECT_EQ(first_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
                          "Release Build  (a@b)"),
            "580.65.06");
  EXPECT_EQ(first_version(""), "");
  EXPECT_EQ(first_version("no version  12 . x.1"), "");
}

}  // namespace
}  // namespace plumbline::testing
