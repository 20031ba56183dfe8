// The strict spec, specs that are looser than it, and the text of a spec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <type_traits>

#include "harness/base/enumeration.h"
#include "harness/problem/contradictory_flags.h"
#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Problem problem_of(DType dtype, DType out = DType::none) {
  Problem problem;
  problem.dtype = dtype;
  problem.out_dtype = out;
  return problem;
}

const RoundingSpec strict_bf16 = strict_spec(problem_of(DType::bf16));
const RoundingSpec strict_fp16 = strict_spec(problem_of(DType::f16));
const RoundingSpec strict_fp32 = strict_spec(problem_of(DType::f32));

TEST(StrictSpecTest, SixteenBit) {
  EXPECT_EQ(strict_bf16.p_dtype, DType::bf16);
  EXPECT_EQ(strict_bf16.qk_accumulator, tensor_core_accumulator);
  EXPECT_EQ(strict_bf16.pv_accumulator, tensor_core_accumulator);
  EXPECT_EQ(strict_bf16.out_dtype, DType::bf16);
  EXPECT_EQ(strict_bf16.kv_dequantized_to, DType::none);
  EXPECT_EQ(strict_spec(problem_of(DType::f16, DType::f32)).out_dtype, DType::f32);
}

TEST(StrictSpecTest, Fp32) {
  EXPECT_EQ(strict_fp32.p_dtype, DType::f32);
  EXPECT_EQ(strict_fp32.qk_accumulator, fma_accumulator);
  EXPECT_EQ(strict_fp32.out_dtype, DType::f32);
}

using Change = std::function<void(RoundingSpec&)>;
std::vector<std::string> findings(const RoundingSpec& pinned, const Change& change) {
  RoundingSpec declared = pinned;
  change(declared);
  return looser_fields(declared, pinned);
}

TEST(LooserTest, EqualIsNotLooser) {
  for (const RoundingSpec& spec : {strict_bf16, strict_fp16, strict_fp32})
    EXPECT_THAT(looser_fields(spec, spec), IsEmpty());
}

TEST(LooserTest, FewerRoundingsAreNotLooser) {
  RoundingSpec declared = strict_bf16;
  declared.p_dtype = DType::f32;
  declared.qk_accumulator = declared.pv_accumulator = fma_accumulator;
  declared.out_dtype = DType::f32;
  EXPECT_THAT(looser_fields(declared, strict_bf16), IsEmpty());
  RoundingSpec pinned = strict_bf16;
  pinned.s_rounded = pinned.q_prescaled = pinned.split_partial_dtype = DType::bf16;
  pinned.denominator_from_rounded_p = true;
  pinned.exp2_rel_error = 1e-4;
  EXPECT_THAT(looser_fields(strict_bf16, pinned), IsEmpty());
}

TEST(LooserTest, P) {
  EXPECT_THAT(
      findings(strict_bf16, [](auto& s) { s.p_dtype = DType::e4m3; }),
      ElementsAre("p_dtype: e4m3 is coarser than bf16", HasSubstr("rounds small values by")));
  EXPECT_THAT(findings(strict_fp32, [](auto& s) { s.p_dtype = DType::tf32; }),
              testing::Contains("p_dtype: tf32 is coarser than fp32"));
  // fp16 has the smaller unit roundoff, but flushes small P that bf16 keeps.
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.p_dtype = DType::f16; }),
              ElementsAre(HasSubstr("prescale 1 rounds small values by 2.98e-08")));
  EXPECT_THAT(findings(strict_fp16, [](auto& s) { s.p_dtype = DType::tf32; }), IsEmpty());
}

TEST(LooserTest, Prescale) {
  RoundingSpec pinned = strict_fp16;
  pinned.p_prescale = 256;
  EXPECT_THAT(findings(pinned, [](auto& s) { s.p_prescale = 1; }),
              ElementsAre(HasSubstr("p_dtype: fp16 with prescale 1")));
  EXPECT_THAT(findings(pinned, [](auto& s) { s.p_prescale = 512; }), IsEmpty());
  const Change other_significands = [](auto& s) { s.p_prescale = 448; };
  EXPECT_THAT(findings(pinned, other_significands),
              ElementsAre("p_prescale: 448 differs from 256 by a factor that is no power of two"));
  RoundingSpec free = pinned;
  free.p_max = MaximumOfP::free;
  EXPECT_THAT(findings(free, other_significands), IsEmpty());
  pinned.p_dtype = DType::f32;
  EXPECT_THAT(findings(pinned, other_significands), IsEmpty()) << "P is not rounded";
  pinned.p_dtype = DType::f16;
  for (const double bad : {0.0, -256.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(findings(pinned, [&](auto& s) { s.p_prescale = bad; }),
                ElementsAre(HasSubstr("is not a positive number")))
        << bad;
  }
}

TEST(LooserTest, ExtraRoundingStepIsLooser) {
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.denominator_from_rounded_p = true; }),
              ElementsAre(HasSubstr("denominator_from_rounded_p")));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.s_rounded = DType::bf16; }),
              ElementsAre("s_rounded: rounded to bf16, pinned is no rounding"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.q_prescaled = DType::f16; }),
              ElementsAre(HasSubstr("q_prescaled: rounded to fp16")));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.s_rounded = DType::f32; }), IsEmpty())
      << "fp32 is what S is in";
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.kv_dequantized_to = DType::bf16; }),
              ElementsAre(HasSubstr("kv_dequantized_to")));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.split_partial_dtype = DType::bf16; }),
              ElementsAre("split_partial_dtype: bf16 is coarser than fp32"));
}

