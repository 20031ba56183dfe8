// The limits of a whole output's scale cover errors that all logits, or all LSEs, share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/reference/scale_test.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// Returns e / sigma, [R, D], of a kernel that skips every key below the spec's threshold.
std::vector<float> errors_without_skipped_keys(const FilledProblem& filled,
                                               const RoundingSpec& spec,
                                               const Reference& reference) {
  const Problem& problem = filled.geometry.problem();
  const std::vector<float>& sinks = filled.geometry.side.sinks;
  const auto columns = static_cast<std::size_t>(reference.columns);
  std::vector<float> z(reference.o.size());
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    const RowDetail row = reference_row(filled.geometry, filled.view(), spec, id);
    double largest = *std::ranges::max_element(row.s);
    if (!sinks.empty())
      largest = std::max(largest, double{sinks[static_cast<std::size_t>(id.head)]});
    const double limit = std::log(spec.skipped_below) + largest;
    std::vector<double> o(columns);
    double kept = 1;  // weight of the other keys and the sink
    for (std::size_t k = 0; k < row.p.size(); ++k) {
      if (row.s[k] < limit) {
        kept -= row.p[k];
        continue;
      }
      const std::int64_t offset = filled.geometry.v_offset(id.sample, static_cast<std::int64_t>(k),
                                                           id.head / problem.group());
      for (std::size_t j = 0; j < columns; ++j) {
        o[j] += row.p[k] *
                decode_at(problem.dtype, filled.v.data(), static_cast<std::size_t>(offset) + j);
      }
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = r * columns + j;
      z[at] = static_cast<float>((o[j] / kept - reference.o[at]) / reference.sigma[at]);
    }
  }
  return z;
}

// A factor of all logits and of the sink, such as log2(e), is too large by 4 u32. The sink is 7
// above the mean logit and has nearly all the weight, so O shrinks by 7 times as much.
TEST(ScaleLimits, CoverSharedErrorOfLogitsAndSink) {
  constexpr float sink = 8, error = 0x1p-22F;
  Problem problem;
  problem.dtype = DType::f32;
  problem.heads_q = 2;
  problem.seq_q = 50, problem.seq_kv = 64;
  problem.head_dim_qk = problem.head_dim_vo = 16;
  problem.v_law = VLaw::large_mean;
  problem.sinks = Sinks::normal;
  FilledProblem filled(problem);
  filled.geometry.side.sinks.assign(2, sink);
  Problem scaled = problem;
  scaled.scale = problem.softmax_scale() * (1 + double{error});
  Geometry of_kernel(scaled);
  of_kernel.side.sinks.assign(2, sink * (1 + error));
  const RoundingSpec spec = strict_spec(problem);
  const Reference exact =
                      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows()),
                  wrong = compute_reference(of_kernel, filled.view(), spec, filled.all_rows());
  std::vector<float> z;
  for (std::size_t at = 0; at < exact.o.size(); ++at)
    z.push_back(static_cast<float>((wrong.o[at] - exact.o[at]) / exact.sigma[at]));
  const ScaleTest shrink = test_scale(filled.geometry, filled.view(), spec, exact, z, {}).shrink;
  EXPECT_NEAR(shrink.effect, -7 * error, error);
  EXPECT_LT(shrink.percent_of_limit(), 100);
  EXPECT_GT(shrink.percent_of_limit(), 60) << "a wider limit would go unseen";
}

// Every LSE is off by one sigma, in the direction in which a larger scale moves the LSE.
TEST(ScaleLimits, CoverDeviationOfEveryLse) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.heads_q = 4;
  problem.seq_q = 100, problem.seq_kv = 64;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.denominator_from_rounded_p = true;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  std::vector<double> errors;
  double sum = 0, squares = 0;
  for (std::size_t r = 0; r < reference.lse.size(); ++r) {
    const RowDetail row =
        reference_row(filled.geometry, filled.view(), spec, reference.selection.rows[r]);
    double slope = 0;  // d LSE / d log scale
    for (std::size_t k = 0; k < row.p.size(); ++k) slope += row.p[k] * row.s[k];
    const double sigma = reference.lse_sigma[r];
    errors.push_back(std::copysign(sigma, slope));
    sum += std::abs(slope) / sigma;
    squares += std::pow(slope / sigma, 2);
  }
  const std::vector<float> z(reference.o.size(), 0);
  const ScaleTest lse = test_scale(filled.geometry, filled.view(), spec, reference, z, errors).lse;
  EXPECT_NEAR(lse.effect, sum / squares, 1e-6 * sum / squares);
  EXPECT_LT(lse.percent_of_limit(), 100);
  EXPECT_GT(lse.percent_of_limit(), 60) << "a wider limit would go unseen";
}

