// Tests that each fault that needs no limit is found where planted, and none in the exact output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/compare/faults.h"
#include "harness/compare/statistics.h"
#include "harness/problem/side_inputs.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

using test::FilledProblem;
using test::small_problem;
using testing::HasSubstr;

Faults faults_of(const FilledProblem& filled, PaddingPolicy policy = PaddingPolicy::zeros) {
  const auto range = value_range(filled.geometry, filled.v.data());
  return find_faults(
      {&filled.geometry, filled.outputs(), &range, &filled.spec, policy, &filled.reference});
}

Problem padded() {
  auto problem = small_problem();
  problem.seq_q = problem.seq_kv = 12;
  problem.lengths = Lengths::third;
  problem.batch = 4;
  return problem;
}

TEST(Faults, NoneInExactOutput) {
  EXPECT_EQ(faults_of(FilledProblem(small_problem())).total(), 0);
  EXPECT_EQ(faults_of(FilledProblem(padded())).total(), 0);
}

TEST(Faults, UnwrittenElement) {
  FilledProblem filled(small_problem());
  const auto offset = static_cast<std::size_t>(filled.geometry.out_offset(1, 2, 3) + 4) * 2;
  filled.out[offset] = filled.out[offset + 1] = std::byte{0xFF};
  const auto faults = faults_of(filled);
  EXPECT_EQ(faults.unwritten, 1);
  EXPECT_EQ(faults.detail, "unwritten element at sample 1, head 3, row 2, column 4");
}

