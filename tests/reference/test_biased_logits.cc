// A bias that a dump states is added to the logit of its own key, also if a window hides the first
// keys of all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

double element_at(const std::vector<unsigned char>& tensor, std::int64_t at) {
  return decode_at(DType::f32, tensor.data(), static_cast<std::size_t>(at));
}

TEST(BiasedLogits, MatchPlainSumsUnderWindow) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.batch = 2;
  problem.heads_q = 4, problem.heads_kv = 2;
  problem.seq_q = 9, problem.seq_kv = 40;
  problem.head_dim_qk = 16, problem.head_dim_vo = 8;
  problem.mask = Mask::causal_bottom_right, problem.window_left = 6;
  FilledProblem filled(problem);
  const Geometry& geometry = filled.geometry;
  const auto bias = std::make_shared<LogitBias>();
  bias->stride = {problem.heads_q * problem.seq_q * problem.seq_kv, problem.seq_q * problem.seq_kv,
                  problem.seq_kv};
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 2);
  for (std::int64_t i = 0; i < problem.batch * bias->stride[0]; ++i)
    bias->values.push_back(normal(random));
  filled.geometry.bias = bias;

  const Reference reference =
      compute_reference(geometry, filled.view(), strict_spec(problem), filled.all_rows());
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const auto [sample, head, row] = reference.selection.rows[r];
    const KeyRange keys = geometry.visible_keys(sample, row);
    ASSERT_GT(keys.begin, 0);
    const std::int64_t head_kv = head / problem.group();
    std::vector<double> o(8);
    double total = 0;
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      double product = 0;
      for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) {
        product += element_at(filled.q, geometry.q_offset(sample, row, head) + d) *
                   element_at(filled.k, geometry.k_offset(sample, key, head_kv) + d);
      }
      const double
          added = bias->values[static_cast<std::size_t>(
              sample * bias->stride[0] + head * bias->stride[1] + row * bias->stride[2] + key)],
          weight = std::exp(problem.softmax_scale() * product + added);
      total += weight;
      for (std::size_t j = 0; j < o.size(); ++j) {
        o[j] += weight * element_at(filled.v, geometry.v_offset(sample, key, head_kv) +
                                                  static_cast<std::int64_t>(j));
      }
    }
    EXPECT_NEAR(reference.lse[r], std::log(total), 1e-12);
    for (std::size_t j = 0; j < o.size(); ++j)
      EXPECT_NEAR(reference.o[8 * r + j], o[j] / total, 1e-12);
  }
}

}  // namespace
}  // namespace plumbline
