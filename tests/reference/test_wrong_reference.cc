// The quad-precision check must be able to fail: each wrong answer to the question lies far outside its limits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/reference/filled_problem.h"
#include "tests/reference/quad_attention.h"

namespace plumbline {
namespace {

Problem question() {
  Problem problem;
  problem.dtype = DType::f16;
  problem.heads_q = 2;
  problem.heads_kv = 1;
  problem.seq_q = 12;
  problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

struct Difference {
  double o = 0, lse = 0, sigma = 0;
};

// The reference's answer for `asked`, the quad version's for `answered`, on the same stored inputs (both have one layout).
Difference difference(const Problem& asked, const RoundingSpec& asked_spec, const Problem& answered, const RoundingSpec& answered_spec) {
  const FilledProblem filled(asked);
  const Geometry other(answered);
  const Reference reference = compute_reference(filled.geometry, filled.view(), asked_spec, filled.all_rows());
  Difference largest;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    const QuadRow row =
        quad_attention(other, {filled.q.data(), filled.k.data(), filled.v.data()}, answered_spec, id.sample, id.head, id.row);
    largest.lse = std::max(largest.lse, std::abs(reference.lse[r] - row.lse));
    for (std::size_t j = 0; j < row.o.size(); ++j) {
      const std::size_t at = r * row.o.size() + j;
      largest.o = std::max(largest.o, std::abs(reference.o[at] - row.o[j]));
      largest.sigma = std::max(largest.sigma, std::abs(reference.sigma[at] / row.sigma[j] - 1));
    }
  }
  return largest;
}

Difference of_problem(const std::function<void(Problem&)>& change) {
  Problem wrong = question();
  change(wrong);
  const RoundingSpec spec = strict_spec(question());
  return difference(question(), spec, wrong, spec);
}

Difference of_spec(const std::function<void(RoundingSpec&)>& change) {
  RoundingSpec wrong = strict_spec(question());
  change(wrong);
  return difference(question(), strict_spec(question()), question(), wrong);
}

TEST(WrongReference, RightAnswerPasses) {
  const Difference right = of_problem([](Problem&) {});
  EXPECT_LE(right.o, 1e-13);
  EXPECT_LE(right.lse, 1e-13);
  EXPECT_LE(right.sigma, 1e-4);
}

TEST(WrongReference, OtherMaskIsCaught) {
  EXPECT_GT(of_problem([](Problem& p) { p.mask = Mask::none; }).o, 1e-2);
  EXPECT_GT(of_problem([](Problem& p) { p.mask = Mask::causal_top_left; }).lse, 1e-2);
  EXPECT_GT(of_problem([](Problem& p) { p.window_left = 10; }).o, 1e-3);
}

TEST(WrongReference, OtherScaleIsCaught) {
  const double scale = question().softmax_scale();
  EXPECT_GT(of_problem([&](Problem& p) { p.scale = scale * (1 + 1e-9); }).lse, 1e-11);
}

TEST(WrongReference, OtherSpecChangesSigma) {
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.denominator_from_rounded_p = true; }).sigma, 1e-2);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.p_dtype = DType::bf16; }).sigma, 0.5);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.split_partial_dtype = DType::f16; }).sigma, 1e-2);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.s_rounded = DType::f16; }).sigma, 1e-2);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.q_prescaled = DType::f16; }).o, 1e-6);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.exp2_rel_error = 9e-4; }).sigma, 1e-2);
  EXPECT_GT(of_spec([](RoundingSpec& s) { s.out_dtype = DType::f32; }).sigma, 1e-2);
}

}  // namespace
}  // namespace plumbline
