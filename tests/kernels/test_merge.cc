// cpu/merge against a merge in double precision, in every layout, base and dtype.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/mutants/answers.h"

namespace plumbline::testing {
namespace {

Problem states(DType dtype, Merge merge) {
  Problem problem;
  problem.dtype = dtype;
  problem.merge = merge;
  problem.batch = 40;
  problem.heads_q = problem.heads_kv = 3;
  problem.seq_q = 1;
  problem.seq_kv = 5;
  problem.head_dim_qk = 1;
  problem.head_dim_vo = 19;
  return problem;
}

struct State {
  std::vector<double> out;
  double lse = -std::numeric_limits<double>::infinity();
};

// Returns the LSE in the base of the inputs' LSEs.
State exact(const Filled& filled, std::int64_t token, std::int64_t head) {
  const Geometry& geometry = filled.geometry;
  const bool base_2 = geometry.problem().merge == Merge::base_2;
  State state{std::vector<double>(static_cast<std::size_t>(geometry.problem().head_dim_vo), 0)};
  const auto lse_of = [&](std::int64_t part) {
    return decode_at(DType::f32, filled.inputs.k.data(),
                     static_cast<std::size_t>(geometry.k_offset(token, part, head)));
  };
  double largest = state.lse, sum = 0;
  for (std::int64_t i = 0; i < geometry.length_kv(token); ++i)
    largest = std::max(largest, lse_of(i));
  if (std::isinf(largest)) return state;
  for (std::int64_t i = 0; i < geometry.length_kv(token); ++i) {
    const double distance = lse_of(i) - largest,
                 weight = base_2 ? std::exp2(distance) : std::exp(distance);
    if (weight == 0) continue;
    sum += weight;
    for (std::size_t d = 0; d < state.out.size(); ++d) {
      state.out[d] +=
          weight * decode_at(geometry.v.dtype, filled.inputs.v.data(),
                             static_cast<std::size_t>(geometry.v_offset(token, i, head)) + d);
    }
  }
  for (double& value : state.out) value /= sum;
  state.lse = largest + (base_2 ? std::log2(sum) : std::log(sum));
  return state;
}

void expect_merged(const Problem& problem) {
  SCOPED_TRACE(problem_id(problem));
  ASSERT_TRUE(validate(problem).empty()) << validate(problem).front();
  const Filled filled(problem);
  const Answer answer = call("merge", filled.geometry, filled.inputs);
  ASSERT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
  EXPECT_EQ(answer.description.spec.lse_base, problem.merge == Merge::base_2 ? 2U : 0U);
  const RowIndex index(filled.geometry);
  const auto columns = static_cast<std::size_t>(problem.head_dim_vo);
  int differences = 0;
  for (std::int64_t token = 0; token < problem.batch; ++token) {
    if (filled.geometry.length_q(token) == 0) continue;
    for (std::int64_t head = 0; head < problem.heads_q; ++head) {
      const State state = exact(filled, token, head);
      const std::size_t at = index.row(token, head, 0);
      for (std::size_t d = 0; d < columns; ++d) {
        const double got = answer.out[at * columns + d];
        const double limit =
            ulp(state.out[d], problem.out()) / 2 + 2e-6 * (std::isinf(state.lse) ? 0 : 5);
        if (!(std::abs(got - state.out[d]) <= limit)) ++differences;
      }
      const double lse = answer.lse[at];
      if (!(lse == state.lse || std::abs(lse - state.lse) <= 2e-7 * (4 + std::abs(state.lse))))
        ++differences;
    }
  }
  EXPECT_EQ(differences, 0);
}

class Merges : public ::testing::TestWithParam<std::tuple<DType, Merge>> {
 protected:
  static Problem of() { return states(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(Merges, AgreeForEveryInputDistribution) {
  for (const Law law : all<Law>()) {
    Problem problem = of();
    problem.law = law;
    expect_merged(problem);
  }
}

TEST_P(Merges, AgreeInEveryLayout) {
  for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged}) {
    for (const Lengths lengths : {Lengths::full, Lengths::random, Lengths::with_zero}) {
      for (const View view : {View::plain, View::strided}) {
        Problem problem = of();
        problem.layout = layout, problem.lengths = lengths, problem.view = view;
        expect_merged(problem);
      }
    }
  }
}

TEST_P(Merges, IgnorePartsWithoutKeys) {
  for (const Fill fill : {Fill::garbage, Fill::nan}) {
    Problem problem = of();
    problem.mask = Mask::custom, problem.fill = fill;
    expect_merged(problem);
  }
}

TEST_P(Merges, WriteOtherDtypes) {
  Problem problem = of();
  for (const DType out : {DType::f32, DType::f16, DType::bf16}) {
    problem.out_dtype = out;
    if (problem.dtype == DType::f32 || out == DType::f32) expect_merged(problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Merges,
                         ::testing::Combine(::testing::Values(DType::f32, DType::f16, DType::bf16),
                                            ::testing::Values(Merge::natural, Merge::base_2)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + "_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace plumbline::testing
