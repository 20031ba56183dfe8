// The shares of an element's sigma sum to one and name the rounding that dominates it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/problem/side_inputs.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

Problem question() {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.heads_q = 2;
  problem.heads_kv = 1;
  problem.seq_q = 20;
  problem.seq_kv = 90;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  return problem;
}

double share(const Explanation& explanation, Rounding rounding) {
  return explanation.share[static_cast<std::size_t>(rounding)];
}

TEST(Explain, SharesSumToReferenceSigma) {
  const FilledProblem filled(question());
  RoundingSpec spec = strict_spec(question());
  spec.split_partial_dtype = DType::bf16;
  spec.exp2_rel_error = 1e-3;
  spec.s_rounded = DType::bf16;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  for (const std::size_t r : {std::size_t{0}, std::size_t{7}, std::size_t{39}}) {
    const Explanation explanation =
        explain(filled.geometry, filled.view(), spec, reference.selection.rows[r], 5);
    const std::size_t at = r * 16 + 5;
    EXPECT_NEAR(explanation.o, reference.o[at], 1e-14);
    EXPECT_NEAR(explanation.sigma, reference.sigma[at], 1e-5 * reference.sigma[at]);
    EXPECT_NEAR(explanation.spre, reference.spre[at], 1e-5 * reference.spre[at]);
    EXPECT_NEAR(std::accumulate(explanation.share.begin(), explanation.share.end(), 0.0), 1, 1e-12);
    for (const double part : explanation.share) EXPECT_GT(part, 0);
  }
}

TEST(Explain, SharesOfEveryFeatureSumToOne) {
  Problem problem = question();
  problem.softcap = 2, problem.alibi = Alibi::standard, problem.sinks = Sinks::normal,
  problem.kv_dtype = DType::e4m3;
  problem.mask = Mask::custom;
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.tanh_rel_error = 1e-3;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  for (const std::size_t r : {std::size_t{0}, std::size_t{7}, std::size_t{38}}) {
    const Explanation explanation =
        explain(filled.geometry, filled.view(), spec, reference.selection.rows[r], 5);
    EXPECT_NEAR(explanation.sigma, reference.sigma[r * 16 + 5], 1e-5 * explanation.sigma);
    EXPECT_NEAR(std::accumulate(explanation.share.begin(), explanation.share.end(), 0.0), 1, 1e-12);
    EXPECT_GT(share(explanation, Rounding::s), 0);
  }
}

// Rows of equal logits share the errors of P, so sigma covers the known error of their output.
TEST(Explain, FlatRowHasSigmaOfReference) {
  Problem problem = question();
  problem.k_scale = 0;
  problem.mask = Mask::causal_bottom_right;
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = DType::f16;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  double largest = 0;
  for (const std::size_t r : {std::size_t{0}, std::size_t{7}, std::size_t{39}}) {
    for (std::size_t j = 0; j < 16; ++j) {
      const Explanation explanation =
          explain(filled.geometry, filled.view(), spec, reference.selection.rows[r],
                  static_cast<std::int64_t>(j));
      EXPECT_NEAR(explanation.sigma, reference.sigma[r * 16 + j], 1e-5 * explanation.sigma);
      EXPECT_NEAR(std::accumulate(explanation.share.begin(), explanation.share.end(), 0.0), 1,
                  1e-12);
      const double usual =
          std::hypot(explanation.spre, ulp(explanation.o, DType::bf16) / std::sqrt(12));
      largest = std::max(largest, explanation.sigma / usual);
    }
  }
  EXPECT_GT(largest, 1.2) << "no error is larger than usual";
}

TEST(Explain, RowDetailWithHiddenKeysAndSink) {
  Problem problem = question();
  problem.mask = Mask::custom, problem.sinks = Sinks::normal;
  const FilledProblem filled(problem);
  const RowId row{0, 1, 4};
  const RowDetail detail = reference_row(filled.geometry, filled.view(), strict_spec(problem), row);
  double sum = 0;
  for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
    const auto n = static_cast<std::size_t>(key - detail.keys.begin);
    EXPECT_EQ(detail.p[n] > 0, filled.geometry.sees(0, 4, key));
    EXPECT_EQ(std::isinf(detail.s[n]), !filled.geometry.sees(0, 4, key));
    sum += detail.p[n];
  }
  EXPECT_NEAR(sum, 1 - std::exp(side_inputs(problem).sinks[1] - detail.lse), 1e-14);
}

