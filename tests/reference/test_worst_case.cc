// The worst case covers an approximate reciprocal. In long rows it is the smaller of two bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// Each split divides by its own l, so the errors of 1 / l may add up over the keys.
TEST(WorstCase, CoversErrorOfReciprocal) {
  for (const std::int64_t keys : {33, 1100}) {
    Problem problem;
    problem.dtype = DType::f32;
    problem.seq_kv = keys;
    problem.head_dim_vo = 8;
    const FilledProblem filled(problem);
    RoundingSpec spec = strict_spec(problem);
    spec.reciprocal_rel_error = 3e-4;
    const Reference reference =
        compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
    const RowDetail row = reference_row(filled.geometry, filled.view(), spec, {0, 0, 0});
    for (std::int64_t j = 0; j < problem.head_dim_vo; ++j) {
      double size = 0;  // sum p_k |v_kj|
      for (std::int64_t k = 0; k < keys; ++k) {
        const std::int64_t at = filled.geometry.v_offset(0, k, 0) + j;
        size += row.p[static_cast<std::size_t>(k)] *
                std::abs(decode_at(problem.dtype, filled.v.data(), static_cast<std::size_t>(at)));
      }
      const double bound = reference.bound[static_cast<std::size_t>(j)],
                   of_reciprocal = spec.reciprocal_rel_error * size;
      EXPECT_GE(bound, of_reciprocal);
      if (keys < 1024) {  // all other errors are about 1e-6
        EXPECT_LE(bound, 1.1 * of_reciprocal);
      }
    }
  }
}

// A key below the threshold may lose its weight, in O and in the denominator.
TEST(WorstCase, CoversSkippedKeys) {
  for (const std::int64_t keys : {33, 1100}) {
    Problem problem;
    problem.dtype = DType::f32;
    problem.seq_kv = keys;
    problem.head_dim_vo = 8;
    const FilledProblem filled(problem);
    RoundingSpec spec = strict_spec(problem);
    spec.skipped_below = 0.1;
    const Reference reference =
        compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
    const RowDetail row = reference_row(filled.geometry, filled.view(), spec, {0, 0, 0});
    const double m = *std::max_element(row.s.begin(), row.s.end());
    for (std::int64_t j = 0; j < problem.head_dim_vo; ++j) {
      double lost = 0;
      for (std::int64_t k = 0; k < keys; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (!(std::exp(row.s[at] - m) < spec.skipped_below)) continue;
        const auto of_v = static_cast<std::size_t>(filled.geometry.v_offset(0, k, 0) + j);
        lost += row.p[at] * (decode_at(problem.dtype, filled.v.data(), of_v) -
                             reference.o[static_cast<std::size_t>(j)]);
      }
      EXPECT_NE(lost, 0);
      EXPECT_GE(double{reference.bound[static_cast<std::size_t>(j)]}, std::abs(lost))
          << keys << " keys, column " << j;
    }
  }
}

// The first column of V is 1, the second is 1 for one key and 0 for the others. The relative error
// of a product is u_P, up to 1 %.
TEST(WorstCase, LongRowHasSmallerOfBothBounds) {
  constexpr std::int64_t heavy = 7;
  constexpr double u_p = 0x1p-8;
  Problem problem;
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.seq_kv = 1024;
  problem.head_dim_vo = 2;
  FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.qk_accumulator = spec.pv_accumulator = fma_accumulator;
  set_elements(filled.v, problem.dtype, problem.head_dim_vo, [](std::int64_t key, std::int64_t j) {
    return j == 0 || key == heavy ? 1.0F : 0.0F;
  });
  set_elements(filled.q, problem.dtype, problem.head_dim_qk,
               [](std::int64_t, std::int64_t d) { return d == 0 ? 1.0F : 0.0F; });
  // Returns the bounds if `heavy` has this logit, and all other logits are 0.
  const auto bounds = [&](float logit) {
    const float product = logit / static_cast<float>(problem.softmax_scale());
    set_elements(
        filled.k, problem.dtype, problem.head_dim_qk,
        [=](std::int64_t key, std::int64_t d) { return key == heavy && d == 0 ? product : 0.0F; });
    return compute_reference(filled.geometry, filled.view(), spec, filled.all_rows()).bound;
  };
  const std::vector<float> flat = bounds(0), one_key = bounds(25);
  EXPECT_NEAR(flat[0], u_p, 0.01 * u_p);  // both bounds are equal
  // By 2-norms: u_P sqrt(1024) / 1024. By the largest |v|: u_P
  EXPECT_NEAR(flat[1], u_p / 32, 0.01 * u_p / 32);
  // By the largest |v|: u_P. By 2-norms: u_P sqrt(1024)
  EXPECT_NEAR(one_key[0], u_p, 0.02 * u_p);
}

}  // namespace
}  // namespace plumbline
