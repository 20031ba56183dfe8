// The bounds that replace sum_d (q_d k_d)^2 in long rows hold for any products.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "harness/reference/logit_error.h"

namespace plumbline {
namespace {

struct Vectors {
  std::vector<double> q, k;
  double product() const { return std::inner_product(q.begin(), q.end(), k.begin(), 0.0); }
  double product_norm() const {
    double n2 = 0;
    for (std::size_t d = 0; d < q.size(); ++d) n2 += square(q[d] * k[d]);
    return std::sqrt(n2);
  }
};

// Draws products from all alike (spread 0, with a sum as large as their norm permits) to one that
// outweighs all.
Vectors draw(std::size_t dims, double spread, bool alike, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Vectors drawn;
  for (std::size_t d = 0; d < dims; ++d) {
    const double size = std::exp(spread * normal(random));
    drawn.q.push_back(alike ? size : size * normal(random));
    drawn.k.push_back(alike ? 1 / size : std::exp(spread * normal(random)) * normal(random));
  }
  return drawn;
}

class LogitErrorBounds : public testing::TestWithParam<int> {};

TEST_P(LogitErrorBounds, HoldForAnyProducts) {
  const auto dims = static_cast<std::size_t>(GetParam());
  constexpr double scale = 0.25, rounding = 1 + 1e-5;
  HeadData head;
  head.dim_qk = GetParam();
  RowBlock block;
  block.head = &head;
  block.scale = scale;
  Problem problem;
  problem.dtype = DType::bf16;
  const LogitError error(Model(strict_spec(problem), problem.softmax_scale()), block);
  std::mt19937 random(1);
  double lower_gap = 1, upper_gap = 1, norm_gap = 1;  // distance of the bounds from reality
  for (const bool alike : {false, true}) {
    for (const double spread : {0.0, 0.5, 2.0, 6.0}) {
      for (int i = 0; i < 500; ++i) {
        const Vectors vectors = draw(dims, spread, alike, random);
        const auto x = static_cast<float>(scale * std::abs(vectors.product())),
                   norm = static_cast<float>(scale * vectors.product_norm());
        const float largest_norm =
            static_cast<float>(scale) * norms(vectors.q).four * norms(vectors.k).four;
        const float beta = error.beta(x, 1, norm), least = error.min_beta(x),
                    most = error.max_beta(x, largest_norm);
        ASSERT_LE(norm, largest_norm * rounding);
        ASSERT_LE(least, beta * rounding);
        ASSERT_LE(beta, most * rounding);
        ASSERT_LE(error.sd(x, 1, x, norm, beta), error.sd(x, 1, x, largest_norm, most) * rounding);
        norm_gap = std::min<double>(norm_gap, 1 - norm / largest_norm);
        lower_gap = std::min<double>(lower_gap, 1 - least / beta);
        upper_gap = std::min<double>(upper_gap, 1 - beta / most);
      }
    }
  }
  // Bounds that nothing comes close to would hold whatever their formula.
  EXPECT_LT(norm_gap, 1e-3);
  EXPECT_LT(lower_gap, 1e-2);
  EXPECT_LT(upper_gap, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, LogitErrorBounds, testing::Values(1, 2, 16, 64, 128, 192));

}  // namespace
}  // namespace plumbline
