// CPU kernels with softcap, ALiBi, sinks, mask bits or fp8 K and V agree with plain attention in
// double precision. Kernels that do not support a feature refuse it with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/exact_attention.h"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kernel_names[] = {"naive", "flash", "flash_p32", "flash_lse2"};

Problem small_problem() {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.batch = 4;
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.seq_q = 21;
  problem.seq_kv = 150;
  problem.head_dim_qk = problem.head_dim_vo = 24;
  problem.lengths = Lengths::with_zero;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

class Features : public ::testing::TestWithParam<const char*> {
 protected:
  std::string kernel() const { return GetParam(); }
  void check(const Problem& problem, const CallSetup& setup = {}) const {
    expect_exact(kernel(), problem, setup);
  }
  // Tests the problem as it is, in bf16, and in the dtype with the tightest limits: fp32 if the
  // kernel supports it, otherwise fp16.
  void check_dtypes(Problem problem) const {
    check(problem);
    problem.dtype = kernel() == "flash_p32" && !problem.has_fp8_kv() ? DType::f32 : DType::f16;
    check(problem);
  }
};

TEST_P(Features, Softcap) {
  for (const double cap : {0.5, 2.0, 30.0}) {
    Problem problem = small_problem();
    problem.softcap = cap;
    problem.scale = 0.5;
    check_dtypes(problem);
  }
}

TEST_P(Features, AlibiByMaskAndLayout) {
  for (const Alibi alibi : {Alibi::standard, Alibi::random}) {
    for (const Mask mask : {Mask::none, Mask::causal_top_left, Mask::causal_bottom_right}) {
      Problem problem = small_problem();
      problem.alibi = alibi;
      problem.mask = mask;
      problem.layout = alibi == Alibi::random ? Layout::paged_hnd : Layout::padded_bshd;
      problem.padding =
          alibi == Alibi::standard && mask == Mask::none ? Padding::left : Padding::right;
      check_dtypes(problem);
    }
  }
}

// For rows without a visible key, O = 0 and the LSE is the sink's logit.
TEST_P(Features, SinksAlsoWithoutKeysAndInSplits) {
  for (const Sinks sinks : {Sinks::normal, Sinks::large}) {
    Problem problem = small_problem();
    problem.sinks = sinks;
    check_dtypes(problem);
    problem.seq_q = 40;
    problem.seq_kv = 20;
    check(problem);
    problem.seq_q = 1;
    problem.seq_kv = 700;
    check(problem, {.options = "splits=5"});
  }
}

TEST_P(Features, SinkWithoutKeysIsTheLse) {
  Problem problem = small_problem();
  problem.batch = 1;
  problem.lengths = Lengths::full;
  problem.seq_q = 30;
  problem.seq_kv = 20;
  problem.sinks = Sinks::large;
  const Geometry geometry(problem);
  const Inputs inputs = make_inputs(geometry);
  const Answer answer = call(kernel(), geometry, inputs);
  const std::size_t row = RowIndex(geometry).row(0, 3, 0);
  const double unit = kernel() == "flash_lse2" ? std::log(2.0) : 1;
  EXPECT_NEAR(answer.lse[row] * unit, inputs.side.sinks[3], 1e-5);
  for (std::size_t d = 0; d < 24; ++d) EXPECT_EQ(answer.out[row * 24 + d], 0.0);
}

TEST_P(Features, BitMasksInEveryLayout) {
  for (const Mask mask : {Mask::prefix_lm, Mask::block_diagonal, Mask::custom}) {
    for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                                Layout::paged_nhd, Layout::paged_hnd}) {
      Problem problem = small_problem();
      problem.mask = mask;
      problem.layout = layout;
      if (layout == Layout::padded_bhsd) problem.padding = Padding::left;
      check_dtypes(problem);
    }
  }
}

TEST_P(Features, Fp8KeysAndValuesWithScales) {
  for (const DType kv : {DType::e4m3, DType::e5m2}) {
    for (const KvScales scales : {KvScales::tensor, KvScales::head, KvScales::batch_head}) {
      for (const Layout layout : {Layout::padded_bshd, Layout::paged_nhd}) {
        Problem problem = small_problem();
        problem.kv_dtype = kv;
        problem.kv_scales = scales;
        problem.layout = layout;
        problem.out_dtype = scales == KvScales::head ? DType::f32 : DType::none;
        check_dtypes(problem);
      }
    }
  }
}

// Blocks of 12 end within a tile of 64 keys, and the last block is incomplete.
TEST_P(Features, Fp8WithScalesOfTokensAndBlocks) {
  for (const DType q : {DType::bf16, DType::e4m3, DType::e5m2}) {
    if (is_fp8(q) && kernel() == "naive") continue;
    for (const KvScales scales :
         {KvScales::tensor, KvScales::batch_head, KvScales::token, KvScales::block}) {
      for (const Layout layout : {Layout::padded_bhsd, Layout::paged_hnd}) {
        Problem problem = small_problem();
        problem.dtype = q;
        problem.kv_dtype = DType::e4m3;
        problem.kv_scales = scales;
        problem.scale_block = 12;
        problem.layout = layout;
        problem.sinks = layout == Layout::paged_hnd ? Sinks::normal : Sinks::none;
        problem.out_dtype = scales == KvScales::token ? DType::f32 : DType::none;
        check(problem);
        check(problem, {.options = "tile=7x32,splits=3,denominator=rounded"});
      }
    }
  }
}

