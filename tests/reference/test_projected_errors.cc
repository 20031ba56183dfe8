// The projected errors of P agree with plain loops that round each P, for every maximum that a
// kernel may have subtracted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "harness/reference/row_cells.h"
#include "harness/reference/row_rounding.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

struct Maxima {
  bool forward = true;
  std::int64_t tile = 0;  // 0: the maximum of all keys
  bool from_sink = false;
};

// In the order of project_errors().
std::vector<Maxima> all_maxima(bool has_sink) {
  std::vector<Maxima> all;
  for (const bool from_sink : {false, true}) {
    if (from_sink && !has_sink) break;
    all.push_back({true, 0, from_sink});
    for (const bool forward : {true, false}) {
      for (const std::int64_t tile : {16, 32, 64, 128}) all.push_back({forward, tile, from_sink});
    }
  }
  return all;
}

double held(const Model& model, double m) {
  if (model.p_max == MaximumOfP::ceil2)
    return std::ceil(m * std::numbers::log2e) * std::numbers::ln2;
  return model.p_max == MaximumOfP::bf16 ? round_to(m, DType::bf16) : m;
}

double rounded(const RoundingSpec& spec, double p) {
  const double scaled = p * spec.p_prescale;
  return (spec.p_toward_zero ? truncate_to(scaled, spec.p_dtype) : round_to(scaled, spec.p_dtype)) /
         spec.p_prescale;
}

// Returns the sum of (error of p_k) x_k of one row.
double direct_sum(const Model& model, const RoundingSpec& spec, const RowBlock& block,
                  std::int64_t row, const RowRounding& rounding, const Maxima& maxima,
                  const std::vector<double>& x) {
  std::vector<std::int64_t> keys;
  block.for_seen(row, [&](std::int64_t k) { keys.push_back(k); });
  const double* s = model.u_s > 0 ? block.held_of(row) : block.s_of(row);
  const auto n = std::ssize(keys), tile = maxima.tile == 0 ? n : maxima.tile,
             tiles = (n + tile - 1) / tile;
  double largest = minus_infinity, sum = 0;
  for (const std::int64_t k : keys) largest = std::max(largest, s[k]);
  double running = maxima.from_sink ? block.sink(row)->s : minus_infinity;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t at = maxima.forward ? i : tiles - 1 - i, begin = at * tile,
                       end = std::min(begin + tile, n);
    for (std::int64_t k = begin; k < end; ++k)
      running = std::max(running, s[keys[static_cast<std::size_t>(k)]]);
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t key = keys[static_cast<std::size_t>(k)];
      const double p = block.p_of(row)[key] * rounding.t_of_p *
                       std::exp(largest - held(model, running)) * (1 + 1e-12);
      if (p > 0) {
        sum += (rounded(spec, p) - p) / p * block.p_of(row)[key] * x[static_cast<std::size_t>(key)];
      }
    }
  }
  return sum;
}

struct Projection {
  std::string name;
  Problem problem;
  RoundingSpec spec;
};

std::vector<Projection> projections() {
  std::vector<Projection> all;
  const auto add = [&](const char* name, auto change) {
    Projection of{name, {}, {}};
    of.problem.dtype = DType::bf16;
    of.problem.heads_q = 2;
    of.problem.seq_q = 5, of.problem.seq_kv = 203;
    of.problem.head_dim_qk = of.problem.head_dim_vo = 16;
    of.problem.mask = Mask::causal_bottom_right;
    of.spec = strict_spec(of.problem);
    change(of);
    all.push_back(of);
  };
  add("bf16", [](Projection&) {});
  add("toward_zero", [](Projection& of) { of.spec.p_toward_zero = true; });
  add("ceil2", [](Projection& of) { of.spec.p_max = MaximumOfP::ceil2; });
  add("bf16_maximum", [](Projection& of) { of.spec.p_max = MaximumOfP::bf16; });
  add("rounded_s", [](Projection& of) { of.spec.s_rounded = DType::bf16; });
  add("sinks", [](Projection& of) { of.problem.sinks = Sinks::normal; });
  add("hidden_keys", [](Projection& of) { of.problem.mask = Mask::custom; });
  add("e4m3", [](Projection& of) { of.spec.p_dtype = DType::e4m3, of.spec.p_prescale = 256; });
  add("prescale_448",
      [](Projection& of) { of.spec.p_dtype = DType::e4m3, of.spec.p_prescale = 448; });
  add("subnormal_p", [](Projection& of) {
    of.problem.dtype = DType::f16, of.spec.p_dtype = DType::f16;
    of.problem.scale = 4;
  });
  return all;
}

class ProjectedErrors : public testing::TestWithParam<Projection> {};

TEST_P(ProjectedErrors, EqualPlainLoops) {
  const auto& [name, problem, spec] = GetParam();
  const FilledProblem filled(problem);
  const InputView view = filled.view();
  const ReferenceContext question(filled.geometry, view, spec);
  const HeadData head =
      gather_head(question, 0, 0, {0, problem.seq_kv}, std::nullopt, HeadForms::products);
  const std::vector<RowId> rows{{0, 0, 0}, {0, 0, 3}, {0, 0, 4}};
  RowBlock block;
  block.start(question, head, rows);
  std::array<std::vector<double>, 2> x;
  for (std::int64_t k = 0; k < block.stride; ++k) {
    x[0].push_back(std::sin(static_cast<double>(k)));
    x[1].push_back(1 + static_cast<double>(k % 7));
  }
  RowRoundings roundings;
  RowCells row_cells;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    block.softmax(r, question.model);
    Cells cells;
    row_cells.find(question.model, block, r, cells);
    RowRounding rounding;
    roundings.find(question.model, block, r, cells, rounding);
    std::array<std::vector<double>, 2> sums;
    roundings.project_errors(question.model, block, r, rounding, {x[0].data(), x[1].data()},
                             {sums.data(), &sums[1]});
    const std::vector<Maxima> maxima = all_maxima(block.sink(r) != nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(sums[i].size(), maxima.size());
      for (std::size_t g = 0; g < maxima.size(); ++g) {
        const double direct = direct_sum(question.model, spec, block, r, rounding, maxima[g], x[i]);
        EXPECT_NEAR(sums[i][g], direct, 1e-12) << "row " << r << ", maximum " << g;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, ProjectedErrors, testing::ValuesIn(projections()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace plumbline