TEST(LooserTest, CoarserSteps) {
  RoundingSpec pinned = strict_fp16;
  pinned.s_rounded = pinned.q_prescaled = DType::f16;
  EXPECT_THAT(findings(pinned, [](auto& s) { s.s_rounded = DType::bf16; }),
              ElementsAre("s_rounded: bf16 is coarser than fp16"));
  EXPECT_THAT(findings(pinned, [](auto& s) { s.q_prescaled = DType::bf16; }),
              ElementsAre("q_prescaled: bf16 is coarser than fp16"));
  EXPECT_THAT(findings(strict_fp16, [](auto& s) { s.out_dtype = DType::bf16; }),
              ElementsAre("out_dtype: bf16 is coarser than fp16"));
}

TEST(LooserTest, Accumulators) {
  EXPECT_THAT(findings(strict_fp32, [](auto& s) { s.qk_accumulator.toward_zero = true; }),
              ElementsAre("qk_accumulator: rounds toward zero, pinned is to nearest"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.pv_accumulator.fraction_bits = 13; }),
              ElementsAre("pv_accumulator: 13 fraction bits, pinned are 24"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.pv_accumulator.products_per_step = 4; }),
              ElementsAre("pv_accumulator: truncates every 4 products, pinned is every 8"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.pv_accumulator.products_per_step = 16; }),
              IsEmpty());
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.qk_accumulator.dtype = DType::f16; }),
              ElementsAre("qk_accumulator dtype: fp16 is coarser than fp32"));
  RoundingSpec hopper = strict_bf16;
  hopper.qk_accumulator = {DType::f32, true, 25, 16};
  EXPECT_THAT(findings(hopper, [](auto& s) { s.qk_accumulator = fma_accumulator; }), IsEmpty())
      << "fp32 FMA is never worse";
  EXPECT_THAT(findings(hopper,
                       [](auto& s) {
                         s.qk_accumulator = {DType::f32, false, 20, 1};
                       }),
              ElementsAre(HasSubstr("20 fraction bits")));
}

TEST(LooserTest, FunctionErrorsAndMeanings) {
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.exp2_rel_error = 9e-5; }),
              ElementsAre("exp2_rel_error: 9e-05 is larger than 0"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.tanh_rel_error = 1e-3; }),
              ElementsAre(HasSubstr("tanh_rel_error")));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.lse_base = 2; }),
              ElementsAre("lse_base: 2 differs from e"));
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.lse_includes_sink = false; }),
              ElementsAre("lse_includes_sink: false differs from true"));
}

TEST(LooserTest, MaximumOfP) {
  const auto is_looser = [](MaximumOfP declared, MaximumOfP is_pinned) {
    RoundingSpec pinned = strict_bf16;
    pinned.p_max = is_pinned;
    return !findings(pinned, [&](auto& s) { s.p_max = declared; }).empty();
  };
  for (const MaximumOfP maximum : all<MaximumOfP>()) {
    EXPECT_FALSE(is_looser(maximum, maximum));
    EXPECT_FALSE(is_looser(MaximumOfP::one, maximum));
    EXPECT_FALSE(is_looser(maximum, MaximumOfP::free));
  }
  EXPECT_TRUE(is_looser(MaximumOfP::running, MaximumOfP::one));
  EXPECT_TRUE(is_looser(MaximumOfP::ceil2, MaximumOfP::running));
  EXPECT_TRUE(is_looser(MaximumOfP::bf16, MaximumOfP::ceil2));
  EXPECT_TRUE(is_looser(MaximumOfP::free, MaximumOfP::bf16));
}

