// Generated inputs keep the promises of each law in inputs.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/inputs/filled.h"

namespace plumbline {
namespace {

Problem problem_with(Law law, VLaw v_law = VLaw::normal) {
  Problem problem;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 24;
  problem.seq_kv = 600;
  problem.law = law;
  problem.v_law = v_law;
  return problem;
}

struct LogitSummary {
  double largest = 0;          // max |s|
  double deviation = 0;        // sqrt(mean s^2)
  std::vector<double> top;     // largest weight of each row, sorted
  std::vector<double> spread;  // max - min of each row
};
LogitSummary summarize(const Filled& inputs) {
  LogitSummary summary;
  double squares = 0, count = 0;
  const Problem& problem = inputs.geometry.problem();
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t row = 0; row < inputs.geometry.length_q(sample); ++row) {
      for (std::int64_t head = 0; head < problem.heads_q; ++head) {
        const std::vector<double> s = inputs.logits(sample, row, head);
        const auto [low, high] = std::minmax_element(s.begin(), s.end());
        double denominator = 0;
        for (const double logit : s) {
          denominator += std::exp(logit - *high);
          squares += logit * logit;
          summary.largest = std::max(summary.largest, std::fabs(logit));
        }
        count += static_cast<double>(s.size());
        summary.top.push_back(1 / denominator);
        summary.spread.push_back(*high - *low);
      }
    }
  }
  summary.deviation = std::sqrt(squares / count);
  std::sort(summary.top.begin(), summary.top.end());
  return summary;
}
double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

TEST(Laws, NormalAndUniformLogits) {
  const LogitSummary normal = summarize(Filled(problem_with(Law::normal)));
  EXPECT_NEAR(normal.deviation, 1, 0.03);
  EXPECT_LT(normal.top.back(), 0.2);
  const LogitSummary uniform = summarize(Filled(problem_with(Law::uniform)));
  EXPECT_NEAR(uniform.deviation, 1.0 / 3, 0.01);
}

TEST(Laws, LlmOutlierChannelsArePerHead) {
  Problem problem = problem_with(Law::llm);
  problem.head_dim_qk = 100;
  const Filled inputs(problem);
  std::vector<double> rms(100, 0);
  for (std::int64_t key = 0; key < 600; ++key) {
    const std::vector<float> row = inputs.key(0, key, 0);
    for (std::size_t d = 0; d < row.size(); ++d) rms[d] += double{row[d]} * double{row[d]} / 600;
  }
  for (double& x : rms) x = std::sqrt(x);
  EXPECT_EQ(std::count_if(rms.begin(), rms.end(), [](double x) { return x > 7 && x < 22; }), 3);
  EXPECT_EQ(std::count_if(rms.begin(), rms.end(), [](double x) { return x > 0.8 && x < 1.2; }), 97);
}

TEST(Laws, LlmLogitsReachThirtyToSeventy) {
  const LogitSummary summary = summarize(Filled(problem_with(Law::llm)));
  EXPECT_GT(summary.largest, 30);
  EXPECT_LT(summary.largest, 75);
}

TEST(Laws, PeakyRowsAreNearlyOneHot) {
  const LogitSummary summary = summarize(Filled(problem_with(Law::peaky)));
  EXPECT_NEAR(summary.deviation, 16, 0.5);
  EXPECT_GT(median(summary.top), 0.9);
}

TEST(Laws, NearUniformWeightsAreNearlyEqual) {
  const LogitSummary summary = summarize(Filled(problem_with(Law::near_uniform)));
  EXPECT_LT(*std::max_element(summary.spread.begin(), summary.spread.end()), 0.01);
  EXPECT_GT(summary.spread.front(), 0);
}

TEST(Laws, SinkDominatesEveryRow) {
  for (const std::int64_t keys : {20, 600, 5000}) {
    Problem problem = problem_with(Law::sink);
    problem.seq_kv = keys;
    problem.seq_q = 4;
    const Filled inputs(problem);
    const LogitSummary summary = summarize(inputs);
    EXPECT_GT(summary.top.front(), 0.9) << keys;
    EXPECT_LT(summary.top.back(), 0.98) << keys;
    std::vector<double> s = inputs.logits(1, 0, 3);
    EXPECT_EQ(std::max_element(s.begin(), s.end()), s.begin());
    const auto [low, high] = std::minmax_element(s.begin() + 1, s.end());
    EXPECT_LT(*high - *low, 0.6) << "the tail is flat";
  }
}

