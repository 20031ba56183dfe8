// Tests each rule on examples computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/audit/rules.h"

namespace plumbline {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Example {
  std::vector<double> golden, output, baseline = golden, magnitude = golden;
  DType dtype = DType::f32;
  std::int64_t keys = 10;
  RuleInputs inputs() const {
    return {dtype,    dtype,     keys, golden, output, baseline, baseline,
            baseline, magnitude, 0,    0,      0,      0,        0};
  }
};

bool passes(RuleResult (*rule)(const RuleInputs&), const Example& example) {
  return rule(example.inputs()) == RuleResult::passes;
}

TEST(Rules, AllcloseAddsAbsoluteAndRelative) {
  EXPECT_TRUE(passes(allclose_1e3, {{1.0}, {1.0019}}));
  EXPECT_FALSE(passes(allclose_1e3, {{1.0}, {1.0021}}));
  EXPECT_TRUE(passes(allclose_1e2, {{-2.0, 0.0}, {-2.029, 0.0099}}));
  EXPECT_FALSE(passes(allclose_1e2, {{-2.0, 0.0}, {-2.029, 0.0101}}));
  EXPECT_FALSE(passes(allclose_1e2, {{0.0}, {nan}}));
  EXPECT_FALSE(passes(allclose_1e2, {{0.0}, {inf}}));
}

TEST(Rules, AssertCloseComparesInDtype) {
  // 1 + 2^-12 is 1 in fp16, so they are equal. Tolerances: 1e-3 relative, 1e-5 absolute.
  EXPECT_TRUE(passes(assert_close_defaults,
                     {.golden = {1 + 0x1p-12}, .output = {1 + 0x1p-10}, .dtype = DType::f16}));
  EXPECT_FALSE(passes(assert_close_defaults,
                      {.golden = {1 + 0x1p-12}, .output = {1 + 0x1p-9}, .dtype = DType::f16}));
  EXPECT_TRUE(passes(assert_close_defaults,
                     {.golden = {1.0}, .output = {1 + 0x1p-6}, .dtype = DType::bf16}));
  EXPECT_FALSE(passes(assert_close_defaults,
                      {.golden = {1.0}, .output = {1 + 0x1p-5}, .dtype = DType::bf16}));
  EXPECT_TRUE(passes(assert_close_defaults, {.golden = {1.0}, .output = {1 + 1.1e-5}}));
  EXPECT_FALSE(passes(assert_close_defaults, {.golden = {1.0}, .output = {1 + 1.2e-5}}));
  EXPECT_FALSE(
      passes(assert_close_defaults, {.golden = {1.0}, .output = {nan}, .dtype = DType::f16}));
}

TEST(Rules, FlashAttentionAllowsTwiceBaseline) {
  const double u = 0x1p-10;
  Example example{.golden = {1.0, 0.0},
                  .output = {1 + 2 * u, 0.0},
                  .baseline = {1 + u, 0.0},
                  .dtype = DType::f16};
  EXPECT_TRUE(passes(flash_attention_2x, example));
  example.output = {1 + 3 * u, 0.0};
  EXPECT_FALSE(passes(flash_attention_2x, example));
  example.output = {1.0, 2 * u};  // the maximum is over the whole tensor
  EXPECT_TRUE(passes(flash_attention_2x, example));
  example.baseline = example.golden;
  example.output = {1.0, 0.9e-5};
  EXPECT_TRUE(passes(flash_attention_2x, example));
  example.output = {1.0, nan};
  EXPECT_FALSE(passes(flash_attention_2x, example));
  example.output = example.golden;
  example.baseline = {inf, 0.0};
  EXPECT_EQ(flash_attention_2x(example.inputs()), RuleResult::not_applicable)
      << "a baseline that overflowed says nothing";
  example.baseline = example.golden;
  example.dtype = DType::f32;
  EXPECT_EQ(flash_attention_2x(example.inputs()), RuleResult::not_applicable);
}

TEST(Rules, SdpaAllowsFourTimesBaseline) {
  Example example{.golden = {1.0, 2.0}, .output = {1.039, 2.0}, .baseline = {1.0, 2.01}};
  EXPECT_TRUE(passes(sdpa_fudge_factor, example));
  example.output = {1.041, 2.0};
  EXPECT_FALSE(passes(sdpa_fudge_factor, example));
  example.baseline = example.golden;
  example.output = {1.0, 2 + 0.9e-5};
  EXPECT_TRUE(passes(sdpa_fudge_factor, example));
  example.output = {1.0, 2 + 1.1e-5};
  EXPECT_FALSE(passes(sdpa_fudge_factor, example));
  example.output = {1.0, nan};
  EXPECT_FALSE(passes(sdpa_fudge_factor, example));
  example.output = example.golden;
  example.baseline = {nan, 2.0};
  EXPECT_EQ(sdpa_fudge_factor(example.inputs()), RuleResult::not_applicable);
}

TEST(Rules, FlexComparesMeans) {
  // One element in four is wrong by 0.043. The mean error is 1.075 times the baseline's.
  Example example{.golden = {0, 0, 0, 0},
                  .output = {0.043, 0, 0, 0},
                  .baseline = {0.01, 0.01, 0.01, 0.01},
                  .dtype = DType::bf16};
  EXPECT_TRUE(passes(flex_mean_error, example));
  example.output[0] = 0.045;
  EXPECT_FALSE(passes(flex_mean_error, example));
  example.dtype = DType::f32;
  example.output[0] = 0.39;
  EXPECT_TRUE(passes(flex_mean_error, example)) << "fp32: 10 times";
  example.output[0] = 0.41;
  EXPECT_FALSE(passes(flex_mean_error, example));
  example.output[0] = nan;
  EXPECT_FALSE(passes(flex_mean_error, example));
  example.output[0] = 0;
  example.baseline[0] = nan;
  EXPECT_EQ(flex_mean_error(example.inputs()), RuleResult::not_applicable);
}

TEST(Rules, BenchdnnLimitGrowsWithKeys) {
  // 384 keys in fp16 allow 8 * 385 * 2^-10 = 3.008, so a flipped sign (2) and zeros (1) pass.
  Example example{
      .golden = {0.5}, .output = {-0.5}, .magnitude = {0.0}, .dtype = DType::f16, .keys = 384};
  EXPECT_TRUE(passes(benchdnn_sdpa, example));
  example.output = {0.5 * 4.01};
  EXPECT_FALSE(passes(benchdnn_sdpa, example));
  example.magnitude = {0.5 * 3.02 * 1024};  // the minimum: eps sum p |v|
  EXPECT_TRUE(passes(benchdnn_sdpa, example));
  example.output = {nan};
  EXPECT_FALSE(passes(benchdnn_sdpa, example));
  Example zero{
      .golden = {0.0}, .output = {1e-30}, .magnitude = {0.0}, .dtype = DType::f32, .keys = 1};
  EXPECT_FALSE(passes(benchdnn_sdpa, zero)) << "relative to the smallest normal number";
  zero.output = {0.0};
  EXPECT_TRUE(passes(benchdnn_sdpa, zero));
}

TEST(Rules, FrobeniusIsOverWholeTensor) {
  EXPECT_TRUE(passes(relative_frobenius, {{3.0, 4.0}, {3.03, 4.03}}));   // 0.0424 of 5
  EXPECT_FALSE(passes(relative_frobenius, {{3.0, 4.0}, {3.04, 4.04}}));  // 0.0566
  EXPECT_FALSE(passes(relative_frobenius, {{3.0, 4.0}, {3.0, nan}}));
  EXPECT_TRUE(passes(relative_frobenius, {{0.0}, {0.0}}));
}

TEST(Rules, DefaultsByDtype) {
  const auto limits = [](RuleResult (*rule)(const RuleInputs&), DType dtype, double at_one) {
    EXPECT_TRUE(passes(rule, {.golden = {1.0}, .output = {1 + 0.99 * at_one}, .dtype = dtype}));
    EXPECT_FALSE(passes(rule, {.golden = {1.0}, .output = {1 + 1.01 * at_one}, .dtype = dtype}));
    EXPECT_FALSE(passes(rule, {.golden = {1.0}, .output = {nan}, .dtype = dtype}));
  };
  limits(gpucheck_defaults, DType::f32, 2e-4);
  limits(gpucheck_defaults, DType::f16, 2e-2);
  limits(gpucheck_defaults, DType::bf16, 0.1);
  limits(gpucheck_defaults, DType::e4m3, 0.25);
  limits(gpucheck_defaults, DType::e5m2, 0.5);
  limits(triton_blackhole_defaults, DType::f32, 1.1e-4);
  limits(triton_blackhole_defaults, DType::f16, 2e-3);
  limits(triton_blackhole_defaults, DType::bf16, 2e-2);
  limits(triton_blackhole_defaults, DType::e4m3, 1.1e-4);
  limits(triton_blackhole_defaults, DType::e5m2, 1.1e-4);
  limits(cudnn_frontend, DType::bf16, 4e-2);
}

TEST(Rules, CosineIgnoresScale) {
  EXPECT_TRUE(passes(flashinfer_cosine, {{3.0, 4.0}, {30.0, 40.0}}));
  EXPECT_FALSE(passes(flashinfer_cosine, {{3.0, 4.0}, {4.0, 3.0}}));    // 0.96
  EXPECT_TRUE(passes(flashinfer_cosine, {{1.0, 0.0}, {1.0, 0.0446}}));  // 0.99901
  EXPECT_FALSE(passes(flashinfer_cosine, {{1.0, 0.0}, {1.0, 0.0449}}));
  EXPECT_FALSE(passes(flashinfer_cosine, {{1.0, 0.0}, {1.0, nan}}));
  EXPECT_FALSE(passes(flashinfer_cosine, {{0.0, 0.0}, {0.0, 0.0}})) << "0 / 1e-16";
}

TEST(Rules, HipdnnBoundFollowsFromLargestInputs) {
  // D = 8, 4 keys, |q| = |k| = 1, |v| = 2, scale 1/2, in units of eps:
  // 2 (4 (16 + 1) + 8 + 5 + 8) = 178, plus 2 * 2^-10 in fp16
  Example example{.golden = {1.0}, .output = {1 + 177 * 0x1p-23}, .keys = 4};
  const auto inputs = [&] {
    RuleInputs in = example.inputs();
    in.head_dim = 8, in.scale = 0.5, in.largest_q = in.largest_k = 1, in.largest_v = 2;
    return in;
  };
  EXPECT_EQ(hipdnn_bound(inputs()), RuleResult::passes);
  example.output = {1 + 179 * 0x1p-23};
  EXPECT_EQ(hipdnn_bound(inputs()), RuleResult::fails);
  example.dtype = DType::f16;
  EXPECT_EQ(hipdnn_bound(inputs()), RuleResult::passes);
  example.output = {1 + 0x1p-9 + 179 * 0x1p-23};
  EXPECT_EQ(hipdnn_bound(inputs()), RuleResult::fails);
  example.output = {nan};
  EXPECT_EQ(hipdnn_bound(inputs()), RuleResult::fails);
}

TEST(Rules, AllRulesCiteSources) {
  const auto rules = third_party_rules();
  EXPECT_EQ(rules.size(), 13U);
  for (const Rule& rule : rules) EXPECT_FALSE(rule.source.empty()) << rule.name;
}

}  // namespace
}  // namespace plumbline
