// Tests that error statistics find a planted element, never drop a NaN, and separate heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "harness/base/harness_failure.h"
#include "harness/compare/statistics.h"
#include "harness/compare/unreferenced_rows.h"
#include "harness/reference/rough_pass.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

using test::FilledProblem;
using test::small_problem;

TEST(Statistics, RoundedReferenceIsWithinHalfUlp) {
  const FilledProblem filled(small_problem());
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  EXPECT_EQ(comparison.statistics.elements, 2 * 4 * 6 * 16);
  EXPECT_GT(comparison.statistics.peak, 0);
  EXPECT_LT(comparison.statistics.peak, 1.8);  // half an ulp / (at least ulp / sqrt(12))
  EXPECT_LE(comparison.statistics.max_ulp, 0.5001);
  EXPECT_EQ(comparison.statistics.beyond_output, 0);
  EXPECT_LT(comparison.statistics.lse_z, 1);
}

TEST(Statistics, TruncatedOutputMatchesTruncatingSpec) {
  FilledProblem filled(small_problem());
  filled.spec.out_toward_zero = true;
  filled.reference =
      compute_reference(filled.geometry, filled.inputs(), filled.spec, filled.reference.selection);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::size_t j = 0; j < 16; ++j) {
      const double exact = filled.expected(r, j), nearest = round_to(exact, DType::f16);
      const bool grew = std::abs(nearest) > std::abs(exact);
      filled.set(filled.reference.selection.rows[r], static_cast<std::int64_t>(j),
                 grew ? nearest - std::copysign(ulp(exact, DType::f16), exact) : nearest);
    }
  }
  const auto truncated = compare(filled.geometry, filled.outputs(), filled.reference);
  EXPECT_GT(truncated.statistics.max_ulp, 0.9);
  EXPECT_EQ(truncated.statistics.beyond_output, 0);
  const FilledProblem nearest(small_problem());
  EXPECT_GT(compare(filled.geometry, filled.outputs(), nearest.reference).statistics.beyond_output,
            0.5);
}

TEST(Statistics, StochasticOutputMayMissByUlp) {
  FilledProblem filled(small_problem());
  filled.spec.out_stochastic = true;
  filled.reference =
      compute_reference(filled.geometry, filled.inputs(), filled.spec, filled.reference.selection);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::size_t j = 0; j < 16; ++j) {
      // the farther of the two neighbours
      const double exact = filled.expected(r, j), nearest = round_to(exact, DType::f16);
      filled.set(filled.reference.selection.rows[r], static_cast<std::int64_t>(j),
                 nearest + std::copysign(ulp(exact, DType::f16), exact - nearest));
    }
  }
  const auto farther = compare(filled.geometry, filled.outputs(), filled.reference);
  EXPECT_GT(farther.statistics.max_ulp, 0.9);
  EXPECT_EQ(farther.statistics.beyond_output, 0);
  const FilledProblem nearest(small_problem());
  EXPECT_GT(compare(filled.geometry, filled.outputs(), nearest.reference).statistics.beyond_output,
            0.5);
}

TEST(Statistics, FindsThePlantedElement) {
  FilledProblem filled(small_problem());
  const std::size_t row = 17;
  const double sigma = filled.reference.sigma[row * 16 + 5];
  filled.set(filled.reference.selection.rows[row], 5, filled.expected(row, 5) + 40 * sigma);
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  EXPECT_NEAR(comparison.statistics.peak, 40, 2);
  EXPECT_EQ(comparison.worst[&Limits::peak].row, 17);
  EXPECT_EQ(comparison.worst[&Limits::peak].column, 5);
  EXPECT_GT(comparison.statistics.beyond_output, 20);
  const auto& id = filled.reference.selection.rows[row];
  EXPECT_EQ(element_of(filled.reference, comparison.worst[&Limits::peak]),
            (ElementId{id.sample, id.head, id.row, 5}));
  const auto worst = describe_worst(filled.geometry, filled.inputs(), filled.outputs(), filled.spec,
                                    filled.reference, deciding_statistics.front(),
                                    comparison.worst[&Limits::peak]);
  EXPECT_NEAR((worst.got - worst.expected) / worst.sigma, 40, 2);
  double shares = 0;
  for (const double share : worst.share) shares += share;
  EXPECT_NEAR(shares, 1, 1e-6);
}

