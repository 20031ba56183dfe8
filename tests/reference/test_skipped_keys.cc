// A kernel that skips all keys below the declared threshold leaves them out of O and of the
// denominator. Its errors are just within the scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/reference/row_rounding.h"
#include "harness/reference/scale_test.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

constexpr double threshold = 0.9, below_threshold = 0.85;

// Returns a problem whose first key has the largest logit, 4, and V = 1. All other keys have
// exp(s - m) = 0.85 and V = -1.
FilledProblem one_heavy_key(std::int64_t rows, std::int64_t keys) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_q = rows, problem.seq_kv = keys;
  problem.head_dim_qk = 4, problem.head_dim_vo = 2;
  FilledProblem filled(problem);
  const auto scale = static_cast<float>(problem.softmax_scale());
  set_elements(filled.q, problem.dtype, problem.head_dim_qk,
               [](std::int64_t, std::int64_t d) { return d == 0 ? 1.0F : 0.0F; });
  set_elements(filled.k, problem.dtype, problem.head_dim_qk, [=](std::int64_t key, std::int64_t d) {
    const double logit = key == 0 ? 4 : 4 + std::log(below_threshold);
    return d == 0 ? static_cast<float>(logit) / scale : 0.0F;
  });
  set_elements(filled.v, problem.dtype, problem.head_dim_vo,
               [](std::int64_t key, std::int64_t) { return key == 0 ? 1.0F : -1.0F; });
  return filled;
}

RoundingSpec skipping_spec(const FilledProblem& filled) {
  RoundingSpec spec = strict_spec(filled.geometry.problem());
  spec.skipped_below = threshold;
  return spec;
}

// The kernel keeps one key with a weight of 1 / 850, so O changes from nearly -1 to 1, and the LSE
// to the logit of that key.
TEST(SkippedKeys, LostWeightIsWithinScales) {
  for (const std::int64_t keys : {1000, 1100}) {
    const FilledProblem filled = one_heavy_key(1, keys);
    const RoundingSpec spec = skipping_spec(filled);
    const Reference reference =
        compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
    const double z = (1 - reference.o[0]) / reference.sigma[0],
                 of_lse = (reference.lse[0] - 4) / reference.lse_sigma[0];
    EXPECT_NEAR(z, std::sqrt(shared_slack), 0.01) << keys;
    EXPECT_NEAR(of_lse, std::sqrt(shared_slack), 0.01) << keys;
    EXPECT_GT(reference.bound[0], 1 - reference.o[0]) << keys;
  }
}

// All rows share the error, so a limit for independent errors would not cover it.
TEST(SkippedKeys, LseOfManyRowsIsWithinScaleLimit) {
  const FilledProblem filled = one_heavy_key(6000, 40);
  const RoundingSpec spec = skipping_spec(filled);
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  std::vector<double> errors;
  for (const double lse : reference.lse) errors.push_back(4 - lse);
  const std::vector<float> z(reference.o.size(), 0);
  const ScaleTest lse = test_scale(filled.geometry, filled.view(), spec, reference, z, errors).lse;
  EXPECT_LT(lse.percent_of_limit(), 100);
  EXPECT_GT(lse.percent_of_limit(), 85) << "a wider limit would go unseen";
}

}  // namespace
}  // namespace plumbline
