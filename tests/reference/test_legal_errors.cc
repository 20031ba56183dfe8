// The errors of simulated legal kernels have the standard deviation that sigma claims. P is rounded
// to its dtype relative to a random running maximum, the output is rounded, and everything else is
// fp64. The standard deviation of e / sigma may neither exceed 1 by much nor vanish.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/counter_hash.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

struct Situation {
  DType dtype;
  Law law;
  VLaw v_law;
  double k_scale;
  DType out;
  bool denominator;
  double min_o_spread = 0.5, min_lse_spread = 0;  // minimum spread
};

std::string name_of(const testing::TestParamInfo<Situation>& info) {
  const Situation& s = info.param;
  std::string text(name(s.dtype));
  text += "_" + std::string(name(s.law)) + (s.k_scale == 0 ? "_equal" : "") + "_" +
          std::string(name(s.v_law));
  return text + "_" + std::string(name(s.out)) + (s.denominator ? "_denominator" : "");
}

Problem problem_of(const Situation& situation) {
  Problem problem;
  problem.dtype = situation.dtype;
  problem.law = situation.law;
  problem.v_law = situation.v_law;
  problem.k_scale = situation.k_scale;
  problem.out_dtype = situation.out;
  problem.seq_q = 6;
  problem.seq_kv = 160;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  return problem;
}

struct Spread {
  double o = 0, lse = 0;  // root mean squares of e / sigma
  double of_bound = 0;    // largest |e| / bound
};

constexpr int draws = 200;

Spread simulate(const Situation& situation) {
  const Problem problem = problem_of(situation);
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.denominator_from_rounded_p = situation.denominator;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  const auto columns = static_cast<std::size_t>(reference.columns);
  double o_squares = 0, lse_squares = 0, of_bound = 0;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    const RowDetail row = reference_row(filled.geometry, filled.view(), spec, id);
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      // exp(s - m') with a maximum m' up to a factor of 2 below the final one.
      const double shift =
          std::exp2(static_cast<double>(counter_hash(id.row, 1, draw) >> 11) * 0x1p-53);
      const double top = *std::max_element(row.p.begin(), row.p.end());
      std::vector<double> o(columns);
      double exact = 0, rounded = 0;
      for (std::size_t k = 0; k < row.p.size(); ++k) {
        const double t = row.p[k] / top * shift, p = round_to(t, problem.dtype);
        exact += t;
        rounded += p;
        const auto v =
            static_cast<std::size_t>(filled.geometry.v_offset(0, static_cast<std::int64_t>(k), 0));
        for (std::size_t j = 0; j < columns; ++j)
          o[j] += p * decode_at(problem.dtype, filled.v.data(), v + j);
      }
      const double denominator = situation.denominator ? rounded : exact;
      for (std::size_t j = 0; j < columns; ++j) {
        const double e = round_to(o[j] / denominator, spec.out_dtype) - row.o[j];
        o_squares += e * e / std::pow(reference.sigma[r * columns + j], 2);
        of_bound = std::max(of_bound, std::abs(e) / reference.bound[r * columns + j]);
      }
      lse_squares += std::pow(std::log(denominator / exact) / reference.lse_sigma[r], 2);
    }
  }
  const double n = static_cast<double>(reference.selection.rows.size()) * draws;
  return {std::sqrt(o_squares / (n * static_cast<double>(columns))), std::sqrt(lse_squares / n),
          of_bound};
}

class LegalErrors : public testing::TestWithParam<Situation> {};

TEST_P(LegalErrors, SpreadIsSigma) {
  const Situation& situation = GetParam();
  const Spread spread = simulate(situation);
  RecordProperty("o", std::to_string(spread.o));
  RecordProperty("lse", std::to_string(spread.lse));
  EXPECT_LE(spread.o, 1.1);
  EXPECT_LE(spread.of_bound, 1);
  EXPECT_GE(spread.o, situation.min_o_spread);
  EXPECT_LE(spread.lse, 1.1);
  EXPECT_GE(spread.lse, situation.min_lse_spread);
}

std::vector<Situation> situations() {
  std::vector<Situation> all;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const VLaw v_law : {VLaw::normal, VLaw::constant, VLaw::large_mean}) {
      // P of near-uniform logits spans a few intervals of fp16. Their errors, a sawtooth, cancel in
      // a sum, but the cells add them in quadrature. So sigma is wide if V has one sign.
      const bool wide = dtype == DType::f16 && v_law != VLaw::normal;
      all.push_back({dtype, Law::normal, v_law, 1, DType::f32, false});
      all.push_back({dtype, Law::near_uniform, v_law, 1, DType::f32, false, wide ? 0.15 : 0.5});
      all.push_back({dtype, Law::normal, v_law, 0, DType::f32, false});  // equal logits

      // A denominator from the rounded P cancels the error if V is constant or logits are equal.
      const bool constant = v_law == VLaw::constant;
      all.push_back({dtype, Law::normal, v_law, 1, DType::f32, true, constant ? 0 : 0.5, 0.5});
      all.push_back({dtype, Law::near_uniform, v_law, 1, DType::f32, true, constant ? 0 : 0.4,
                     dtype == DType::f16 ? 0.15 : 0.5});
      all.push_back({dtype, Law::normal, v_law, 0, DType::f32, true, 0, 0.5});
    }
    all.push_back({dtype, Law::normal, VLaw::normal, 1, dtype, false});
    all.push_back({dtype, Law::near_uniform, VLaw::normal, 1, dtype, false});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Situations, LegalErrors, testing::ValuesIn(situations()), name_of);

}  // namespace
}  // namespace plumbline