TEST(LooserTest, OtherRoundings) {
  for (bool RoundingSpec::*flag :
       {&RoundingSpec::p_toward_zero, &RoundingSpec::s_rounded_twice,
        &RoundingSpec::out_toward_zero, &RoundingSpec::p_stochastic, &RoundingSpec::out_stochastic,
        &RoundingSpec::ring_update, &RoundingSpec::inputs_toward_zero}) {
    EXPECT_EQ(findings(strict_bf16, [&](auto& s) { s.*flag = true; }).size(), 1U);
    RoundingSpec pinned = strict_bf16;
    pinned.*flag = true;
    EXPECT_THAT(looser_fields(strict_bf16, pinned), IsEmpty());
  }
  for (DType RoundingSpec::*step : {&RoundingSpec::o_between_tiles, &RoundingSpec::lse_dtype})
    EXPECT_EQ(findings(strict_bf16, [&](auto& s) { s.*step = DType::bf16; }).size(), 1U);
  EXPECT_THAT(findings(strict_bf16, [](auto& s) { s.reciprocal_rel_error = 1e-3; }),
              ElementsAre("reciprocal_rel_error: 0.001 is larger than 0"));
  // Neither of two models has less error than the other.
  for (bool RoundingSpec::*model :
       {&RoundingSpec::p_normalized, &RoundingSpec::q_prescaled_without_log2e,
        &RoundingSpec::s_rounded_before_bias, &RoundingSpec::s_rounded_before_softcap}) {
    RoundingSpec pinned = strict_bf16;
    pinned.q_prescaled = pinned.s_rounded = DType::bf16;
    EXPECT_EQ(findings(pinned, [&](auto& s) { s.*model = true; }).size(), 1U);
    pinned.*model = true;
    EXPECT_EQ(findings(pinned, [&](auto& s) { s.*model = false; }).size(), 1U);
    EXPECT_THAT(findings(pinned,
                         [&](auto& s) {
                           s.*model = false;
                           s.p_dtype = DType::f32;
                           s.q_prescaled = s.s_rounded = DType::none;
                         }),
                IsEmpty())
        << "what is not rounded has no model";
  }
}

TEST(LooserTest, InvalidValuesAreLooser) {
  const auto unknown = static_cast<DType>(77);
  EXPECT_THAT(findings(strict_bf16, [&](auto& s) { s.p_dtype = unknown; }),
              testing::Not(IsEmpty()));
  EXPECT_THAT(findings(strict_bf16, [&](auto& s) { s.s_rounded = unknown; }),
              testing::Not(IsEmpty()));
  EXPECT_THAT(findings(strict_bf16, [&](auto& s) { s.out_dtype = unknown; }),
              testing::Not(IsEmpty()));
  EXPECT_THAT(findings(strict_bf16, [&](auto& s) { s.pv_accumulator.dtype = DType::i32; }),
              testing::Not(IsEmpty()));
  EXPECT_THAT(findings(strict_bf16, [&](auto& s) { s.exp2_rel_error = std::nan(""); }),
              testing::Not(IsEmpty()));
}

// Each flag of a spec describes the rounding of a dtype field, or stands alone.
TEST(FlagsTest, EachFlagIsIdleWithoutDtype) {
  const std::set<std::string_view> alone{"ring_update", "lse_includes_sink",
                                         "lse_without_row_bias"};
  for_each_spec_field([&](std::string_view field, auto, auto of) {
    RoundingSpec spec;
    if constexpr (std::is_same_v<decltype(of(spec)), bool&>) {
      const auto flag = std::ranges::find(flags_of_roundings, field, &FlagOfRounding::name);
      ASSERT_EQ(flag == std::end(flags_of_roundings), alone.contains(field)) << field;
      if (alone.contains(field)) return;
      EXPECT_EQ(&(spec.*flag->flag), &of(spec)) << field;
      EXPECT_FALSE(is_idle(*flag, spec)) << field << " is not stated";
      of(spec) = true;
      const bool of_inputs = field == "inputs_toward_zero";
      for (const DType dtype : {DType::none, DType::f32}) {
        spec.*flag->dtype = dtype;
        EXPECT_TRUE(is_idle(*flag, spec)) << field;
      }
      spec.*flag->dtype = of_inputs ? DType::tf32 : DType::bf16;
      EXPECT_FALSE(is_idle(*flag, spec)) << field;
      EXPECT_THAT(idle_sentence(*flag), testing::StartsWith(std::string(field) + " changes"));
    }
  });
}