// The NaN of x86, negative, is 0xFF in e4m3, like an unwritten byte.
TEST(Faults, E4m3NanIsAmbiguous) {
  auto problem = small_problem();
  problem.out_dtype = DType::e4m3;
  FilledProblem filled(problem);
  filled.set({0, 1, 2}, 3, -std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(faults_of(filled).detail,
            "NaN or unwritten element at sample 0, head 1, row 2, column 3");
  EXPECT_EQ(faults_of(filled).total(), 1);
}

TEST(Faults, NanAndInfinity) {
  FilledProblem filled(small_problem());
  filled.set({0, 1, 2}, 3, std::numeric_limits<double>::quiet_NaN());
  filled.set({0, 2, 2}, 3, std::numeric_limits<double>::infinity());
  filled.set_lse({1, 0, 0}, std::numeric_limits<double>::quiet_NaN());
  const auto faults = faults_of(filled);
  EXPECT_EQ(faults.nan, 2);
  EXPECT_EQ(faults.inf, 1);
}

TEST(Faults, ValueOutsideRangeOfV) {
  FilledProblem filled(small_problem());
  filled.set({0, 0, 0}, 0, 50);
  const auto faults = faults_of(filled);
  EXPECT_EQ(faults.out_of_range, 1);
  EXPECT_THAT(faults.detail, HasSubstr("50 outside the range"));
}

TEST(Faults, NoneInExactOutputWithFeatures) {
  auto sinks = small_problem();  // pulls o towards 0, away from all of V
  sinks.sinks = Sinks::large;
  sinks.v_law = VLaw::large_mean;
  EXPECT_EQ(faults_of(FilledProblem(sinks)).total(), 0);
  auto fp8 = small_problem();
  fp8.kv_dtype = DType::e4m3;
  fp8.kv_scales = KvScales::batch_head;
  fp8.v_law = VLaw::large_mean;
  EXPECT_EQ(faults_of(FilledProblem(fp8)).total(), 0);
  auto custom = small_problem();
  custom.mask = Mask::custom;
  custom.seq_q = 20;
  EXPECT_EQ(faults_of(FilledProblem(custom)).total(), 0);
}

// Returns a problem with V = 1e-5 in fp16 and an fp32 output.
FilledProblem with_small_v(const Problem& of) {
  Problem problem = of;
  problem.out_dtype = DType::f32;
  problem.v_law = VLaw::constant;
  FilledProblem filled(problem);
  std::vector<float> v(filled.v.size() / size_in_bytes(problem.kv()), 1e-5F);
  if (problem.has_fp8_kv()) std::ranges::fill(v, 0x1p-9F);
  encode(problem.kv(), v, filled.v.data());
  filled.reference = compute_reference(filled.geometry, filled.inputs(), filled.spec,
                                       select_rows(filled.geometry, 1e12));
  filled.write_exact();
  return filled;
}

// Returns 1 if an output that is `low` too low is out of range.
std::int64_t out_of_range(FilledProblem& filled, double low) {
  const RowId row{0, 0, 0};
  filled.set(row, 0, filled.expected(0, 0) - low);
  return faults_of(filled).out_of_range;
}

// One key has P = 1, and 200 keys have P = 0.0028. Each product is 0.47 of fp16's smallest number
// and is lost beside the sum, so the output is 36 % too low. Sums may lose half of fp16's smallest
// number per key.
TEST(Faults, SumsInFp16MayUnderflow) {
  Problem problem = small_problem();
  problem.batch = problem.seq_q = 1, problem.seq_kv = 201;
  FilledProblem filled = with_small_v(problem);
  filled.spec.pv_accumulator = {DType::f16, false, 10, 16};
  const double v = filled.expected(0, 0), lost = 201 * 0x1p-25,
               relative = (201 + 16) * 0x1p-10 * v + 2 * 0x1p-11 * v + 201 * 0x1p-25 * v;
  ASSERT_GT(0.36 * v, relative) << "the relative slack is enough";
  EXPECT_EQ(out_of_range(filled, 0.36 * v), 0);
  EXPECT_EQ(out_of_range(filled, relative + 0.99 * lost), 0);
  EXPECT_EQ(out_of_range(filled, relative + 1.01 * lost), 1);
  filled.spec.p_prescale = 4;
  EXPECT_EQ(out_of_range(filled, relative + 0.24 * lost), 0);
  EXPECT_EQ(out_of_range(filled, relative + 0.26 * lost), 1);
  filled.spec.p_prescale = 1;
  filled.spec.pv_accumulator = tensor_core_accumulator;
  EXPECT_EQ(out_of_range(filled, 0.36 * v), 1);
}

// The scale of V multiplies the sums, and with them what underflowed.
TEST(Faults, UnderflowHasScaleOfSums) {
  Problem problem = small_problem();
  problem.batch = problem.seq_q = 1, problem.seq_kv = 201;
  problem.kv_dtype = DType::e4m3;
  FilledProblem filled = with_small_v(problem);
  filled.geometry.side.v_scale.assign(2, 0x1p-6F);
  filled.reference = compute_reference(filled.geometry, filled.inputs(), filled.spec,
                                       select_rows(filled.geometry, 1e12));
  filled.write_exact();
  filled.spec.pv_accumulator = {DType::f16, false, 10, 16};
  const double v = filled.expected(0, 0), lost = 201 * 0x1p-25 * 0x1p-6,
               relative = (201 + 16) * 0x1p-10 * v + 2 * 0x1p-11 * v + 201 * 0x1p-25 * v;
  ASSERT_NEAR(v, 0x1p-15, 1e-9);
  EXPECT_EQ(out_of_range(filled, relative + 0.9 * lost), 0);
  EXPECT_EQ(out_of_range(filled, relative + 1.1 * lost), 1);
}

// Truncation, or a random rounding, may change P by a step near zero, 2^-9 in e4m3.
TEST(Faults, RandomPMayMoveByStep) {
  Problem problem = small_problem();
  problem.batch = problem.seq_q = 1;
  FilledProblem filled = with_small_v(problem);
  filled.spec.p_dtype = DType::e4m3;
  const double v = filled.expected(0, 0), half_steps = 20 * 0x1p-10 * v,
               relative = 2 * 0x1p-4 * v + 2 * 0x1p-24 * v + (20 + 16) * 0x1p-22 * v;
  EXPECT_EQ(out_of_range(filled, relative + 0.99 * half_steps), 0);
  EXPECT_EQ(out_of_range(filled, relative + 1.1 * half_steps), 1);
  filled.spec.p_stochastic = true;
  EXPECT_EQ(out_of_range(filled, relative + 1.99 * half_steps), 0);
  EXPECT_EQ(out_of_range(filled, relative + 2.1 * half_steps), 1);
}

TEST(Faults, RangeIncludesScaleOfV) {
  auto problem = small_problem();
  problem.kv_dtype = DType::e4m3;
  problem.v_law = VLaw::large_mean;
  FilledProblem filled(problem);
  // as if V had no scale
  filled.set({0, 0, 0}, 0, filled.expected(0, 0) / side_inputs(problem).v_scale[0]);
  EXPECT_EQ(faults_of(filled).out_of_range, 1);
}

// O / out_scale exceeds 448 in many places, and a kernel stores 448 there.
TEST(Faults, SaturatedOutputIsLegal) {
  auto problem = small_problem();
  problem.out_dtype = DType::e4m3;
  problem.v_law = VLaw::large_mean;
  FilledProblem filled(problem);
  filled.geometry.side.out_scale = {1e-3F};
  filled.reference = compute_reference(filled.geometry, filled.inputs(), filled.spec,
                                       select_rows(filled.geometry, 1e12));
  filled.write_exact();
  EXPECT_GT(std::ranges::count_if(filled.reference.o, [](double o) { return std::abs(o) == 448; }),
            100);
  EXPECT_EQ(faults_of(filled).total(), 0) << faults_of(filled).detail;
  const auto statistics = compare(filled.geometry, filled.outputs(), filled.reference).statistics;
  EXPECT_LT(statistics.peak, 6);
  filled.set({0, 0, 0}, 0, -448);
  EXPECT_EQ(faults_of(filled).out_of_range, 1);
}

TEST(Faults, LseOfEmptyRowIsSink) {
  auto problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 10;
  problem.seq_kv = 4;
  problem.sinks = Sinks::normal;
  FilledProblem filled(problem);
  EXPECT_EQ(faults_of(filled).total(), 0);
  filled.set_lse({0, 0, 1}, -std::numeric_limits<double>::infinity());
  filled.set_lse({0, 1, 1}, side_inputs(problem).sinks[1] + 1e-4);
  filled.set({0, 2, 1}, 3, 1e-3);
  EXPECT_EQ(faults_of(filled).empty_rows, 3);
  filled.spec.lse_dtype = DType::bf16;
  filled.set_lse({0, 0, 1}, round_to(side_inputs(problem).sinks[0], DType::bf16));
  filled.set_lse({0, 1, 1}, round_to(side_inputs(problem).sinks[1], DType::bf16));
  EXPECT_EQ(faults_of(filled).empty_rows, 1) << "a sink in bf16 is one";
  filled.spec.lse_dtype = DType::none;
  EXPECT_EQ(faults_of(filled).empty_rows, 3) << "and is none in fp32";
  filled.set_lse({0, 0, 1}, -std::numeric_limits<double>::infinity());
  filled.spec.lse_includes_sink = false;
  EXPECT_EQ(faults_of(filled).empty_rows, 2 * 4 * 6);  // all but the one at -inf, plus the element
}

TEST(Faults, PaddedRowsFollowPolicy) {
  FilledProblem filled(padded());
  std::int64_t sample = 0, row = 0;
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t i = 0; i < 12; ++i) {
      if (!filled.geometry.padded_row_is_valid(b, i)) sample = b, row = i;
    }
  }
  const auto offset =
      static_cast<std::size_t>(filled.geometry.padded_out_offset(sample, row, 1)) * 2;
  ASSERT_FALSE(filled.geometry.padded_row_is_valid(sample, row));
  const float something = 0.01F;
  encode(DType::f16, {&something, 1}, filled.out.data() + offset);
  EXPECT_EQ(faults_of(filled, PaddingPolicy::zeros).padded_rows, 1);
  EXPECT_EQ(faults_of(filled, PaddingPolicy::attended).padded_rows, 0);
  EXPECT_GT(faults_of(filled, PaddingPolicy::untouched).padded_rows, 1);
  const float far_away = 300.0F;
  encode(DType::f16, {&far_away, 1}, filled.out.data() + offset);
  EXPECT_EQ(faults_of(filled, PaddingPolicy::attended).padded_rows, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  encode(DType::f16, {&nan, 1}, filled.out.data() + offset);
  EXPECT_EQ(faults_of(filled, PaddingPolicy::anything).total(), 0);
}