// A kernel skips every key below the declared threshold, which sharpens the softmax of all rows.
TEST(ScaleLimits, CoverSkippedKeys) {
  Problem problem;
  problem.dtype = DType::f16;
  problem.heads_q = 4;
  problem.seq_q = 100, problem.seq_kv = 512;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  const FilledProblem filled(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.skipped_below = 0.1;
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  const std::vector<float> z = errors_without_skipped_keys(filled, spec, reference);
  const ScaleTests tests = test_scale(filled.geometry, filled.view(), spec, reference, z, {});
  const ScaleTests strict =
      test_scale(filled.geometry, filled.view(), strict_spec(problem), reference, z, {});
  EXPECT_GT(strict.temperature.percent_of_limit(), 100);
  EXPECT_LT(tests.temperature.percent_of_limit(), 100);
  EXPECT_GT(tests.temperature.percent_of_limit(), 30) << "a wider limit would go unseen";
}

// The skipped keys have a third of all weight and the sink has half of it, so O shrinks.
TEST(ScaleLimits, CoverSkippedKeysBesideSink) {
  Problem problem;
  problem.dtype = DType::f16;
  problem.heads_q = 4;
  problem.seq_q = 100, problem.seq_kv = 256;
  problem.head_dim_qk = problem.head_dim_vo = 32;
  problem.v_law = VLaw::large_mean;
  problem.sinks = Sinks::normal;
  FilledProblem filled(problem);
  filled.geometry.side.sinks.assign(4, 6);
  for (const bool from_rounded_p : {false, true}) {
    RoundingSpec spec = strict_spec(problem);
    spec.skipped_below = 0.01;
    spec.denominator_from_rounded_p = from_rounded_p;
    const Reference reference =
        compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
    const std::vector<float> z = errors_without_skipped_keys(filled, spec, reference);
    const ScaleTest shrink =
        test_scale(filled.geometry, filled.view(), spec, reference, z, {}).shrink;
    EXPECT_LT(shrink.effect, -0.3);
    EXPECT_LT(shrink.percent_of_limit(), 100);
    EXPECT_GT(shrink.percent_of_limit(), 70) << "a wider limit would go unseen";
  }
}

// The reference says which rows have a usual rounding of P. Without that, the test looks for the
// cells of every row, and finds the same.
TEST(ScaleLimits, UsualRowsNeedNoCells) {
  bool some_plain = false, some_not = false;
  for (const Law law : {Law::normal, Law::peaky, Law::near_uniform, Law::exact}) {
    for (const bool normalized : {false, true}) {
      Problem problem;
      problem.heads_q = 2;
      problem.seq_q = 30, problem.seq_kv = 200;
      problem.mask = Mask::causal_bottom_right;
      problem.law = law;
      const FilledProblem filled(problem);
      RoundingSpec spec = strict_spec(problem);
      spec.p_normalized = normalized;
      Reference reference =
          compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
      std::vector<float> z(reference.o.size());
      for (std::size_t at = 0; at < z.size(); ++at) z[at] = std::sin(static_cast<float>(at));
      const auto tested = [&] {
        return test_scale(filled.geometry, filled.view(), spec, reference, z, {});
      };
      const ScaleTests known = tested();
      some_plain |= std::ranges::count(reference.plain_p, 1) > 0;
      some_not |= std::ranges::count(reference.plain_p, 0) > 0;
      reference.plain_p.clear();
      const ScaleTests unknown = tested();
      for (const auto test : {&ScaleTests::shrink, &ScaleTests::temperature}) {
        EXPECT_EQ((known.*test).effect, (unknown.*test).effect) << name(law);
        EXPECT_EQ((known.*test).limit, (unknown.*test).limit) << name(law);
      }
    }
  }
  EXPECT_TRUE(some_plain);
  EXPECT_TRUE(some_not);
}

}  // namespace
}  // namespace plumbline
