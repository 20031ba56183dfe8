// Rows that share K and V equal rows computed alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/reference/row_replay.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// Expects that rows from one replay of a key head equal those of reference_row().
void expect_same_rows(const FilledProblem& filled) {
  const Problem& problem = filled.geometry.problem();
  const RoundingSpec spec = strict_spec(problem);
  const InputView view = filled.view();
  const ReferenceContext context(filled.geometry, view, spec);
  RowReplay replay(context, 0, 0, {0, filled.geometry.length_kv(0)});
  for (std::int32_t head = 0; head < problem.group(); ++head) {
    for (std::int32_t row = 0; row < problem.seq_q; ++row) {
      const RowId id{0, head, row};
      const RowDetail shared = replay.row(id),
                      alone = reference_row(filled.geometry, view, spec, id);
      EXPECT_EQ(shared.s, alone.s) << head << " " << row;
      EXPECT_EQ(shared.p, alone.p) << head << " " << row;
      EXPECT_EQ(shared.lse, alone.lse) << head << " " << row;
      ASSERT_EQ(shared.o.size(), alone.o.size());
      for (std::size_t j = 0; j < shared.o.size(); ++j)
        EXPECT_NEAR(shared.o[j], alone.o[j], 1e-14) << head << " " << row;
    }
  }
}

Problem masked_problem() {
  Problem problem;
  problem.dtype = DType::f32;
  problem.heads_q = 4, problem.heads_kv = 2;
  problem.seq_q = 40, problem.seq_kv = 150;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  return problem;
}

TEST(RowReplay, SharedRowsEqualRowsAlone) {
  for (const Mask mask : {Mask::none, Mask::causal_bottom_right, Mask::custom}) {
    Problem problem = masked_problem();
    problem.mask = mask;
    expect_same_rows(FilledProblem(problem));
  }
}

TEST(RowReplay, RowWithoutKeysIsEmpty) {
  Problem problem = masked_problem();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 200;
  expect_same_rows(FilledProblem(problem));
}

// A hidden key's NaN must not reach O as 0 * NaN.
TEST(RowReplay, HiddenNanStaysHidden) {
  Problem problem = masked_problem();
  problem.mask = Mask::custom;
  FilledProblem filled(problem);
  constexpr std::int64_t key = 3;
  set_elements(filled.v, problem.dtype, 2 * 16, [](std::int64_t at, std::int64_t d) {
    return at == key ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(d);
  });
  const RoundingSpec spec = strict_spec(problem);
  const InputView view = filled.view();
  const ReferenceContext context(filled.geometry, view, spec);
  RowReplay replay(context, 0, 0, {0, problem.seq_kv});
  int hidden = 0, seen = 0;
  for (std::int32_t row = 0; row < problem.seq_q; ++row) {
    const bool sees = filled.geometry.sees(0, row, key, 0);
    const RowDetail detail = replay.row({0, 0, row});
    EXPECT_EQ(std::isnan(detail.o.front()), sees) << row;
    const std::vector<double> sum = replay.weighted_sum(detail.keys.begin, detail.p);
    EXPECT_EQ(std::isnan(sum.front()), sees) << row;
    ++(sees ? seen : hidden);
  }
  EXPECT_GT(hidden, 0);
  EXPECT_GT(seen, 0);
}

// The direction of a key's weight, and sums of V, from their definitions.
TEST(RowReplay, ProjectionAndSumMatchDefinitions) {
  const FilledProblem filled(masked_problem());
  const InputView view = filled.view();
  const ReferenceContext context(filled.geometry, view, strict_spec(filled.geometry.problem()));
  RowReplay replay(context, 0, 1, {0, 150});
  const std::vector<double> o(16, 0.25), inverse_sigma(16, 2);
  const std::vector<float> z(16, 1.5F);
  const RowReplay::Projection of_key = replay.project(7, 0.5, o, inverse_sigma, z);
  double zd = 0, dd = 0;
  for (const double v : replay.value(7)) zd += 1.5 * (v - 0.25), dd += (v - 0.25) * (v - 0.25);
  EXPECT_NEAR(of_key.zd, zd, 1e-12);
  EXPECT_NEAR(of_key.dd, dd, 1e-12);
  const std::vector<double> sum = replay.weighted_sum(20, std::vector<double>{2, -3});
  for (std::size_t j = 0; j < sum.size(); ++j)
    EXPECT_NEAR(sum[j], 2 * replay.value(20)[j] - 3 * replay.value(21)[j], 1e-12);
}

}  // namespace
}  // namespace plumbline
