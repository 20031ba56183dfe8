// Tests when a looser rounding model is named as the cause.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/diagnose/causes.h"
#include "harness/diagnose/ladder.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/diagnose/other_roundings.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;

// Logits whose rounding to bf16 moves outputs more than that of P, and less than sums of Q K^T in
// fp16 would.
Problem problem_of_rounded_logits() {
  Problem problem = small_problem();
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.seq_q = 24;
  problem.seq_kv = 48;
  problem.head_dim_qk = 512;
  problem.scale = 0.0625;
  return problem;
}

// Adds errors of `sigmas` times the sigmas of `of`, with random signs, to outputs and LSEs.
void add_errors(FilledProblem& filled, const Reference& of, double sigmas) {
  std::mt19937 bits(3);
  const auto error = [&](float sigma) {
    return (bits() % 2 == 0 ? sigmas : -sigmas) * double{sigma};
  };
  const auto columns = static_cast<std::size_t>(of.columns);
  for (std::size_t r = 0; r < of.selection.rows.size(); ++r) {
    const RowId& id = of.selection.rows[r];
    for (std::size_t j = 0; j < columns; ++j)
      filled.set(id, static_cast<std::int64_t>(j),
                 filled.expected(r, j) + error(of.sigma[r * columns + j]));
    filled.set_lse(id, filled.reference.lse[r] + error(of.lse_sigma[r]));
  }
}

TEST(LooserRung, NamedIfEveryHeadErrs) {
  FilledProblem filled(problem_of_rounded_logits());
  const Rung rung = ladder(filled.geometry.problem()).back();
  ASSERT_EQ(rung.name, "PyTorch math");
  add_errors(
      filled,
      compute_reference(filled.geometry, filled.inputs(), rung.spec, filled.reference.selection),
      1);
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  const std::string sentence = "would be explained if S were rounded to bf16, as MLX and eager do";
  const RankedChange change = rank_changes(failing.output);
  EXPECT_TRUE(change.is_rung);
  EXPECT_EQ(change.sentence, sentence);
  const auto sentences = causes(failing.output);
  ASSERT_FALSE(sentences.empty());
  EXPECT_EQ(sentences.front(), sentence);
}

// A rounding model permits the errors of head 1, but the other heads lack errors of the size that
// the model predicts.
TEST(LooserRung, NotNamedForOneHead) {
  FilledProblem filled(problem_of_rounded_logits());
  std::mt19937 bits(3);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const RowId& id = filled.reference.selection.rows[r];
    if (id.head != 1) continue;
    for (std::size_t j = 0; j < 16; ++j) {
      const double error = 4 * double{filled.reference.sigma[r * 16 + j]};
      filled.set(id, static_cast<std::int64_t>(j),
                 filled.expected(r, j) + (bits() % 2 == 0 ? error : -error));
    }
  }
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  ASSERT_TRUE(looser_rung(failing.output));
  EXPECT_THAT(causes(failing.output),
              testing::Each(testing::Not(testing::HasSubstr("would be explained"))));
}

// A rounding that the contract omits is named itself, instead of a kernel that makes it.
TEST(LooserRung, RoundedPIsNamed) {
  Problem problem = small_problem();
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.seq_q = 24;
  problem.seq_kv = 48;
  FilledProblem filled(problem);
  const RoundingSpec strict = filled.spec;
  RoundingSpec in_fp32 = strict;
  in_fp32.p_dtype = DType::f32;
  test::respecify(filled, in_fp32);
  for (const RowId& id : filled.reference.selection.rows) {
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), strict, id);
    const double largest = *std::ranges::max_element(detail.s);
    std::vector<double> o(detail.o.size(), 0.0);
    for (std::size_t n = 0; n < detail.s.size(); ++n) {
      const double p = round_to(std::exp(detail.s[n] - largest), DType::bf16);
      const auto value =
          test::value_of(filled, id, detail.keys.begin + static_cast<std::int64_t>(n));
      for (std::size_t j = 0; j < o.size(); ++j) o[j] += p * value[j];
    }
    for (std::size_t j = 0; j < o.size(); ++j)
      filled.set(id, static_cast<std::int64_t>(j), o[j] / std::exp(detail.lse - largest));
  }
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  const RankedChange change = rank_changes(failing.output);
  EXPECT_EQ(change.sentence, "P is rounded to bf16");
  EXPECT_FALSE(change.is_rung);
}

}  // namespace
}  // namespace plumbline