// plumbline_provider.h: the LSE of a padded row may hold anything.
TEST(Faults, IgnoresLseOfPaddedRows) {
  FilledProblem filled(padded());
  const Geometry& g = filled.geometry;
  constexpr float anything[] = {std::numeric_limits<float>::quiet_NaN(), 1e30F,
                                -std::numeric_limits<float>::infinity()};
  int rows = 0;
  for (std::int64_t b = 0; b < 4; ++b) {
    for (std::int64_t i = 0; i < 12; ++i) {
      if (g.padded_row_is_valid(b, i)) continue;
      // out and lse have the same rows, head_dim_vo and one element wide
      const std::int64_t element = g.padded_out_offset(b, i, 1) / g.problem().head_dim_vo;
      const float value = anything[rows++ % 3];
      std::memcpy(filled.lse.data() + static_cast<std::size_t>(element) * sizeof value, &value,
                  sizeof value);
    }
  }
  ASSERT_GT(rows, 3);
  for (const PaddingPolicy policy : {PaddingPolicy::zeros, PaddingPolicy::attended})
    EXPECT_EQ(faults_of(filled, policy).total(), 0);
}

TEST(Faults, RowsWithoutKeysMustBeZero) {
  auto problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 10;
  problem.seq_kv = 4;
  FilledProblem filled(problem);
  ASSERT_EQ(filled.geometry.visible_keys(0, 0).size(), 0);
  EXPECT_EQ(faults_of(filled).total(), 0);
  filled.set({0, 0, 0}, 0, 1e-3);
  filled.set_lse({0, 0, 1}, -1e30);
  EXPECT_EQ(faults_of(filled).empty_rows, 2);
}

