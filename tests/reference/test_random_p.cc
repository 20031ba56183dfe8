// A P that a kernel rounds up or down at random has the variance of its steps, also near zero, and
// equal P err independently.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/reference/exact_scales.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

constexpr double eta = 0x1p-10, smallest_normal = 0x1p-6;  // of e4m3

RoundingSpec random_e4m3() {
  RoundingSpec spec;
  spec.p_dtype = DType::e4m3;
  spec.p_stochastic = true;
  return spec;
}

// Returns the mean square error of roundings of p to e4m3, over evenly spaced draws.
double measured_variance(double p) {
  constexpr int draws = 20000;
  const double below = truncate_to(p, DType::e4m3), step = ulp(p, DType::e4m3);
  double squares = 0;
  for (int draw = 0; draw < draws; ++draw)
    squares += square(below + ((draw + 0.5) / draws < (p - below) / step ? step : 0) - p);
  return squares / draws;
}

TEST(RandomP, VarianceMatchesSteps) {
  const Model model(random_e4m3(), 1);
  const PWeights weights = p_weights(model, 1, RowRounding{});
  const auto variance = [&](double p) { return square(model.u_p) * weights.independent(p); };
  for (const double p : {eta / 100, eta / 10, eta / 2, eta})
    EXPECT_NEAR(variance(p) / measured_variance(p), 1, 0.05) << p / eta;
  double expected = 0, measured = 0;
  for (double p = 2.05 * eta; p < smallest_normal; p += 0.1 * eta)
    expected += variance(p), measured += measured_variance(p);
  EXPECT_GT(expected, measured);
  EXPECT_LT(expected, 1.25 * measured);
  for (double p = 1.05 * eta; p < 2 * eta; p += 0.1 * eta)
    EXPECT_GT(variance(p), 0.95 * measured_variance(p)) << p / eta;
}

TEST(RandomP, LargestErrorNearZeroIsOneStep) {
  const Model model(random_e4m3(), 1);
  const PWeights weights = p_weights(model, 1, RowRounding{});
  EXPECT_DOUBLE_EQ(model.u_p * weights.largest_near_zero(1e-9), 2 * eta);
  EXPECT_EQ(weights.largest_near_zero(0), 0) << "of a hidden key";
}

// With a column of ones, spre / u_P is the root of 0.36 / n if errors are independent, and 0.74 if
// equal P err alike.
TEST(RandomP, EqualKeysErrIndependently) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.seq_kv = 400;
  problem.head_dim_vo = 2;
  problem.k_scale = 0;
  FilledProblem filled(problem);
  set_elements(filled.v, problem.dtype, problem.head_dim_vo,
               [](std::int64_t, std::int64_t) { return 1.0F; });
  RoundingSpec spec = strict_spec(problem);
  spec.qk_accumulator = spec.pv_accumulator = fma_accumulator;
  spec.p_stochastic = true;
  const double expected = 0x1p-8 * std::sqrt(0.36 / 400);
  const auto reference = [&] {
    return compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  };
  EXPECT_NEAR(reference().spre[0], expected, 0.02 * expected);
  spec.denominator_from_rounded_p = true;
  EXPECT_NEAR(reference().lse_sigma[0], expected, 0.05 * expected);
}

// All P of a normalised row are 400 / 376, halfway between 1 and 1.125, where a random rounding
// errs by 0.94 u_P. Usual significands err by 0.6 u_P.
TEST(RandomP, OneSignificandHasErrorOfStep) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.seq_kv = 376;
  problem.head_dim_vo = 1;
  problem.k_scale = 0;
  FilledProblem filled(problem);
  set_elements(filled.v, problem.dtype, problem.head_dim_vo,
               [](std::int64_t, std::int64_t) { return 1.0F; });
  RoundingSpec spec = random_e4m3();
  spec.qk_accumulator = spec.pv_accumulator = fma_accumulator;
  spec.p_normalized = true;
  spec.p_prescale = 400;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  const double p = 400.0 / 376, error = std::sqrt((p - 1) * (1.125 - p)) / 400 * std::sqrt(376);
  EXPECT_GT(reference.spre[0] * std::sqrt(shared_slack), 0.99 * error);
  EXPECT_LT(reference.spre[0], 1.2 * error);
}

}  // namespace
}  // namespace plumbline
