// The weighted second moment of V about O agrees with its definition.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/reference/moments.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// Returns sum_k w_k (v_kj - o_j)^2 in units of v_unit^2.
double direct_moment(const RowBlock& block, const Weights& weights, std::int64_t row,
                     std::int64_t column) {
  const HeadData& head = *block.head;
  double sum = 0;
  for (std::int64_t k = 0; k < block.keys; ++k) {
    const double from_o =
        head.v.data()[k * head.dim_vo + column] - block.o.data()[row * head.dim_vo + column];
    sum += weights.data()[row * block.stride + k] * square(from_o / head.v_unit);
  }
  return sum;
}

TEST(CenteredMoment, AccurateForOutputsFarFromMean) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.seq_q = 1;
  problem.seq_kv = 300;
  const FilledProblem filled(problem);
  const InputView view = filled.view();
  const ReferenceContext question(filled.geometry, view, strict_spec(problem));
  const HeadData head = gather_head(question, 0, 0, {0, problem.seq_kv});

  RowBlock block;
  block.head = &head;
  block.rows = 3;
  block.keys = block.stride = problem.seq_kv;
  block.o.assign(static_cast<std::size_t>(block.rows * head.dim_vo), 0);
  Weights weights;
  weights.assign(static_cast<std::size_t>(block.rows * block.stride), 0);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t k = 0; k < block.keys; ++k) {
      // Row 0: all keys alike. Row 1: some keys more than others. Row 2: one key outweighs all.
      const double weight = r == 0 ? 1 : 1 + (k % 7);
      weights.data()[r * block.stride + k] =
          static_cast<float>((r == 2 && k == 100 ? 1000 : weight) / 2000);
    }
    for (std::int64_t j = 0; j < head.dim_vo; ++j)
      block.o.data()[r * head.dim_vo + j] = head.v_unit * (static_cast<double>(j) / 32 - 1);
  }

  Weights spent = weights;
  Buffer<double> moments;
  CenteredMoment().compute(block, spent, moments);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t j = 0; j < head.dim_vo; ++j) {
      const double direct = direct_moment(block, weights, r, j);
      EXPECT_NEAR(moments.data()[r * head.ld + j], direct, 1e-5 * direct) << r << ' ' << j;
    }
  }
}

}  // namespace
}  // namespace plumbline
