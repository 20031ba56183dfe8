// CUDA kernels agree with attention in double precision and keep their promises. They run in the
// emulator, and (built a second time, label gpu) on this machine's GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <tuple>

#include "tests/built_library.h"
#include "tests/kernels/exact_attention.h"
#include "tests/need_gpu.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const Library& library() {
  static const Library loaded(test::built_library(PLUMBLINE_GPU_LIBRARY));
  return loaded;
}

CallSetup with(const std::string& options = "") {
  return {.library = &library(), .options = options};
}

constexpr const char* kernel_names[] = {"naive", "prefill_mma", "prefill_simt", "decode_mma",
                                        "decode_simt"};
constexpr std::array layouts{Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                             Layout::paged_nhd, Layout::paged_hnd};

Problem small_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 4;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 21;
  problem.seq_kv = 150;
  problem.lengths = Lengths::with_zero;
  return problem;
}

class GpuKernels : public ::testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  std::string kernel() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  bool copies_chunks() const { return kernel() != "naive" && kernel() != "prefill_simt"; }

  void SetUp() override {
    const plumbline_provider& provider = *library().provider();
    const plumbline_device device = first_device(provider);
    const plumbline_problem problem = abi_problem(Geometry(small_problem(DType::f16)));
    std::array<char, 200> reason{};
    if (provider.query(0, &problem, &device, reason.data(), reason.size()) != PLUMBLINE_OK)
      PLUMBLINE_SKIP_WITHOUT_GPU(reason.data());
  }
};

TEST_P(GpuKernels, MasksAndWindowsInEveryLayout) {
  for (const Layout layout : layouts) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
      for (const auto& [left, right] : {std::pair{-1, -1}, {7, -1}, {70, 2}, {0, 0}}) {
        Problem problem = small_problem(dtype());
        problem.layout = layout;
        problem.mask = mask;
        problem.window_left = left;
        if (mask == Mask::none) problem.window_right = right;
        if (problem.is_padded() && left == 7) problem.padding = Padding::left;
        problem.page_size = left == 70 ? 1 : 16;
        expect_exact(kernel(), problem, with());
      }
    }
  }
}

TEST_P(GpuKernels, HeadDimensionsAndGroups) {
  for (const int dim : {64, 128, 256}) {
    for (const auto& [heads_q, heads_kv] : {std::pair{1, 1}, {6, 2}, {8, 1}}) {
      Problem problem = small_problem(dtype());
      problem.head_dim_qk = problem.head_dim_vo = dim;
      problem.heads_q = heads_q;
      problem.heads_kv = heads_kv;
      problem.batch = 2;
      problem.seq_q = 9;
      problem.mask = Mask::causal_bottom_right;
      expect_exact(kernel(), problem, with());
    }
  }
}

TEST_P(GpuKernels, PrefillOverSeveralTiles) {
  Problem problem = small_problem(dtype());
  problem.batch = 1;
  problem.lengths = Lengths::full;
  problem.seq_q = problem.seq_kv = 200;
  problem.mask = Mask::causal_bottom_right;
  expect_exact(kernel(), problem, with());
}

TEST_P(GpuKernels, MoreQueriesThanKeysLeaveRowsWithoutKeys) {
  for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
    Problem problem = small_problem(dtype());
    problem.seq_q = 90;
    problem.seq_kv = 20;
    problem.mask = mask;
    problem.window_left = 3;
    expect_exact(kernel(), problem, with());
  }
}

TEST_P(GpuKernels, DecodeOverManyTilesAndSplits) {
  Problem problem = small_problem(dtype());
  problem.seq_q = 1;
  problem.seq_kv = 1300;
  problem.layout = Layout::paged_nhd;
  problem.lengths = Lengths::random;
  expect_exact(kernel(), problem, with());
  expect_exact(kernel(), problem, with("splits=1"));
  expect_exact(kernel(), problem, with("splits=7"));
  problem.layout = Layout::padded_bshd;
  problem.window_left = 300;
  expect_exact(kernel(), problem, with());
}

