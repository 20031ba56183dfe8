// Inf and NaN in the inputs reach exactly the rows that see them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

Problem causal() {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_q = problem.seq_kv = 20;
  problem.head_dim_qk = problem.head_dim_vo = 8;
  problem.mask = Mask::causal_top_left;
  return problem;
}

constexpr std::int64_t spoilt_key = 7;

// Expects that rows which do not see the changed key are unchanged, and that the elements of other
// rows that it reaches are not finite.
void expect_contained(FilledProblem& spoilt, bool every_column) {
  const FilledProblem clean(spoilt.geometry.problem());
  const RoundingSpec spec = strict_spec(clean.geometry.problem());
  const Reference expected =
      compute_reference(clean.geometry, clean.view(), spec, clean.all_rows());
  const Reference got = compute_reference(spoilt.geometry, spoilt.view(), spec, spoilt.all_rows());
  const auto columns = static_cast<std::size_t>(got.columns);
  for (std::size_t at = 0; at < got.o.size(); ++at) {
    const auto row = static_cast<std::int64_t>(at / columns);
    if (got.visible[at / columns] == 0) continue;
    const bool reached =
        spoilt.geometry.sees(0, row, spoilt_key) && (every_column || at % columns == 0);
    EXPECT_EQ(std::isfinite(got.o[at]), !reached) << row;
    if (reached) continue;
    EXPECT_NEAR(got.o[at], expected.o[at], 1e-14);
    EXPECT_NEAR(got.sigma[at], expected.sigma[at], 1e-5 * expected.sigma[at]);
  }
}

float& element(std::vector<unsigned char>& tensor, std::int64_t offset) {
  return reinterpret_cast<float*>(tensor.data())[offset];
}

TEST(NonFinite, NanInV) {
  FilledProblem spoilt(causal());
  element(spoilt.v, spoilt.geometry.v_offset(0, spoilt_key, 0)) =
      std::numeric_limits<float>::quiet_NaN();
  expect_contained(spoilt, false);
}

TEST(NonFinite, HiddenBetweenVisibleKeys) {
  Problem problem = causal();
  problem.mask = Mask::custom;
  FilledProblem of_v(problem), of_k(problem);
  element(of_v.v, of_v.geometry.v_offset(0, spoilt_key, 0)) =
      std::numeric_limits<float>::infinity();
  expect_contained(of_v, false);
  element(of_k.k, of_k.geometry.k_offset(0, spoilt_key, 0) + 3) =
      std::numeric_limits<float>::quiet_NaN();
  expect_contained(of_k, true);
}

TEST(NonFinite, HiddenInLongRowsWithScores) {
  Problem problem = causal();
  problem.dtype = DType::bf16;
  problem.mask = Mask::custom;
  problem.seq_kv = 2048;
  FilledProblem spoilt(problem);
  const auto at =
      static_cast<std::size_t>(spoilt.geometry.v_offset(0, spoilt_key, 0)) * sizeof(std::uint16_t);
  encode(DType::bf16, std::array{std::numeric_limits<float>::infinity()}, spoilt.v.data() + at);
  const Reference got = compute_reference(spoilt.geometry, spoilt.view(), strict_spec(problem),
                                          spoilt.all_rows(), {.suite_scores = true});
  int long_rows_without = 0;
  for (std::size_t r = 0; r < got.selection.rows.size(); ++r) {
    const bool sees = spoilt.geometry.sees(0, got.selection.rows[r].row, spoilt_key);
    EXPECT_EQ(std::isfinite(got.shrink_variance[r]), !sees) << r;
    EXPECT_EQ(std::isfinite(got.temperature_variance[r]), !sees) << r;
    long_rows_without += !sees && got.visible[r] >= 1024;
  }
  EXPECT_GT(long_rows_without, 0);
}

TEST(NonFinite, InfinityInV) {
  FilledProblem spoilt(causal());
  element(spoilt.v, spoilt.geometry.v_offset(0, spoilt_key, 0)) =
      std::numeric_limits<float>::infinity();
  expect_contained(spoilt, false);
}

TEST(NonFinite, NanInK) {
  FilledProblem spoilt(causal());
  element(spoilt.k, spoilt.geometry.k_offset(0, spoilt_key, 0) + 3) =
      std::numeric_limits<float>::quiet_NaN();
  expect_contained(spoilt, true);
}

// All rows are flat, and O / out_scale is beyond the largest number of the output's dtype.
TEST(Finite, SaturatedOutput) {
  for (const DType dtype : fp8_dtypes) {
    Problem problem = causal();
    problem.dtype = DType::bf16;
    problem.out_dtype = dtype;
    problem.v_law = VLaw::large_mean;
    problem.k_scale = 0;
    FilledProblem filled(problem);
    filled.geometry.side.out_scale = {1e-5F};
    const Reference reference =
        compute_reference(filled.geometry, filled.view(), strict_spec(problem), filled.all_rows());
    for (std::size_t at = 0; at < reference.o.size(); ++at) {
      if (reference.visible[at / static_cast<std::size_t>(reference.columns)] == 0) continue;
      EXPECT_EQ(std::abs(reference.o[at]), largest_finite(dtype)) << at;
      EXPECT_TRUE(std::isfinite(reference.sigma[at])) << at;
    }
  }
}

}  // namespace
}  // namespace plumbline
