// The cuda provider: loads without a driver and says why it cannot run; where there is a GPU, its kernel against exact attention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/kernels/exact.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const Library& cuda_library() {
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

bool has_gpu() { return query(first_device(*cuda_library().provider())).first == PLUMBLINE_OK; }

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
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  const plumbline_provider& provider = *cuda_library().provider();
  const plumbline_device device = first_device(provider);
  EXPECT_EQ(query(device).first, PLUMBLINE_UNSUPPORTED);
  EXPECT_THAT(query(device).second, HasSubstr("no usable CUDA device: "));
  void* pointer = nullptr;
  EXPECT_NE(provider.memory->allocate(&device, 64, &pointer), 0);
  EXPECT_NE(provider.memory->synchronize(&device, nullptr), 0);
}

TEST(CudaNaive, AgreesWithExactAttention) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged, Layout::paged_nhd, Layout::paged_hnd}) {
      for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
        for (const int window_left : {-1, 9}) {
          Problem problem;
          problem.dtype = dtype;
          problem.layout = layout;
          problem.mask = mask;
          problem.window_left = window_left;
          problem.batch = 4;
          problem.heads_q = 4;
          problem.heads_kv = 2;
          problem.seq_q = 11;
          problem.seq_kv = 150;
          problem.head_dim_qk = 40;
          problem.head_dim_vo = 59;
          problem.lengths = Lengths::with_zero;
          if (problem.is_padded() && window_left == 9) problem.padding = Padding::left;
          expect_exact("naive", problem, {.library = &cuda_library()});
        }
      }
    }
  }
}

TEST(CudaNaive, KeepsItsPromises) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  Problem problem;
  problem.dtype = DType::bf16;
  problem.batch = 3;
  problem.seq_q = problem.seq_kv = 200;
  problem.mask = Mask::causal_bottom_right;
  problem.lengths = Lengths::random;
  const CallSetup cuda{.library = &cuda_library()};
  const Answer padded = call("naive", problem, cuda);
  ASSERT_EQ(padded.status, PLUMBLINE_OK) << padded.reason;
  EXPECT_EQ(padded.out, call("naive", problem, cuda).out) << "run to run";
  EXPECT_EQ(padded.out, call("naive", problem, {.library = &cuda_library(), .stretch = 2}).out) << "strided views";
  EXPECT_THAT(padded.padded_out, ::testing::Each(0.0));
  for (const Layout layout : {Layout::padded_bhsd, Layout::ragged, Layout::paged_nhd, Layout::paged_hnd}) {
    problem.layout = layout;
    EXPECT_EQ(padded.out, call("naive", problem, cuda).out) << name(layout);
  }
  EXPECT_GT(padded.description.registers_per_thread, 0);
  EXPECT_EQ(padded.description.spec.p_dtype, PLUMBLINE_F32);
}

}  // namespace
}  // namespace plumbline::testing
