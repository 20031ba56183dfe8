// Tests which outputs have a wrong factor or are cut off, and which scale is named.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/error_shape.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::respecify;
using test::small_problem;
using test::write_rows;
using testing::HasSubstr;
using testing::StartsWith;

Problem problem_of_many_rows() {
  Problem problem = small_problem();
  problem.seq_q = 24;
  return problem;
}

// Writes the exact outputs, changed by `change(r, expected)`.
template <class Change>
void write_changed(FilledProblem& filled, const Change& change) {
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::int64_t j = 0; j < filled.reference.columns; ++j)
      filled.set(filled.reference.selection.rows[r], j,
                 change(r, filled.expected(r, static_cast<std::size_t>(j))));
  }
}

void move_lse(FilledProblem& filled, double by) {
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r)
    filled.set_lse(filled.reference.selection.rows[r], filled.reference.lse[r] + by);
}

// Errors of P exceed only the limit of errors beyond the output's rounding. A factor of about 1
// leaves peak and rms within their limits, but so does no factor.
TEST(WrongFactor, FactorOfOneExplainsNothing) {
  Problem problem = problem_of_many_rows();
  problem.dtype = DType::bf16;
  FilledProblem filled(problem);
  RoundingSpec spec = filled.spec;
  spec.p_dtype = DType::f32;
  respecify(filled, spec);
  std::mt19937 bits(5);
  write_changed(filled,
                [&](std::size_t, double o) { return o * (1 + (bits() % 2 == 0 ? 3e-4 : -3e-4)); });
  const FailingProblem failing(filled);
  const ErrorStatistics& statistics = failing.comparison.statistics;
  ASSERT_GT(statistics.beyond_output, failing.limits.beyond_output);
  ASSERT_LE(statistics.peak, failing.limits.peak);
  ASSERT_LE(statistics.rms, failing.limits.rms);
  EXPECT_EQ(wrong_factor(failing.output), "");
}

TEST(WrongFactor, OutputsNeedRightLse) {
  FilledProblem filled(problem_of_many_rows());
  write_changed(filled, [](std::size_t, double o) { return 1.5 * o; });
  EXPECT_THAT(wrong_factor(FailingProblem(filled).output),
              StartsWith("the outputs are 50 % too large: "));
  move_lse(filled, 1);
  EXPECT_EQ(wrong_factor(FailingProblem(filled).output), "");
  move_lse(filled, -std::log(1.5));
  EXPECT_THAT(wrong_factor(FailingProblem(filled).output),
              StartsWith("the softmax denominator is too small, by up to 50 %"));
}

TEST(FactorOfEachRow, ReciprocalInBf16IsNamed) {
  Problem problem = problem_of_many_rows();
  problem.out_dtype = DType::f32;
  FilledProblem filled(problem);
  std::mt19937 bits(5);
  std::vector<double> factors(filled.reference.selection.rows.size());
  for (double& factor : factors) factor = 1 + 0x1p-9 * (static_cast<double>(bits()) * 0x1p-31 - 1);
  write_changed(filled, [&](std::size_t r, double o) { return factors[r] * o; });
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(wrong_factor(failing.output), "");
  const std::string sentence = factor_of_each_row(failing.output);
  EXPECT_THAT(sentence, StartsWith("each row of the output has a factor of its own, up to 0."));
  EXPECT_THAT(sentence, HasSubstr("1/l or a rescale is rounded to 16 bits"));
  move_lse(filled, 1);
  EXPECT_EQ(factor_of_each_row(FailingProblem(filled).output), "") << "the LSE is wrong too";
}

TEST(FactorOfEachRow, OneWrongRowIsNone) {
  FilledProblem filled(problem_of_many_rows());
  write_changed(filled, [](std::size_t r, double o) { return r == 7 ? 1.05 * o : o; });
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(factor_of_each_row(failing.output), "");
}

void cut_off(FilledProblem& filled) {
  write_changed(filled, [&](std::size_t, double o) {
    return truncate_to(o, filled.geometry.problem().out());
  });
}

TEST(Truncation, DeclaredOneIsNoCause) {
  FilledProblem filled(problem_of_many_rows());
  cut_off(filled);
  EXPECT_EQ(truncation(FailingProblem(filled).output),
            "the output is cut off instead of rounded to fp16");
  RoundingSpec spec = filled.spec;
  spec.out_toward_zero = true;
  respecify(filled, spec);
  cut_off(filled);
  EXPECT_EQ(truncation(FailingProblem(filled).output), "");
}

TEST(Truncation, ExplainsNoWrongLse) {
  FilledProblem filled(small_problem());  // limits of few rows are wider
  cut_off(filled);
  EXPECT_FALSE(FailingProblem(filled).fails());
  move_lse(filled, 1);
  const FailingProblem failing(filled);
  ASSERT_TRUE(only_lse_fails(failing.output));
  EXPECT_EQ(truncation(failing.output), "");
}

// Writes the rows of another softmax scale.
void write_scaled(FilledProblem& filled, double factor) {
  Problem problem = filled.geometry.problem();
  problem.scale = factor * problem.softmax_scale();
  write_rows(filled, compute_reference(Geometry(problem, layout_of(filled.geometry, false)),
                                       filled.inputs(), filled.spec, filled.reference.selection));
}

TEST(OtherScale, ScaleOfFp8KeysIsAnotherCause) {
  Problem problem = problem_of_many_rows();
  FilledProblem filled(problem);
  write_scaled(filled, 1.01);
  EXPECT_EQ(other_scale(FailingProblem(filled).output), "the softmax scale is 1 % too large");
  problem.kv_dtype = DType::e4m3;
  FilledProblem with_fp8(problem);
  write_scaled(with_fp8, 448.0 / 240);
  EXPECT_THAT(
      other_scale(FailingProblem(with_fp8).output),
      StartsWith("the softmax scale, or the scale of Q or K, is 1.87 times the stated one"));
}

// A slightly larger scale would explain one element just beyond its limit, but the test of the
// scale is far below its limit.
TEST(OtherScale, WrongElementIsNoScale) {
  Problem problem = small_problem();
  problem.batch = problem.heads_q = problem.heads_kv = problem.seq_q = 1;
  problem.out_dtype = DType::f32;
  FilledProblem filled(problem), larger(problem);
  write_scaled(larger, 1.01);
  const std::vector<double> moved = rows_of(filled.geometry, larger.outputs(), filled.reference);
  std::size_t at = 0;
  const auto slope = [&](std::size_t j) {
    return (moved[j] - filled.expected(0, j)) / double{filled.reference.sigma[j]};
  };
  for (std::size_t j = 0; j < moved.size(); ++j) {
    if (std::abs(slope(j)) > std::abs(slope(at))) at = j;
  }
  const double error = std::copysign(
      1.001 * FailingProblem(filled).limits.peak * double{filled.reference.sigma[at]}, slope(at));
  filled.set(filled.reference.selection.rows[0], static_cast<std::int64_t>(at),
             filled.expected(0, at) + error);
  FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  failing.output.outputs.lse = nullptr;
  EXPECT_EQ(other_scale(failing.output), "");
}

}  // namespace
}  // namespace plumbline