TEST(Statistics, NaNIsNeverDropped) {
  for (const std::size_t row : {std::size_t{0}, std::size_t{20}, std::size_t{47}}) {
    FilledProblem filled(small_problem());
    filled.set(filled.reference.selection.rows[row], 3, std::numeric_limits<double>::quiet_NaN());
    const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
    EXPECT_TRUE(std::isnan(comparison.statistics.peak)) << row;
    EXPECT_TRUE(std::isnan(comparison.statistics.rms)) << row;
    EXPECT_TRUE(std::isnan(comparison.statistics.beyond_output)) << row;
    EXPECT_EQ(comparison.worst[&Limits::peak].row, static_cast<std::int64_t>(row));
  }
}

TEST(Statistics, LseInBaseTwo) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    filled.set_lse(filled.reference.selection.rows[r], filled.reference.lse[r] / std::numbers::ln2);
  }
  auto outputs = filled.outputs();
  EXPECT_GT(compare(filled.geometry, outputs, filled.reference).statistics.lse_z, 1000);
  outputs.lse_base = 2;
  EXPECT_LT(compare(filled.geometry, outputs, filled.reference).statistics.lse_z, 1);
}

TEST(Statistics, LseAbsentIfNotReturned) {
  const FilledProblem filled(small_problem());
  auto outputs = filled.outputs();
  outputs.lse = nullptr;
  const auto comparison = compare(filled.geometry, outputs, filled.reference);
  EXPECT_FALSE(comparison.statistics.has_lse);
  EXPECT_EQ(comparison.worst[&Limits::lse].row, -1);
}

// Rows without a reference have three times the limit, and an LSE has a limit of 6 sigma.
TEST(Statistics, UnreferencedLseHasThriceTheLimit) {
  FilledProblem filled(small_problem());
  const std::vector<RowId> rows = filled.reference.selection.rows;
  RowSelection some = filled.reference.selection;
  some.rows.clear();
  some.sampled = true;
  for (std::size_t r = 0; r < rows.size(); r += 8) some.rows.push_back(rows[r]);
  const Reference reference =
      compute_reference(filled.geometry, filled.inputs(), filled.spec, some);
  const RowId wrong = rows[17];
  filled.set_lse(wrong, filled.reference.lse[17] + 0.01);

  const auto read = [&](const RowId& id, std::span<double> output) {
    const std::int64_t offset = filled.geometry.out_offset(id.sample, id.row, id.head);
    decode(DType::f16, filled.out.data() + static_cast<std::size_t>(offset) * 2, output);
    return lse_at(filled.geometry, filled.outputs(), id);
  };
  const RoughPass in_sigmas = compare_unreferenced_rows(filled.geometry, filled.inputs(),
                                                        filled.spec, reference, {read, true});
  ASSERT_EQ(in_sigmas.column, -1);
  ErrorStatistics statistics;
  const auto worst = check_unreferenced_rows(filled.geometry, filled.inputs(), filled.outputs(),
                                             filled.spec, reference, statistics);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->element, (ElementId{wrong.sample, wrong.head, wrong.row, -1}));
  EXPECT_NEAR(statistics.elsewhere / Limits{}.elsewhere * (3 * 6) / in_sigmas.largest, 1, 1e-9);
}

TEST(Statistics, RmsPerHeadFindsWrongHead) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const auto& id = filled.reference.selection.rows[r];
    if (id.sample != 1 || id.head != 2) continue;
    for (std::int64_t j = 0; j < 16; ++j)
      filled.set(id, j, filled.expected(r, static_cast<std::size_t>(j)) * 1.5);
  }
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  ASSERT_EQ(comparison.head_rms.size(), 8U);
  for (std::size_t h = 0; h < 8; ++h) {
    if (h == 6) {
      EXPECT_GT(comparison.head_rms[h], 10);
    } else {
      EXPECT_LT(comparison.head_rms[h], 1);
    }
  }
}