TEST(DescribeTest, NamesOnlyDifferences) {
  RoundingSpec spec = strict_bf16;
  EXPECT_EQ(describe(spec, problem_of(DType::bf16)), "strict");
  spec.denominator_from_rounded_p = true;
  spec.pv_accumulator = fma_accumulator;
  EXPECT_EQ(describe(spec, problem_of(DType::bf16)),
            "denominator_from_rounded_p=true pv_accumulator=fp32/nearest/24/1");
}

TEST(SpecTextTest, Canonical) {
  EXPECT_EQ(spec_text(strict_bf16),
            "p_dtype=bf16 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false "
            "p_stochastic=false "
            "denominator_from_rounded_p=false s_rounded=none s_rounded_twice=false "
            "s_rounded_before_bias=false s_rounded_before_softcap=false "
            "q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 "
            "o_between_tiles=none ring_update=false "
            "qk_accumulator=fp32/toward_zero/24/8 pv_accumulator=fp32/toward_zero/24/8 "
            "exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 "
            "product_rel_error=0 skipped_below=0 "
            "kv_dequantized_to=none inputs_toward_zero=false "
            "out_dtype=bf16 out_toward_zero=false out_stochastic=false lse_dtype=none "
            "lse_base=e lse_includes_sink=true lse_without_row_bias=false");
}

TEST(SpecTextTest, OlderTextsLackLaterFields) {
  const auto spec = parse_spec_text(
      "p_dtype=fp16 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false "
      "denominator_from_rounded_p=false s_rounded=fp16 s_rounded_twice=false q_prescaled=none "
      "q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none "
      "qk_accumulator=fp32/toward_zero/24/8 pv_accumulator=fp32/toward_zero/24/8 "
      "exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none "
      "out_dtype=fp16 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true");
  ASSERT_TRUE(spec.has_value());
  RoundingSpec expected = strict_fp16;
  expected.s_rounded = DType::f16;
  EXPECT_EQ(*spec, expected);
}

TEST(SpecTextTest, RoundTrip) {
  RoundingSpec spec = strict_fp16;
  spec.p_dtype = DType::e4m3;
  spec.p_prescale = 256;
  spec.denominator_from_rounded_p = true;
  spec.s_rounded = DType::bf16;
  spec.q_prescaled = DType::f16;
  spec.split_partial_dtype = DType::f16;
  spec.qk_accumulator = {DType::f32, true, 13, 32};
  spec.pv_accumulator = {DType::f16, false, 10, 1};
  spec.exp2_rel_error = 9.1e-5;
  spec.tanh_rel_error = 0x1p-11;
  spec.kv_dequantized_to = DType::bf16;
  spec.out_dtype = DType::bf16;
  spec.lse_base = 2;
  spec.lse_includes_sink = false;
  spec.p_normalized = spec.p_toward_zero = spec.s_rounded_twice = true;
  spec.q_prescaled_without_log2e = spec.out_toward_zero = true;
  spec.p_stochastic = spec.out_stochastic = spec.ring_update = spec.inputs_toward_zero = true;
  spec.s_rounded_before_bias = spec.s_rounded_before_softcap = spec.lse_without_row_bias = true;
  spec.product_rel_error = 0x1p-15, spec.skipped_below = 1e-4;
  spec.p_max = MaximumOfP::ceil2;
  spec.o_between_tiles = DType::f16;
  spec.lse_dtype = DType::bf16;
  spec.reciprocal_rel_error = 1e-3;
  for (const RoundingSpec& s : {spec, strict_fp16, strict_fp32}) {
    const auto back = parse_spec_text(spec_text(s));
    ASSERT_TRUE(back.has_value()) << to_string(back.error());
    EXPECT_EQ(*back, s);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(SpecTextTest, BadTexts) {
  const std::string good = spec_text(strict_bf16);
  for (const std::string& bad :
       {std::string(), good + " more=1", replaced(good, "lse_base=e", "lse_base=10"),
        replaced(good, "p_prescale=1", "p_prescale=nan"), replaced(good, "p_prescale", "prescale"),
        replaced(good, "toward_zero/24/8", "down/24/8"), replaced(good, "24/8", "24"),
        replaced(good, "24/8", "24/-8"), replaced(good, "=bf16", ""),
        replaced(good, " q_prescaled=none", ""), std::string("p_dtype=bf16")}) {
    EXPECT_FALSE(parse_spec_text(bad).has_value()) << bad;
  }
  const auto two_wrong = parse_spec_text(
      replaced(replaced(good, "lse_base=e", "lse_base=x"), "s_rounded=none", "s_rounded=maybe"));
  ASSERT_FALSE(two_wrong.has_value());
  EXPECT_EQ(two_wrong.error().size(), 2u);
}

}  // namespace
}  // namespace plumbline
