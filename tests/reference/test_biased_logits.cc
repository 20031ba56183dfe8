// A bias that a dump states is added to the logit of its own key, also if a window hides the first
// keys of all rows. Logits that lack the row's part of ALiBi have larger errors.
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

// FlashAttention-2 adds slope j, up to 2,800 here, to the logit of key j. In fp32 such logits are
// rounded to multiples of 2^-12. The nearest keys, whose own bias is nearly 0, have all the weight.
TEST(BiasedLogits, LargeRowBiasWidensSigma) {
  constexpr std::int64_t keys = 4000, columns = 8;
  constexpr float slope = 0.7F;
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_q = 32, problem.seq_kv = keys;
  problem.head_dim_qk = 16, problem.head_dim_vo = columns;
  problem.mask = Mask::causal_bottom_right, problem.alibi = Alibi::random;
  FilledProblem filled(problem);
  filled.geometry.side.alibi_slopes = {slope};
  const RoundingSpec strict = strict_spec(problem);
  RoundingSpec spec = strict;
  spec.lse_without_row_bias = true;
  const Reference reference =
                      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows()),
                  narrow =
                      compute_reference(filled.geometry, filled.view(), strict, filled.all_rows());
  double squares = 0, largest = 0, largest_narrow = 0, largest_lse = 0;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowDetail row =
        reference_row(filled.geometry, filled.view(), strict, reference.selection.rows[r]);
    const std::int64_t diagonal = keys - problem.seq_q + static_cast<std::int64_t>(r);
    std::vector<double> s;  // as the kernel holds them
    for (std::int64_t k = 0; k <= diagonal; ++k) {
      const double capped =
          row.s[static_cast<std::size_t>(k)] + double{slope} * static_cast<double>(diagonal - k);
      s.push_back(static_cast<float>(capped) + slope * static_cast<float>(k));
    }
    const double m = *std::ranges::max_element(s);
    std::vector<double> o(columns);
    double total = 0;
    for (std::int64_t k = 0; k <= diagonal; ++k) {
      const double weight = std::exp(s[static_cast<std::size_t>(k)] - m);
      total += weight;
      for (std::int64_t j = 0; j < columns; ++j) {
        o[static_cast<std::size_t>(j)] +=
            weight * element_at(filled.v, filled.geometry.v_offset(0, k, 0) + j);
      }
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = r * columns + j;
      const double error = std::abs(o[j] / total - reference.o[at]);
      squares += std::pow(error / reference.sigma[at], 2);
      largest = std::max(largest, error / reference.sigma[at]);
      largest_narrow = std::max(largest_narrow, error / narrow.sigma[at]);
    }
    const double lse = static_cast<float>(m + std::log(total));
    largest_lse = std::max(largest_lse, std::abs(lse - reference.lse[r]) / reference.lse_sigma[r]);
  }
  EXPECT_LT(largest, 6);
  EXPECT_LT(largest_lse, 6);
  EXPECT_GT(largest_narrow, 20) << "the roundings are too small to need this sigma";
  EXPECT_GT(std::sqrt(squares / static_cast<double>(reference.o.size())), 0.08)
      << "a wider sigma would go unseen";
}

}  // namespace
}  // namespace plumbline