TEST_P(Features, AllCombined) {
  Problem problem = small_problem();
  problem.kv_dtype = DType::e4m3;
  problem.kv_scales = KvScales::batch_head;
  problem.softcap = 5;
  problem.alibi = Alibi::random;
  problem.sinks = Sinks::normal;
  problem.layout = Layout::ragged;
  for (const Mask mask : {Mask::custom, Mask::causal_bottom_right}) {
    problem.mask = mask;
    check_dtypes(problem);
    check(problem, {.options = "tile=7x32,splits=3"});
    check(problem, {.stretch = 3});
  }
}

TEST_P(Features, HeadDimensionsAndGroupsOfModels) {
  for (const auto& [qk, vo] :
       {std::pair{59, 59}, {96, 96}, {111, 111}, {203, 203}, {192, 128}, {576, 512}}) {
    for (const auto& [heads_q, heads_kv] : {std::pair{5, 1}, {14, 2}, {16, 1}}) {
      Problem problem = small_problem();
      problem.batch = 1;
      problem.lengths = Lengths::full;
      problem.head_dim_qk = qk;
      problem.head_dim_vo = vo;
      problem.heads_q = heads_q;
      problem.heads_kv = heads_kv;
      problem.seq_q = 3;
      problem.seq_kv = 40;
      problem.kv_dtype = heads_kv == 2 ? DType::e5m2 : DType::none;
      check(problem);
    }
  }
}

// Absorbed MLA: V is the first columns of K, in the same memory.
TEST_P(Features, ValuesWithinKeys) {
  Problem problem = small_problem();
  problem.head_dim_qk = 72;
  problem.head_dim_vo = 64;
  problem.layout = Layout::paged_nhd;
  Geometry geometry(problem);
  geometry.v.stride = geometry.k.stride;
  geometry.v.elements = geometry.k.elements;
  Inputs inputs = make_inputs(geometry);
  inputs.v = inputs.k;
  expect_exact(kernel(), geometry, inputs);
}

INSTANTIATE_TEST_SUITE_P(Cpu, Features, ::testing::ValuesIn(kernel_names),
                         [](const auto& test) { return std::string(test.param); });

TEST(FeaturesElsewhere, RefusedWithReason) {
  const auto reason = [](const std::string& kernel, auto change) {
    Problem problem = small_problem();
    problem.mask = Mask::none;
    change(problem);
    const Answer answer = call(kernel, problem);
    EXPECT_EQ(answer.status, PLUMBLINE_UNSUPPORTED) << kernel;
    return answer.reason;
  };
  for (const char* kernel : {"split_kv", "flash_unpad", "flash_attended", "flash_denominator",
                             "split_kv_16", "flash_tile32", "flash_lazy"}) {
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.softcap = 30; }),
                HasSubstr("does not take a softcap; cpu/naive"));
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.alibi = Alibi::standard; }),
                HasSubstr("does not take ALiBi"));
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.sinks = Sinks::normal; }),
                HasSubstr("does not take an attention sink"));
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.mask = Mask::custom; }),
                HasSubstr("does not take a mask of bits"));
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.kv_dtype = DType::e4m3; }),
                HasSubstr("(got bf16 with e4m3)"));
    EXPECT_THAT(reason(kernel, [](Problem& p) { p.dtype = DType::e4m3; }),
                HasSubstr("does not take Q in e4m3; cpu/flash, "));
  }
  EXPECT_THAT(reason("naive", [](Problem& p) { p.dtype = DType::e5m2; }),
              HasSubstr("cpu/naive does not take Q in e5m2"));
}

TEST(LseInBaseTwo, DeclaredAndOtherwiseUnchanged) {
  const Problem problem = small_problem();
  const Answer natural = call("flash", problem), base_2 = call("flash_lse2", problem);
  EXPECT_EQ(natural.description.spec.lse_base, 0U);
  EXPECT_EQ(base_2.description.spec.lse_base, 2U);
  EXPECT_EQ(call("flash", problem, {.options = "lse=2"}).lse, base_2.lse);
  EXPECT_EQ(natural.out, base_2.out);
  ASSERT_EQ(natural.lse.size(), base_2.lse.size());
  for (std::size_t i = 0; i < natural.lse.size(); ++i) {
    if (std::isinf(natural.lse[i])) continue;
    EXPECT_NEAR(natural.lse[i], base_2.lse[i] * std::log(2.0),
                1e-6 * std::abs(natural.lse[i]) + 1e-7);
  }
}

}  // namespace
}  // namespace plumbline::testing