TEST(Faults, ExactInputsNeedExactOutput) {
  auto problem = small_problem();
  problem.law = Law::exact;
  problem.v_law = VLaw::grid;
  problem.seq_kv = 16;
  FilledProblem filled(problem);
  EXPECT_EQ(faults_of(filled).total(), 0);
  const double expected = filled.expected(0, 0);
  filled.set(filled.reference.selection.rows[0], 0, expected + ulp(expected, DType::f16));
  EXPECT_EQ(faults_of(filled).inexact, 1);
  for (const MaximumOfP maximum : all<MaximumOfP>()) {
    filled.spec.p_max = maximum;
    const bool largest_p_is_one = maximum == MaximumOfP::running || maximum == MaximumOfP::one;
    EXPECT_EQ(faults_of(filled).inexact, largest_p_is_one ? 1 : 0) << name(maximum);
  }
}

// A kernel may divide the partial sums of any split, and weighs the parts by rounded LSEs. Outputs
// in fp32 show the error.
TEST(Faults, SplitsMayRoundExactOutput) {
  auto problem = small_problem();
  problem.law = Law::exact;
  problem.v_law = VLaw::grid;
  problem.seq_kv = 16;
  problem.out_dtype = DType::f32;
  FilledProblem filled(problem);
  EXPECT_EQ(faults_of(filled).inexact, 0);
  const RowId row = filled.reference.selection.rows[0];
  const auto column = static_cast<std::size_t>(
      (row.sample * problem.heads_kv + row.head / problem.group()) * problem.head_dim_vo);
  const ValueRange range = value_range(filled.geometry, filled.v.data());
  const double largest = std::max(std::abs(range.lowest[column]), std::abs(range.highest[column])),
               error = 0x1p-24 * (8 + 3 * std::abs(filled.reference.lse[0])) * largest,
               expected = filled.expected(0, 0), unit = ulp(std::abs(expected) + error, DType::f32);
  ASSERT_GT(error, 4 * unit);
  for (const double sign : {-1.0, 1.0}) {
    filled.set(row, 0, expected + sign * error);
    EXPECT_EQ(faults_of(filled).inexact, 0) << sign;
    filled.set(row, 0, expected + sign * (error + 2 * unit));
    EXPECT_EQ(faults_of(filled).inexact, 1) << sign;
  }
}

TEST(Faults, LooserSpecExcusesInexactOutput) {
  auto problem = small_problem();
  problem.law = Law::exact;
  problem.v_law = VLaw::grid;
  problem.seq_kv = 16;
  FilledProblem filled(problem);
  const double expected = filled.expected(0, 0);
  filled.set(filled.reference.selection.rows[0], 0, expected + ulp(expected, DType::f16));
  ASSERT_EQ(faults_of(filled).inexact, 1);
  const std::pair<const char*, void (*)(RoundingSpec&)> changes[] = {
      {"splits", [](RoundingSpec& s) { s.split_partial_dtype = DType::f16; }},
      {"tiles", [](RoundingSpec& s) { s.o_between_tiles = DType::f16; }},
      {"reciprocal", [](RoundingSpec& s) { s.reciprocal_rel_error = 1e-6; }},
      {"products", [](RoundingSpec& s) { s.product_rel_error = 0x1p-15; }},
      {"skipped keys", [](RoundingSpec& s) { s.skipped_below = 1e-4; }},
      {"P of 1 in fp16 times 2049", [](RoundingSpec& s) { s.p_prescale = 2049; }},
      {"random output", [](RoundingSpec& s) { s.out_stochastic = true; }},
  };
  for (const auto& [what, change] : changes) {
    filled.spec = strict_spec(problem);
    change(filled.spec);
    EXPECT_EQ(faults_of(filled).inexact, 0) << what;
  }
}

}  // namespace
}  // namespace plumbline