TEST(Laws, NeedleIsSharedByQueryGroup) {
  Problem problem = problem_with(Law::needle);
  problem.batch = 4;
  problem.seq_q = 8;
  const Filled inputs(problem);
  std::set<std::ptrdiff_t> needles;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t head_kv = 0; head_kv < problem.heads_kv; ++head_kv) {
      std::set<std::ptrdiff_t> of_group;
      for (std::int64_t head = head_kv * 2; head < head_kv * 2 + 2; ++head) {
        for (std::int64_t row = 0; row < problem.seq_q; ++row) {
          const std::vector<double> s = inputs.logits(sample, row, head);
          of_group.insert(std::max_element(s.begin(), s.end()) - s.begin());
        }
      }
      EXPECT_EQ(of_group.size(), 1U);
      needles.merge(of_group);
    }
  }
  EXPECT_GE(needles.size(), 7U) << "eight heads of samples, positions from 0 to 599";
  EXPECT_GT(median(summarize(inputs).top), 0.95);
}

TEST(Laws, ExactLogitsAreEqualOrFarApart) {
  for (const std::int64_t dims : {1, 2, 3, 40, 64, 192, 512}) {
    Problem problem = problem_with(Law::exact);
    problem.head_dim_qk = dims;
    problem.seq_q = 3;
    problem.seq_kv = 9;
    const Filled inputs(problem);
    for (std::int64_t head = 0; head < problem.heads_q; ++head) {
      const std::vector<double> s = inputs.logits(1, 2, head);
      EXPECT_LT(std::fabs(s[0]), 1) << dims;
      for (std::size_t key = 2; key < s.size(); key += 2) EXPECT_EQ(s[key], s[0]) << dims;
      for (std::size_t key = 1; key < s.size(); key += 2) EXPECT_LT(s[key], s[0] - 150) << dims;
    }
  }
}

// Tests the promise of row_is_exact with an fp32 kernel that rounds as coarsely as is legal: P to
// bf16, and the scale folded into one fma.
TEST(Laws, ExactRowsHaveNoError) {
  Problem problem = problem_with(Law::exact, VLaw::grid);
  problem.seq_q = 1;
  problem.out_dtype = DType::f32;
  const Filled inputs(problem);
  const float scale = 1.44269504F / 8;
  int representable = 0;
  for (const std::int64_t visible : {2, 8, 64, 512}) {
    ASSERT_TRUE(row_is_exact(problem, visible));
    for (std::int64_t begin = 0; begin < 3; ++begin) {
      const std::vector<double> logits = inputs.logits(0, 0, 0);
      float maximum = -INFINITY;
      for (std::int64_t key = begin; key < begin + visible; ++key) {
        maximum = std::max(maximum, static_cast<float>(8 * logits[static_cast<std::size_t>(key)]));
      }
      float denominator = 0, numerator = 0;
      double exact = 0;
      for (std::int64_t key = begin; key < begin + visible; ++key) {
        const float s = static_cast<float>(8 * logits[static_cast<std::size_t>(key)]);
        const float p = std::exp2(std::fma(s, scale, -(maximum * scale)));
        const float v = inputs.value(0, key, 0)[5];
        denominator += p;
        numerator = std::fma(static_cast<float>(round_to(p, DType::bf16)), v, numerator);
        if (key % 2 == 0) exact += double{v} / (static_cast<double>(visible) / 2);
      }
      EXPECT_EQ(double{numerator / denominator}, exact) << visible << " keys from " << begin;
      representable += round_to(exact, DType::bf16) == exact ? 1 : 0;
    }
  }
  EXPECT_GE(representable, 6) << "most sums of the grid fit even bf16";
}

TEST(Laws, RowIsExactChecksConditions) {
  const Problem exact = problem_with(Law::exact, VLaw::grid);
  for (const std::int64_t visible : {1, 2, 4, 4096})
    EXPECT_TRUE(row_is_exact(exact, visible)) << visible;
  for (const std::int64_t visible : {0, 3, 12, 4095, 8192})
    EXPECT_FALSE(row_is_exact(exact, visible)) << visible;
  Problem fp32_output = exact;
  fp32_output.out_dtype = DType::f32;
  EXPECT_FALSE(row_is_exact(fp32_output, 1));
  Problem holes = exact;  // any number of the visible keys may have odd indices
  holes.mask = Mask::custom;
  EXPECT_FALSE(row_is_exact(holes, 4));
  EXPECT_FALSE(row_is_exact(problem_with(Law::exact), 4));
  EXPECT_FALSE(row_is_exact(problem_with(Law::normal, VLaw::grid), 4));
  for (const auto member : {&Problem::k_scale, &Problem::v_scale, &Problem::scale}) {
    Problem scaled = exact;
    scaled.*member = 0.5;
    EXPECT_FALSE(row_is_exact(scaled, 4));
  }
}

