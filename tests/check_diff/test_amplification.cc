// Tests that softmax amplification matches values computed by hand and the effect of a nudged
// logit.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness/check/amplification.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// One query, two keys, two columns. K = 0 makes both p 1/2.
struct TwoKeys {
  explicit TwoKeys(const std::vector<float>& values) : filled(problem()) {
    std::fill(filled.k.begin(), filled.k.end(), std::byte{0});
    encode(DType::f32, values, filled.v.data());
  }
  static Problem problem() {
    Problem problem;
    problem.dtype = DType::f32;
    problem.seq_kv = 2;
    problem.head_dim_qk = problem.head_dim_vo = 2;
    return problem;
  }
  double kappa() const {
    return softmax_amplification(filled.geometry, filled.inputs(), filled.spec, {0, 0, 0});
  }
  test::FilledProblem filled;
};

TEST(Amplification, RelativeChangePerLogitError) {
  // o = (2, 4), v - o = -+(1, 2): mean_j sum_k p^2 (v - o)^2 = (2 * 1 + 2 * 4) / 4 / 2; rms of o is
  // sqrt(10).
  EXPECT_NEAR(TwoKeys({1, 2, 3, 6}).kappa(), std::sqrt(1.25 / 10), 1e-12);
}

TEST(Amplification, EqualValuesAmplifyNothing) { EXPECT_EQ(TwoKeys({5, 7, 5, 7}).kappa(), 0); }

TEST(Amplification, InfiniteIfOutputCancels) {
  EXPECT_TRUE(std::isinf(TwoKeys({1, 2, -1, -2}).kappa()));
}

TEST(Amplification, PredictsEffectOfNudgedLogit) {
  const test::FilledProblem filled(test::small_problem());
  const RowId row{1, 3, 2};
  const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, row);
  const auto columns = detail.o.size();
  constexpr double delta = 1e-5;
  double change = 0, output = 0;
  // The weight p of the key grows to p e^delta / (1 + p (e^delta - 1)).
  for (std::size_t key = 0; key < detail.p.size(); ++key) {
    const double grown = detail.p[key] * std::expm1(delta);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto offset =
          filled.geometry.v_offset(row.sample, static_cast<std::int64_t>(key), row.head / 2) +
          static_cast<std::int64_t>(j);
      const double v = decode_at(DType::f16, filled.v.data(), static_cast<std::size_t>(offset));
      const double moved = (detail.o[j] + grown * v) / (1 + grown) - detail.o[j];
      change += moved * moved;
    }
  }
  for (const double o : detail.o) output += o * o;
  EXPECT_NEAR(softmax_amplification(filled.geometry, filled.inputs(), filled.spec, row),
              std::sqrt(change / output) / delta, 1e-3);
}

TEST(Amplification, LargestIncludesMostDifferentRow) {
  const test::FilledProblem filled(test::small_problem());
  std::vector<RowDifference> differences;
  for (const RowId& row : filled.reference.selection.rows) differences.push_back({row, 0.001});
  differences[17].relative = 0.5;
  const Amplification all =
      softmax_amplification(filled.geometry, filled.inputs(), filled.spec, differences);
  EXPECT_EQ(all.rows, static_cast<std::int64_t>(differences.size()));
  EXPECT_LE(all.median, all.largest);
  EXPECT_EQ(all.largest,
            softmax_amplification(filled.geometry, filled.inputs(), filled.spec, all.largest_row));
  const Amplification few =
      softmax_amplification(filled.geometry, filled.inputs(), filled.spec, differences, 5000);
  EXPECT_LT(few.rows, all.rows);
  EXPECT_GE(few.largest, softmax_amplification(filled.geometry, filled.inputs(), filled.spec,
                                               differences[17].row));
}

TEST(RankCorrelation, KnownValues) {
  const std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8}, falling{8, 7, 6, 5, 4, 3, 2, 1},
      cubes{1, 8, 27, 64, 125, 216, 343, 512};
  EXPECT_DOUBLE_EQ(rank_correlation(x, cubes), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(x, falling), -1);
  // 1 - 6 sum d^2 / (n (n^2 - 1))
  EXPECT_DOUBLE_EQ(rank_correlation(x, {2, 1, 4, 3, 6, 5, 8, 7}), 1 - 6 * 8 / (8 * 63.0));
  EXPECT_NEAR(rank_correlation(x, {1, 1, 1, 1, 2, 2, 2, 2}), 0.872871560943970,
              1e-12);  // ties at their mean rank
}

TEST(RankCorrelation, NanIfUndefined) {
  const std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_TRUE(std::isnan(rank_correlation(x, std::vector<double>(8, 3))));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2}, {1, 2})));
  EXPECT_TRUE(std::isnan(rank_correlation(x, {1, 2, 3, nan_value, 5, 6, 7, 8})));
}

}  // namespace
}  // namespace plumbline