TEST_P(GpuKernels, OutputsInFp32AndStridedViews) {
  Problem problem = small_problem(dtype());
  problem.out_dtype = DType::f32;
  expect_exact(kernel(), problem, with());
  CallSetup strided = with();
  strided.stretch = 3;
  if (!copies_chunks()) {
    expect_exact(kernel(), problem, strided);
    return;
  }
  const Answer answer = call(kernel(), problem, strided);
  EXPECT_EQ(answer.status, PLUMBLINE_UNSUPPORTED);
  EXPECT_THAT(answer.reason, HasSubstr("rows of Q, K and V must be contiguous"));
}

TEST_P(GpuKernels, KeepPromises) {
  Problem problem = small_problem(dtype());
  problem.seq_q = problem.seq_kv = 100;
  problem.mask = Mask::causal_bottom_right;
  problem.lengths = Lengths::random;
  const Answer padded = call(kernel(), problem, with());
  ASSERT_EQ(padded.status, PLUMBLINE_OK) << padded.reason;
  EXPECT_EQ(padded.out, call(kernel(), problem, with()).out) << "run to run";
  EXPECT_THAT(padded.padded_out, ::testing::Each(0.0));
  for (const Layout layout : layouts) {
    problem.layout = layout;
    for (const int page_size : {1, 16, 64}) {
      if (page_size != 16 && !problem.is_paged()) continue;
      problem.page_size = page_size;
      const Answer other = call(kernel(), problem, with());
      EXPECT_EQ(padded.out, other.out) << name(layout) << " page " << page_size;
      EXPECT_EQ(padded.lse, other.lse) << name(layout) << " page " << page_size;
    }
  }
  problem.layout = Layout::padded_bshd;
  problem.padding = Padding::left;
  EXPECT_EQ(padded.out, call(kernel(), problem, with()).out) << "padding on the left";
}

// The last rows of a prefill equal the decode of the same tokens in every bit, because a row's bits
// depend only on its own keys.
TEST_P(GpuKernels, PrefillAndDecodeAgree) {
  Problem prefill = small_problem(dtype());
  prefill.batch = 1;
  prefill.lengths = Lengths::full;
  prefill.seq_q = 70;
  prefill.seq_kv = 700;
  prefill.mask = Mask::causal_bottom_right;
  Problem decode = prefill;
  decode.seq_q = 1;
  const Answer all = call(kernel(), prefill, with()), last = call(kernel(), decode, with());
  ASSERT_EQ(all.status, PLUMBLINE_OK) << all.reason;
  ASSERT_EQ(last.status, PLUMBLINE_OK) << last.reason;
  const RowIndex of_all{Geometry(prefill)}, of_last{Geometry(decode)};
  for (std::int64_t head = 0; head < prefill.heads_q; ++head) {
    const auto row = [&](const Answer& answer, std::size_t index) {
      const auto begin =
          answer.out.begin() + static_cast<std::ptrdiff_t>(index) * prefill.head_dim_vo;
      return std::vector<double>(begin, begin + prefill.head_dim_vo);
    };
    EXPECT_EQ(row(all, of_all.row(0, head, 69)), row(last, of_last.row(0, head, 0)))
        << "head " << head;
  }
}

TEST_P(GpuKernels, DeclareRoundingsAndRefusals) {
  const plumbline_description said = call(kernel(), small_problem(dtype()), with()).description;
  const bool tensor_cores = kernel().ends_with("_mma");
  EXPECT_STREQ(said.tensor_cores, tensor_cores ? "on" : "off");
  EXPECT_EQ(said.spec.kv_dequantized_to,
            tensor_cores && dtype() == DType::f32 ? PLUMBLINE_TF32 : PLUMBLINE_DTYPE_NONE);
  EXPECT_EQ(said.spec.qk_accumulator.toward_zero, tensor_cores ? 1U : 0U);
  EXPECT_GT(said.shared_memory_bytes, 0);
  EXPECT_THAT(said.device_arch, ::testing::StartsWith("sm_"));
}

INSTANTIATE_TEST_SUITE_P(All, GpuKernels,
                         ::testing::Combine(::testing::ValuesIn(kernel_names),
                                            ::testing::Values(DType::f32, DType::f16, DType::bf16)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace plumbline::testing