std::vector<float> all_values(const Filled& inputs) {
  std::vector<float> values;
  for (std::int64_t key = 0; key < inputs.geometry.length_kv(0); ++key) {
    const std::vector<float> row = inputs.value(0, key, 1);
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}
double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(VLaws, MeansAndRanges) {
  EXPECT_NEAR(mean(all_values(Filled(problem_with(Law::normal, VLaw::normal)))), 0, 0.03);
  EXPECT_NEAR(mean(all_values(Filled(problem_with(Law::normal, VLaw::large_mean)))), 10, 0.03);
  for (const float v : all_values(Filled(problem_with(Law::normal, VLaw::uniform))))
    ASSERT_LE(std::fabs(v), 1);
  for (const float v : all_values(Filled(problem_with(Law::normal, VLaw::grid)))) {
    ASSERT_EQ(v * 8, std::round(v * 8));
    ASSERT_LE(std::fabs(v), 2);
  }
  const std::vector<float> band = all_values(Filled(problem_with(Law::normal, VLaw::band)));
  EXPECT_NEAR(mean(band), 24, 0.08);
  EXPECT_GE(*std::min_element(band.begin(), band.end()), 20);
  EXPECT_LE(*std::max_element(band.begin(), band.end()), 28);
}

TEST(VLaws, ConstantColumns) {
  const Filled inputs(problem_with(Law::normal, VLaw::constant));
  const std::vector<float> first = inputs.value(0, 0, 0);
  EXPECT_EQ(inputs.value(0, 599, 0), first);
  EXPECT_NE(inputs.value(0, 0, 1), first);
  EXPECT_NE(inputs.value(1, 0, 0), first);
  EXPECT_EQ(std::set<float>(first.begin(), first.end()).size() > 50, true) << "columns differ";
}

TEST(Scales, MultiplyBeforeRounding) {
  Problem problem = problem_with(Law::normal);
  problem.dtype = DType::f32;
  const Filled plain(problem);
  problem.k_scale = 0.3;
  problem.v_scale = 0;
  const Filled scaled(problem);
  const std::vector<float> before = plain.key(1, 17, 1), after = scaled.key(1, 17, 1);
  for (std::size_t d = 0; d < before.size(); ++d) EXPECT_EQ(after[d], before[d] * 0.3F);
  for (const float v : all_values(scaled)) ASSERT_TRUE(v == 0 && !std::signbit(v));
  EXPECT_EQ(scaled.query(0, 3, 2), plain.query(0, 3, 2));
}

TEST(Laws, NegativeLogitsAreEightyLower) {
  const LogitSummary negative = summarize(Filled(problem_with(Law::negative_logits)));
  EXPECT_NEAR(negative.deviation, 80, 2);
  EXPECT_LT(negative.largest, 90);
  EXPECT_GT(median(negative.top), 0.005);  // otherwise like normal
}

TEST(Laws, RampRisesWithTheKey) {
  const Filled inputs(problem_with(Law::ramp));
  const std::vector<double> s = inputs.logits(1, 3, 2);
  for (std::size_t begin = 100; begin + 100 <= s.size(); begin += 100) {
    const auto top = [&](std::size_t from) {
      return *std::max_element(s.begin() + static_cast<std::ptrdiff_t>(from),
                               s.begin() + static_cast<std::ptrdiff_t>(from + 100));
    };
    EXPECT_GT(top(begin), top(begin - 100) + 3);
  }
  EXPECT_NEAR(s.back() - s.front(), 30, 4);
}

TEST(Laws, ExtremeProductsExceedFp16) {
  const Filled inputs(problem_with(Law::extreme));
  const LogitSummary extreme = summarize(inputs);
  const double edge = 65504 / std::sqrt(static_cast<double>(inputs.geometry.problem().head_dim_qk));
  EXPECT_NEAR(extreme.deviation, edge, 0.02 * edge);
  EXPECT_GT(extreme.largest, edge);
}

TEST(Laws, NearTiesShareLargeCommonPart) {
  const LogitSummary ties = summarize(Filled(problem_with(Law::near_ties)));
  EXPECT_NEAR(ties.deviation, 4, 2);
  for (const double spread : ties.spread) EXPECT_LT(spread, 0.8);
  EXPECT_LT(ties.top.back(), 2.0 / 600);
}

TEST(Laws, TinyOutputCancels) {
  const std::vector<float> values =
      all_values(Filled(problem_with(Law::normal, VLaw::tiny_output)));
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_LT(std::fabs(sum / count), 0.001);
  EXPECT_GT(squares / count, 0.5);
}

}  // namespace
}  // namespace plumbline
