// Default limits equal the table in docs/judging.md, cell by cell.
#include "harness/problem/problem.h"
#include "harness/problem/rounding_spec.h"
#include "tests/judge/judgements.h"

namespace plumbline {
namespace {

struct Cell {
  const char* what;
  DType dtype;
  DType out;
  void (*set)(RoundingSpec&);
  struct {
    double peak, beyond_output, rms, lse, suite;
    bool suite_judged;
  } expected;
};
void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.what; }

const Cell cells[] = {
    {"fp16", DType::f16, DType::none, [](RoundingSpec&) {}, {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"bf16", DType::bf16, DType::none, [](RoundingSpec&) {}, {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"bf16 out spelled",
     DType::bf16,
     DType::bf16,
     [](RoundingSpec&) {},
     {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"fp32", DType::f32, DType::none, [](RoundingSpec&) {}, {6.5, 6.5, 1.8, 6, 3.5, false}},
    {"bf16 to fp32",
     DType::bf16,
     DType::f32,
     [](RoundingSpec&) {},
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"bf16 to fp32, P fp32",
     DType::bf16,
     DType::f32,
     [](RoundingSpec& s) { s.p_dtype = DType::f32; },
     {6.5, 6.5, 1.8, 6, 3.5, false}},
    {"bf16, P fp32",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.p_dtype = DType::f32; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"denominator",
     DType::f16,
     DType::none,
     [](RoundingSpec& s) { s.denominator_from_rounded_p = true; },
     {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"denominator to fp32",
     DType::f16,
     DType::f32,
     [](RoundingSpec& s) { s.denominator_from_rounded_p = true; },
     {6.5, 6.5, 1.8, 6, 3.5, false}},
    {"tf32",
     DType::f32,
     DType::none,
     [](RoundingSpec& s) { s.p_dtype = DType::tf32; },
     {6.5, 6.5, 1.8, 6, 3.5, false}},
    {"fp8 to bf16",
     DType::e4m3,
     DType::bf16,
     [](RoundingSpec&) {},
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"S rounded",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.s_rounded = DType::bf16; },
     {8, 8, 2.0, 8, 3.5, false}},
    {"S rounded to fp32 out",
     DType::bf16,
     DType::f32,
     [](RoundingSpec& s) { s.s_rounded = DType::bf16, s.denominator_from_rounded_p = true; },
     {8, 8, 2.0, 8, 3.5, false}},
    {"Q prescaled",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.q_prescaled = DType::bf16; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"split partials",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.split_partial_dtype = DType::bf16; },
     {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"exp2",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.exp2_rel_error = 9e-5; },
     {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"23 fraction bits",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.pv_accumulator.fraction_bits = 23; },
     {6.5, 6.5, 1.35, 6, 3.5, true}},
    {"short QK accumulator",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.qk_accumulator.fraction_bits = 22; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"split products",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.product_rel_error = 0x1p-15; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"skipped tiles",
     DType::bf16,
     DType::none,
     [](RoundingSpec& s) { s.skipped_below = 1e-4; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
    {"fp16 PV accumulator",
     DType::f16,
     DType::none,
     [](RoundingSpec& s) { s.pv_accumulator.dtype = DType::f16; },
     {6.5, 6.5, 1.35, 6, 3.5, false}},
};

class DefaultLimits : public testing::TestWithParam<Cell> {};

TEST_P(DefaultLimits, EqualTable) {
  const Cell& cell = GetParam();
  Problem problem;
  problem.seq_q = 64;
  problem.dtype = cell.dtype;
  problem.out_dtype = cell.out;
  RoundingSpec spec = strict_spec(problem);
  cell.set(spec);
  const Limits limits = default_limits(spec, problem, 10'000);
  EXPECT_EQ(limits.peak, cell.expected.peak);
  EXPECT_EQ(limits.beyond_output, cell.expected.beyond_output);
  EXPECT_EQ(limits.rms, cell.expected.rms);
  EXPECT_EQ(limits.lse, cell.expected.lse);
  EXPECT_EQ(limits.suite, cell.expected.suite);
  EXPECT_EQ(limits.suite_judged, cell.expected.suite_judged);
  EXPECT_EQ(limits.elsewhere, 3 * limits.peak);
}
INSTANTIATE_TEST_SUITE_P(Table, DefaultLimits, testing::ValuesIn(cells));

TEST(DefaultLimits, GrowWithElements) {
  EXPECT_EQ(grown_limit(6.5, 0), 6.5);
  EXPECT_EQ(grown_limit(6.5, 10'000'000), 6.5);
  EXPECT_GT(grown_limit(6.5, 10'000'001), 6.5);
  // Values for which the formula was confirmed.
  EXPECT_NEAR(grown_limit(6.5, 100'000'000), 6.85, 0.005);
  EXPECT_NEAR(grown_limit(6.5, 1'000'000'000), 7.17, 0.005);
  EXPECT_NEAR(grown_limit(6.5, 10'000'000'000), 7.49, 0.005);
  EXPECT_NEAR(grown_limit(6.5, 100'000'000'000), 7.79, 0.005);
}

TEST(DefaultLimits, RmsIsWiderForFewQueryRows) {
  Problem problem;
  const auto rms = [&](std::int64_t batch, std::int64_t seq_q) {
    problem.batch = batch;
    problem.seq_q = seq_q;
    return default_limits(strict_spec(problem), problem, 1000).rms;
  };
  EXPECT_EQ(rms(1, 1), 4 * 1.35);
  EXPECT_EQ(rms(4, 1), 2 * 1.35);
  EXPECT_EQ(rms(2, 8), 1.35);
  EXPECT_EQ(rms(1, 16), 1.35);
  EXPECT_EQ(rms(1, 1000), 1.35);
}

TEST(DefaultLimits, OnlyMaximaOverElementsGrow) {
  const Problem problem;
  const Limits small = default_limits(strict_spec(problem), problem, 10'000'000);
  const Limits large = default_limits(strict_spec(problem), problem, 1'000'000'000);
  EXPECT_EQ(small.peak, 6.5);
  EXPECT_EQ(large.peak, grown_limit(6.5, 1'000'000'000));
  EXPECT_EQ(large.beyond_output, large.peak);
  EXPECT_EQ(large.rms, small.rms);
  EXPECT_EQ(large.lse, small.lse);
}

TEST(DefaultLimits, SinkOrTanhExcludesSuiteScores) {
  Problem problem;
  RoundingSpec spec = strict_spec(problem);
  EXPECT_TRUE(default_limits(spec, problem, 1).suite_judged);
  spec.tanh_rel_error = 1e-3;
  EXPECT_TRUE(default_limits(spec, problem, 1).suite_judged) << "there is no softcap";
  problem.softcap = 30;
  EXPECT_FALSE(default_limits(spec, problem, 1).suite_judged);
  spec.tanh_rel_error = 0;
  EXPECT_TRUE(default_limits(spec, problem, 1).suite_judged);
  problem.sinks = Sinks::normal;
  EXPECT_FALSE(default_limits(spec, problem, 1).suite_judged);
}

TEST(DefaultLimits, NaiveTierGrows) {
  Problem problem;
  RoundingSpec spec = strict_spec(problem);
  spec.s_rounded = DType::bf16;
  EXPECT_EQ(default_limits(spec, problem, 1'000'000'000).peak, grown_limit(8, 1'000'000'000));
}

TEST(TieLaws, HaveEqualKeysOrValues) {
  Problem problem;
  EXPECT_FALSE(excludes_suite_scores(problem));
  for (const Law law : {Law::normal, Law::uniform, Law::llm, Law::peaky, Law::needle}) {
    problem.law = law;
    EXPECT_FALSE(excludes_suite_scores(problem)) << name(law);
  }
  for (const Law law : {Law::near_uniform, Law::sink, Law::exact}) {
    problem.law = law;
    EXPECT_TRUE(excludes_suite_scores(problem)) << name(law);
  }
  problem = Problem{};
  problem.v_law = VLaw::constant;
  EXPECT_TRUE(excludes_suite_scores(problem));
  problem = Problem{};
  problem.k_scale = 0;  // all logits 0
  EXPECT_TRUE(excludes_suite_scores(problem));
}

}  // namespace
}  // namespace plumbline