TEST(Statistics, SuiteScoresDetectScaledOutput) {
  FilledProblem filled(small_problem());
  filled.reference = compute_reference(filled.geometry, filled.inputs(), filled.spec,
                                       select_rows(filled.geometry, 1e12), {true});
  const auto exact = compare(filled.geometry, filled.outputs(), filled.reference).statistics;
  ASSERT_TRUE(exact.has_suite_scores);
  EXPECT_LT(std::abs(exact.shrink_z), 3);
  EXPECT_LT(std::abs(exact.temperature_z), 3);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::int64_t j = 0; j < 16; ++j) {
      filled.set(filled.reference.selection.rows[r], j,
                 filled.expected(r, static_cast<std::size_t>(j)) * (1 - 0x1p-9));
    }
  }
  EXPECT_LT(compare(filled.geometry, filled.outputs(), filled.reference).statistics.shrink_z, -10);
}

// A rotating row counts for the maxima that decide, but not for statistics that are compared with
// earlier nights.
TEST(Statistics, RotatingRowsAreExcludedFromMeans) {
  FilledProblem filled(small_problem());
  auto& rotating = filled.reference.selection.rotating;
  rotating.assign(filled.reference.selection.rows.size(), false);
  rotating[7] = true;
  const RowId row = filled.reference.selection.rows[7];
  const auto before = compare(filled.geometry, filled.outputs(), filled.reference);
  filled.set(row, 3, filled.expected(7, 3) + 1);
  filled.set_lse(row, filled.reference.lse[7] + 1);
  const auto after = compare(filled.geometry, filled.outputs(), filled.reference);
  EXPECT_GT(after.statistics.peak, 100);
  EXPECT_GT(after.statistics.lse_z, 100);
  EXPECT_GT(after.statistics.beyond_output, 100);
  EXPECT_EQ(after.worst[&Limits::peak].row, 7);
  EXPECT_EQ(after.statistics.rms, before.statistics.rms);
  EXPECT_EQ(after.head_rms, before.head_rms);
  EXPECT_EQ(after.statistics.mean_abs, before.statistics.mean_abs);
  EXPECT_EQ(after.statistics.max_abs, before.statistics.max_abs);
  EXPECT_EQ(after.statistics.lse_max_abs, before.statistics.lse_max_abs);
  EXPECT_EQ(after.statistics.outside_allclose_1e2, 0);
  EXPECT_EQ(after.statistics.elements, before.statistics.elements);
  rotating[7] = false;
  EXPECT_GT(compare(filled.geometry, filled.outputs(), filled.reference).statistics.rms, 10);
}

TEST(Statistics, FixedTolerancesAreRecorded) {
  FilledProblem filled(small_problem());
  const auto& row = filled.reference.selection.rows[0];
  filled.set(row, 0, filled.expected(0, 0) + 5e-3 * (1 + std::abs(filled.expected(0, 0))));
  const auto s = compare(filled.geometry, filled.outputs(), filled.reference).statistics;
  EXPECT_NEAR(s.outside_allclose_1e3 * static_cast<double>(s.elements), 1, 1e-9);
  EXPECT_EQ(s.outside_allclose_1e2, 0);
}

TEST(Statistics, NanFromFiniteOutputsThrows) {
  FilledProblem filled(small_problem());
  filled.reference.sigma[5] = 0;
  filled.set(filled.reference.selection.rows[0], 5, filled.expected(0, 5));
  filled.reference.o[5] = round_to(filled.expected(0, 5), DType::f16);
  try {
    compare(filled.geometry, filled.outputs(), filled.reference);
    FAIL() << "0 / 0 was taken for a statistic of the kernel";
  } catch (const HarnessFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("internal error: the statistic peak"),
              std::string::npos)
        << failure.what();
  }
  filled.set(filled.reference.selection.rows[0], 4, std::numeric_limits<double>::infinity());
  EXPECT_NO_THROW(compare(filled.geometry, filled.outputs(), filled.reference))
      << "what a kernel gives may be no number";
}

TEST(Statistics, SigmaIsAtLeastHalfSubnormal) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Problem problem = small_problem();
    problem.dtype = dtype;
    problem.v_scale = dtype == DType::f16 ? 1e-7 : 1e-39;
    const FilledProblem filled(problem);
    const float least =
        *std::min_element(filled.reference.sigma.begin(), filled.reference.sigma.end());
    EXPECT_GE(double{least}, half_smallest_subnormal(dtype)) << name(dtype);
    EXPECT_GT(least, 0) << "as a float, too";
  }
}

}  // namespace
}  // namespace plumbline
