// Every CPU kernel agrees with attention in double precision, for all masks, layouts and dtypes,
// with various windows and shapes.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

constexpr const char* kernel_names[] = {
    "naive",        "flash",          "flash_p32",         "split_kv",
    "flash_unpad",  "flash_attended", "flash_denominator", "split_kv_16",
    "flash_tile32", "flash_tile128",  "flash_lazy",        "flash_lse2"};

bool supports(const std::string& kernel, const Problem& problem) {
  const bool padded_only = kernel == "flash_unpad";
  const bool fp32 = kernel == "flash_p32" || kernel == "split_kv";
  return (problem.is_padded() || !padded_only) && (problem.dtype != DType::f32 || fp32);
}

Problem small_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 4;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 21;
  problem.seq_kv = 75;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.lengths = Lengths::with_zero;
  return problem;
}

class EveryKernel : public ::testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  std::string kernel() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  void check(const Problem& problem, const CallSetup& setup = {}) const {
    if (supports(kernel(), problem)) {
      expect_exact(kernel(), problem, setup);
    } else {
      EXPECT_EQ(call(kernel(), problem, setup).status, PLUMBLINE_UNSUPPORTED);
    }
  }
};

TEST_P(EveryKernel, MasksAndWindowsInEveryLayout) {
  for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                              Layout::paged_nhd, Layout::paged_hnd}) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
      for (const auto& [left, right] : {std::pair{-1, -1}, {7, -1}, {9, 2}, {-1, 3}, {0, 0}}) {
        Problem problem = small_problem(dtype());
        problem.layout = layout;
        problem.mask = mask;
        problem.window_left = left;
        if (mask == Mask::none) problem.window_right = right;
        if (problem.is_padded() && left == 7) problem.padding = Padding::left;
        problem.page_size = left == 9 ? 1 : 16;
        check(problem);
      }
    }
  }
}

TEST_P(EveryKernel, HeadDimensionsAndGroups) {
  for (const auto& [qk, vo] :
       {std::pair{64, 64}, {59, 59}, {80, 111}, {203, 24}, {1, 1}, {128, 128}, {192, 128}}) {
    for (const auto& [heads_q, heads_kv] : {std::pair{1, 1}, {6, 2}, {8, 1}}) {
      Problem problem = small_problem(dtype());
      problem.head_dim_qk = qk;
      problem.head_dim_vo = vo;
      problem.heads_q = heads_q;
      problem.heads_kv = heads_kv;
      problem.batch = 2;
      problem.seq_q = 5;
      problem.seq_kv = 40;
      problem.mask = Mask::causal_bottom_right;
      check(problem);
    }
  }
}

TEST_P(EveryKernel, MoreQueriesThanKeysLeaveRowsWithoutKeys) {
  for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
    Problem problem = small_problem(dtype());
    problem.seq_q = 50;
    problem.seq_kv = 20;
    problem.mask = mask;
    problem.window_left = 3;
    check(problem);
  }
}

TEST_P(EveryKernel, DecodeOverManyTilesAndSplits) {
  Problem problem = small_problem(dtype());
  problem.seq_q = 1;
  problem.seq_kv = 1500;
  problem.layout = Layout::paged_nhd;
  problem.lengths = Lengths::random;
  check(problem);
  problem.layout = Layout::padded_bshd;
  problem.window_left = 300;
  check(problem);
}

TEST_P(EveryKernel, OutputsInFp32) {
  Problem problem = small_problem(dtype());
  problem.out_dtype = DType::f32;
  problem.seq_kv = 300;
  check(problem);
}

TEST_P(EveryKernel, StridedViews) {
  Problem problem = small_problem(dtype());
  problem.mask = Mask::causal_bottom_right;
  check(problem, {.stretch = 3});
}

TEST_P(EveryKernel, SmallAndLargeScales) {
  for (const double scale : {1e-3, 3.0}) {
    Problem problem = small_problem(dtype());
    problem.scale = scale;
    check(problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, EveryKernel,
                         ::testing::Combine(::testing::ValuesIn(kernel_names),
                                            ::testing::Values(DType::f32, DType::f16, DType::bf16)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

TEST(KernelNames, AreAllTested) {
  const plumbline_provider& provider = *cpu_library().provider();
  ASSERT_EQ(provider.kernel_count, std::size(kernel_names) + 1) << "and merge: test_merge.cc";
  for (const char* kernel : kernel_names)
    EXPECT_STREQ(provider.kernel_name(kernel_index(provider, kernel)), kernel);
  EXPECT_EQ(provider.kernel_name(provider.kernel_count), nullptr);
}

}  // namespace
}  // namespace plumbline::testing
