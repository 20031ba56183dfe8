// CUDA kernels with softcap, ALiBi, sinks or fp8 K and V agree with plain attention in double
// precision. They run in the emulator, and (built a second time, label gpu) on this machine's GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

Problem small_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 3;
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.seq_q = 21;
  problem.seq_kv = 150;
  problem.lengths = Lengths::with_zero;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

class GpuFeatures : public ::testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  std::string kernel() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  bool takes_fp8() const { return dtype() != DType::f32; }
  Problem problem() const { return small_problem(dtype()); }

  void SetUp() override {
    const Answer answer = call("naive", small_problem(DType::f16), with());
    if (answer.status != PLUMBLINE_OK) PLUMBLINE_SKIP_WITHOUT_GPU(answer.reason);
  }
};

TEST_P(GpuFeatures, Softcap) {
  for (const double cap : {0.5, 30.0}) {
    Problem capped = problem();
    capped.softcap = cap;
    capped.scale = 0.4;
    expect_exact(kernel(), capped, with());
  }
}

TEST_P(GpuFeatures, AlibiByMaskAndPadding) {
  for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
    Problem biased = problem();
    biased.alibi = mask == Mask::none ? Alibi::standard : Alibi::random;
    biased.mask = mask;
    biased.padding = mask == Mask::causal_top_left ? Padding::left : Padding::right;
    expect_exact(kernel(), biased, with());
  }
}

TEST_P(GpuFeatures, SinksAlsoWithoutKeysAndInSplits) {
  for (const Sinks sinks : {Sinks::normal, Sinks::large}) {
    Problem sink = problem();
    sink.sinks = sinks;
    sink.padding = sinks == Sinks::large ? Padding::left : Padding::right;
    expect_exact(kernel(), sink, with());
    sink.seq_q = 40;
    sink.seq_kv = 20;
    expect_exact(kernel(), sink, with());
    sink.seq_q = 1;
    sink.seq_kv = 700;
    expect_exact(kernel(), sink, with("splits=3"));
  }
}

TEST_P(GpuFeatures, PaddedRowsHaveNoSink) {
  Problem sink = problem();
  sink.sinks = Sinks::large;
  sink.lengths = Lengths::random;
  const Answer answer = call(kernel(), sink, with());
  ASSERT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
  EXPECT_FALSE(answer.padded_lse.empty());
  EXPECT_THAT(answer.padded_out, ::testing::Each(0.0));
  EXPECT_THAT(answer.padded_lse, ::testing::Each(-HUGE_VAL));
}

TEST_P(GpuFeatures, Fp8KeysAndValuesWithScales) {
  if (!takes_fp8()) {
    Problem fp8 = small_problem(DType::f16);
    fp8.kv_dtype = DType::e4m3;
    EXPECT_THAT(call("prefill_mma_acc16", fp8, with()).reason,
                HasSubstr("does not take fp8 K and V if it accumulates in fp16"));
    return;
  }
  for (const DType kv : {DType::e4m3, DType::e5m2}) {
    for (const KvScales scales : {KvScales::tensor, KvScales::head, KvScales::batch_head}) {
      Problem fp8 = problem();
      fp8.kv_dtype = kv;
      fp8.kv_scales = scales;
      fp8.head_dim_qk = fp8.head_dim_vo = kv == DType::e4m3 ? 64 : 128;
      fp8.layout = scales == KvScales::head ? Layout::paged_hnd : Layout::padded_bshd;
      fp8.out_dtype = scales == KvScales::tensor ? DType::f32 : DType::none;
      expect_exact(kernel(), fp8, with());
    }
  }
}

TEST_P(GpuFeatures, AllCombined) {
  Problem all = problem();
  if (takes_fp8()) all.kv_dtype = DType::e4m3;
  all.kv_scales = KvScales::batch_head;
  all.softcap = 5;
  all.alibi = Alibi::random;
  all.sinks = Sinks::normal;
  for (const Layout layout : {Layout::padded_bhsd, Layout::ragged, Layout::paged_nhd}) {
    all.layout = layout;
    expect_exact(kernel(), all, with());
  }
  const Answer first = call(kernel(), all, with()), second = call(kernel(), all, with());
  EXPECT_EQ(first.out, second.out) << "run to run";
}

INSTANTIATE_TEST_SUITE_P(All, GpuFeatures,
                         ::testing::Combine(::testing::Values("naive", "prefill_mma",
                                                              "prefill_simt", "decode_mma",
                                                              "decode_simt"),
                                            ::testing::Values(DType::f32, DType::f16, DType::bf16)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

TEST(GpuFeaturesElsewhere, RefusedWithReason) {
  Problem problem = small_problem(DType::bf16);
  problem.mask = Mask::custom;
  const Answer masked = call("naive", problem, with());
  if (masked.reason.find("mask") == std::string::npos) PLUMBLINE_SKIP_WITHOUT_GPU(masked.reason);
  for (const char* kernel :
       {"naive", "prefill_mma", "prefill_mma_acc16", "prefill_simt", "decode_mma", "decode_simt"}) {
    EXPECT_THAT(call(kernel, problem, with()).reason, HasSubstr("does not take masks of bits"));
  }
  problem.mask = Mask::none;
  problem.kv_dtype = DType::e5m2;
  problem.head_dim_qk = problem.head_dim_vo = 256;
  EXPECT_THAT(call("decode_mma", problem, with()).reason,
              HasSubstr("takes head dimensions 64, 128 alike for Q, K and V in fp8"));
}

}  // namespace
}  // namespace plumbline::testing
