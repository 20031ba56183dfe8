// The comparison with quad precision can fail: wrong results are far outside its limits.
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

// Compares the reference's result for `asked` with the quad result for `answered`, on the same
// stored inputs (both have one layout).
Difference difference(const Problem& asked, const RoundingSpec& asked_spec, const Problem& answered,
                      const RoundingSpec& answered_spec) {
  const FilledProblem filled(asked);
  const Geometry other(answered);
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), asked_spec, filled.all_rows());
  Difference largest;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    const QuadRow row = quad_attention(other, {filled.q.data(), filled.k.data(), filled.v.data()},
                                       answered_spec, id.sample, id.head, id.row);
    largest.lse = std::max(largest.lse, std::abs(reference.lse[r] - row.lse));
    for (std::size_t j = 0; j < row.o.size(); ++j) {
      const std::size_t at = r * row.o.size() + j;
      largest.o = std::max(largest.o, std::abs(reference.o[at] - row.o[j]));
      largest.sigma = std::max(largest.sigma, std::abs(reference.sigma[at] / row.sigma[j] - 1));
    }
  }
  return largest;
}

Difference of_problem(const std::function<void(Problem&)>& change,
                      const Problem& asked = question()) {
  Problem wrong = asked;
  change(wrong);
  const RoundingSpec spec = strict_spec(asked);
  return difference(asked, spec, wrong, spec);
}

Problem question_with(const std::function<void(Problem&)>& feature) {
  Problem problem = question();
  feature(problem);
  return problem;
}

Difference of_spec(const std::function<void(RoundingSpec&)>& change) {
  RoundingSpec wrong = strict_spec(question());
  change(wrong);
  return difference(question(), strict_spec(question()), question(), wrong);
}

TEST(WrongReference, CorrectReferencePasses) {
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

TEST(WrongReference, OtherFeaturesAreCaught) {
  EXPECT_GT(of_problem([](Problem& p) { p.softcap = 3; }).o, 1e-3);
  EXPECT_GT(of_problem([](Problem& p) { p.alibi = Alibi::standard; }).o, 1e-3);
  EXPECT_GT(of_problem([](Problem& p) { p.sinks = Sinks::normal; }).o, 1e-2);
  for (const Mask mask : {Mask::prefix_lm, Mask::block_diagonal, Mask::custom}) {
    EXPECT_GT(of_problem([mask](Problem& p) { p.mask = mask, p.seed = 2; }).o, 1e-2) << name(mask);
  }
  const auto slopes = question_with([](Problem& p) { p.alibi = Alibi::standard; });
  EXPECT_GT(of_problem([](Problem& p) { p.alibi = Alibi::random; }, slopes).o, 1e-3);
  const auto fp8 = question_with(
      [](Problem& p) { p.kv_dtype = DType::e4m3, p.kv_scales = KvScales::head, p.batch = 2; });
  EXPECT_GT(of_problem([](Problem& p) { p.kv_scales = KvScales::batch_head; }, fp8).o, 1e-2);
  EXPECT_GT(of_problem([](Problem& p) { p.kv_dtype = DType::e5m2; }, fp8).o, 1e-2);
}

// The logits are the same, but their errors differ.
TEST(WrongReference, MissingSoftcapSlopeIsCaught) {
  const auto fp32 =
      question_with([](Problem& p) { p.dtype = DType::f32, p.law = Law::peaky, p.softcap = 20; });
  RoundingSpec spec = strict_spec(fp32);
  spec.qk_accumulator = tensor_core_accumulator;
  const FilledProblem filled(fp32);
  const RowId id{0, 0, 11};
  const QuadInputs inputs{filled.q.data(), filled.k.data(), filled.v.data()};
  const double capped =
      quad_attention(filled.geometry, inputs, spec, id.sample, id.head, id.row).lse_sigma;
  EXPECT_LE(
      std::abs(
          compute_reference(filled.geometry, filled.view(), spec, {{id}, true, 24}).lse_sigma[0] /
              capped -
          1),
      1e-4);
  // With a cap far above the logits, the slope is 1.
  const Geometry uncapped(question_with(
      [](Problem& p) { p.dtype = DType::f32, p.law = Law::peaky, p.softcap = 2000; }));
  EXPECT_GT(quad_attention(uncapped, inputs, spec, id.sample, id.head, id.row).lse_sigma,
            1.2 * capped);
}

TEST(WrongReference, OtherSpecOfAFeatureIsCaught) {
  const auto other = [](const Problem& asked, const std::function<void(RoundingSpec&)>& change) {
    RoundingSpec wrong = strict_spec(asked);
    change(wrong);
    return difference(asked, strict_spec(asked), asked, wrong);
  };
  const auto sinks = question_with([](Problem& p) { p.sinks = Sinks::normal; });
  EXPECT_GT(other(sinks, [](RoundingSpec& s) { s.lse_includes_sink = false; }).lse, 1e-2);
  const auto fp8 = question_with([](Problem& p) { p.kv_dtype = DType::e4m3; });
  EXPECT_GT(other(fp8, [](RoundingSpec& s) { s.kv_dequantized_to = DType::f16; }).o, 1e-6);
  const auto softcap = question_with([](Problem& p) { p.softcap = 3; });
  EXPECT_GT(other(softcap, [](RoundingSpec& s) { s.tanh_rel_error = 1e-3; }).sigma, 1e-2);
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
