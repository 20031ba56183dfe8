// The cuda provider without a GPU: it loads without a driver and says why it cannot run. A GPU that is there is hidden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/kernels/exact.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const Library& cuda_library() {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // read by the first call of CUDA
  static const Library library(PLUMBLINE_CUDA_LIBRARY);
  return library;
}

std::pair<plumbline_status, std::string> query(const plumbline_device& device, DType dtype = DType::f16) {
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

TEST(CudaProvider, WithoutAGpuSaysWhyAndReturnsErrors) {
  const plumbline_provider& provider = *cuda_library().provider();
  const plumbline_device device = first_device(provider);
  EXPECT_EQ(query(device).first, PLUMBLINE_UNSUPPORTED);
  EXPECT_THAT(query(device).second, HasSubstr("no usable CUDA device: "));
  void* pointer = nullptr;
  EXPECT_NE(provider.memory->allocate(&device, 64, &pointer), 0);
  EXPECT_NE(provider.memory->synchronize(&device, nullptr), 0);
}

}  // namespace
}  // namespace plumbline::testing