// Head 0 sees every other key, head 1 sees all keys.
TEST(Explain, RowHasMaskOfOwnHead) {
  Problem problem = question();
  problem.mask = Mask::custom;
  FilledProblem filled(problem);
  const Geometry& geometry = filled.geometry;
  StatedLayout layout;
  layout.seqlens_q = geometry.seqlens_q, layout.seqlens_kv = geometry.seqlens_kv;
  layout.mask_heads = problem.heads_q;
  for (std::int64_t head = 0; head < problem.heads_q; ++head) {
    for (std::int64_t row = 0; row < problem.seq_q; ++row) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(geometry.mask_words));
      for (std::int64_t key = 0; key < problem.seq_kv; key += 2 - head)
        words[static_cast<std::size_t>(key / 32)] |= std::uint32_t{1} << (key % 32);
      layout.mask_bits.insert(layout.mask_bits.end(), words.begin(), words.end());
    }
  }
  filled.geometry = Geometry(problem, layout);
  const RoundingSpec spec = strict_spec(problem);
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  for (const std::int32_t head : {0, 1}) {
    const RowId row{0, head, 4};
    const RowDetail detail = reference_row(filled.geometry, filled.view(), spec, row);
    const std::size_t first = (static_cast<std::size_t>(head) * 20 + 4) * 16;
    for (std::size_t j = 0; j < 16; ++j) {
      EXPECT_NEAR(detail.o[j], reference.o[first + j], 1e-14) << head;
      const Explanation explanation =
          explain(filled.geometry, filled.view(), spec, row, static_cast<std::int64_t>(j));
      EXPECT_NEAR(explanation.o, reference.o[first + j], 1e-14) << head;
    }
  }
}

TEST(Explain, NamesDominantRounding) {
  Problem fp32_out = question();
  fp32_out.out_dtype = DType::f32;
  const FilledProblem filled(fp32_out);
  const RoundingSpec strict = strict_spec(fp32_out);
  const RowId row{0, 1, 3};
  EXPECT_GT(share(explain(filled.geometry, filled.view(), strict, row, 0), Rounding::p), 0.9);

  RoundingSpec fp32_p = strict;
  fp32_p.p_dtype = DType::f32;
  fp32_p.out_dtype = DType::bf16;
  EXPECT_GT(share(explain(filled.geometry, filled.view(), fp32_p, row, 0), Rounding::output), 0.9);

  RoundingSpec split = fp32_p;
  split.out_dtype = DType::f32;
  split.split_partial_dtype = DType::bf16;
  EXPECT_GT(share(explain(filled.geometry, filled.view(), split, row, 0), Rounding::split_partials),
            0.9);

  RoundingSpec exp2 = fp32_p;
  exp2.out_dtype = DType::f32;
  exp2.exp2_rel_error = 1e-2;
  EXPECT_GT(share(explain(filled.geometry, filled.view(), exp2, row, 0), Rounding::exp2), 0.9);
  EXPECT_EQ(share(explain(filled.geometry, filled.view(), exp2, row, 0), Rounding::s), 0);
}

TEST(Explain, NamesAreDistinct) {
  EXPECT_EQ(name(Rounding::p), "P rounding");
  EXPECT_EQ(name(Rounding::split_partials), "split partials");
  EXPECT_EQ(name(Rounding::output), "output rounding");
}

TEST(Explain, RowDetailMatchesReference) {
  const FilledProblem filled(question());
  const RoundingSpec spec = strict_spec(question());
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  const RowDetail detail = reference_row(filled.geometry, filled.view(), spec, {0, 1, 4});
  ASSERT_EQ(detail.s.size(), 90U);
  EXPECT_NEAR(std::accumulate(detail.p.begin(), detail.p.end(), 0.0), 1, 1e-14);
  EXPECT_NEAR(detail.lse, reference.lse[24], 1e-14);
  EXPECT_NEAR(std::log(detail.p[10]), detail.s[10] - detail.lse, 1e-13);
  for (std::size_t j = 0; j < 16; ++j) EXPECT_NEAR(detail.o[j], reference.o[24 * 16 + j], 1e-14);
}

TEST(Explain, RowWithoutKeys) {
  Problem problem = question();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 100;
  const FilledProblem filled(problem);
  const Explanation explanation =
      explain(filled.geometry, filled.view(), strict_spec(problem), {0, 0, 2}, 1);
  EXPECT_EQ(explanation.sigma, 0);
  const RowDetail detail =
      reference_row(filled.geometry, filled.view(), strict_spec(problem), {0, 0, 2});
  EXPECT_TRUE(detail.p.empty());
  EXPECT_EQ(detail.o, std::vector<double>(16, 0.0));
  EXPECT_EQ(detail.lse, -std::numeric_limits<double>::infinity());
}

TEST(Explain, LseWithoutKeysIsSink) {
  Problem problem = question();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 100;
  problem.sinks = Sinks::normal;
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  const auto lse = [&] {
    return compute_reference(filled.geometry, filled.view(), spec, {{{0, 1, 2}}, true, 200}).lse[0];
  };
  EXPECT_EQ(lse(), side_inputs(problem).sinks[1]);
  EXPECT_EQ(reference_row(filled.geometry, filled.view(), spec, {0, 1, 2}).lse, lse());
  spec.lse_includes_sink = false;
  EXPECT_EQ(lse(), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace plumbline
