// Tests that rounding models are ordered from the tightest, have sources, and are found by any
// name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/diagnose/ladder.h"
#include "harness/problem/contradictory_flags.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

Problem problem_of(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  return problem;
}

TEST(Ladder, ModelsAreDistinctNamedAndSourced) {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::e4m3, DType::e5m2})
    problems.push_back(problem_of(dtype));
  problems.push_back(problem_of(DType::bf16));
  problems.back().merge = Merge::natural, problems.back().head_dim_qk = 1;
  problems.push_back(problem_of(DType::bf16));
  problems.back().kv_dtype = DType::e4m3;
  for (const Problem& problem : problems) {
    if (problem.dtype != DType::f32) {
      EXPECT_TRUE(find_rung("strict", problem)) << problem_id(problem);
    }
    std::set<std::string> specs, names;
    for (const Rung& rung : ladder(problem)) {
      EXPECT_TRUE(specs.insert(spec_text(rung.spec)).second) << rung.name;
      EXPECT_TRUE(names.insert(rung.name).second) << rung.name;
      EXPECT_FALSE(rung.rounds.empty()) << rung.name;
      EXPECT_FALSE(rung.source.empty()) << rung.name;
      const auto found = find_rung(rung.name, problem);
      ASSERT_TRUE(found) << rung.name;
      EXPECT_EQ(found->spec, rung.spec) << rung.name;
    }
  }
}

TEST(Ladder, BeginsWithTightestModel) {
  const auto rungs = ladder(problem_of(DType::bf16));
  for (const Rung& rung : rungs)
    EXPECT_TRUE(looser_fields(rungs.front().spec, rung.spec).empty()) << rung.name;
}

TEST(Ladder, FlashAttention2IsTheStrictSpec) {
  const Problem problem = problem_of(DType::f16);
  EXPECT_EQ(find_rung("FlashAttention-2", problem)->spec, strict_spec(problem));
}

TEST(Ladder, FindsAnySpellingOfName) {
  const Problem problem = problem_of(DType::bf16);
  for (const char* text : {"flashattention2", "Flash Attention 2", "FLASHATTENTION-2", "fa2",
                           "FlashAttention-3", "strict"}) {
    const auto found = find_rung(text, problem);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->name, "FlashAttention-2") << text;
  }
  EXPECT_EQ(find_rung("eager", problem)->name, "PyTorch math");
}

bool permits(const Rung& rung, const Rung& other) {
  return looser_fields(other.spec, rung.spec).empty();
}

TEST(Ladder, Fp32InputsAllowTensorCores) {
  const auto rungs = ladder(problem_of(DType::f32));
  std::vector<std::string> names;
  for (const Rung& rung : rungs) {
    names.push_back(rung.name);
    EXPECT_TRUE(permits(rung, rungs[0])) << rung.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("fp32", "bf16x3", "TF32", "TF32 truncated"));
  EXPECT_EQ(rungs[1].spec.product_rel_error, 0x1p-15);
  EXPECT_EQ(inputs_rounded_to(rungs[2].spec), DType::tf32);
  EXPECT_EQ(rungs[2].spec.p_dtype, DType::tf32);
  EXPECT_TRUE(rungs[3].spec.inputs_toward_zero && rungs[3].spec.p_toward_zero);
  EXPECT_TRUE(permits(rungs[3], rungs[2]) && !permits(rungs[2], rungs[3]));
  EXPECT_EQ(find_rung("flashinfer-decode", problem_of(DType::f32))->name, "fp32");
  EXPECT_EQ(find_rung("tf32_truncated", problem_of(DType::f32))->name, "TF32 truncated");
}

// A rung for P in fp32 would be redundant, one for the denominator is not.
TEST(Ladder, WidenedModelsCoverOtherP) {
  for (const DType q_dtype : {DType::bf16, DType::e4m3}) {
    Problem problem = problem_of(q_dtype);
    problem.kv_dtype = DType::e4m3;
    const Rung widened = find_rung("widened", problem).value(),
               twin = find_rung("widened, rounded denominator", problem).value();
    EXPECT_TRUE(twin.spec.denominator_from_rounded_p) << name(q_dtype);
    EXPECT_TRUE(permits(twin, widened) && !permits(widened, twin)) << name(q_dtype);
    Rung p_in_fp32 = widened;
    p_in_fp32.spec.p_dtype = DType::f32;
    p_in_fp32.spec.qk_accumulator = p_in_fp32.spec.pv_accumulator = fma_accumulator;
    EXPECT_TRUE(permits(widened, p_in_fp32)) << name(q_dtype);
  }
}

TEST(Ladder, FieldsOverrideStrictSpec) {
  const Problem problem = problem_of(DType::bf16);
  const auto rung = find_rung("s_rounded=input  denominator_from_rounded_p=true", problem);
  ASSERT_TRUE(rung);
  RoundingSpec expected = strict_spec(problem);
  expected.s_rounded = DType::bf16;
  expected.denominator_from_rounded_p = true;
  EXPECT_EQ(rung->spec, expected);
  EXPECT_EQ(rung->rounds, "P to bf16, the denominator from the rounded P, S to bf16");
  EXPECT_THAT(rung->source, HasSubstr("s_rounded=bf16"));
}

TEST(Ladder, AcceptsFullSpecText) {
  const Problem problem = problem_of(DType::f16);
  RoundingSpec spec = strict_spec(problem);
  spec.exp2_rel_error = 1e-4;
  const auto rung = find_rung(spec_text(spec), problem);
  ASSERT_TRUE(rung) << to_string(rung.error());
  EXPECT_EQ(rung->spec, spec);
}

TEST(Ladder, IdleFlagsAreRefused) {
  const Problem fp32 = problem_of(DType::f32);
  for (const FlagOfRounding& flag : flags_of_roundings) {
    const std::string stated = std::string(flag.name) + "=true";
    const auto rung = find_rung(stated, fp32);
    ASSERT_FALSE(rung) << stated;
    EXPECT_THAT(to_string(rung.error()), HasSubstr(idle_sentence(flag)));
    RoundingSpec spec = strict_spec(fp32);
    spec.*flag.flag = true;
    EXPECT_TRUE(find_rung(spec_text(spec), fp32)) << "a run wrote this text into a dump";
  }
  EXPECT_TRUE(find_rung("p_stochastic=true", problem_of(DType::bf16)));
  EXPECT_TRUE(find_rung("inputs_toward_zero=true kv_dequantized_to=tf32", fp32));
}

TEST(Ladder, UnknownSpecErrorHasRemedy) {
  const auto name = find_rung("FlashAttention-9", problem_of(DType::bf16));
  ASSERT_FALSE(name);
  EXPECT_THAT(to_string(name.error()), HasSubstr("FlashAttention-"));
  const auto fields = find_rung("p_dtype=bf17 no_such_field=1", problem_of(DType::bf16));
  ASSERT_FALSE(fields);
  EXPECT_EQ(fields.error().size(), 2U);
}

}  // namespace
}  // namespace plumbline
