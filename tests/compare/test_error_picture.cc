// Tests the error histogram and heat map: which elements are counted where, and the expected curve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "harness/compare/error_picture_builder.h"
#include "harness/compare/statistics.h"
#include "harness/outcome/expected_errors.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

using test::FilledProblem;
using test::small_problem;
using testing::Each;

constexpr double infinity = std::numeric_limits<double>::infinity();

double sum(const std::vector<std::uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

TEST(ErrorPicture, CodesAreWithinTwoPercent) {
  for (double size = 1.0 / 16; size < 3500; size *= 1.01)
    EXPECT_NEAR(map_size(map_code(size)) / size, 1, 0.022) << size;
  EXPECT_EQ(map_code(0), 1);
  EXPECT_EQ(map_code(1e-9), 1);
  EXPECT_EQ(map_code(1e9), 254);
  EXPECT_EQ(map_code(std::nan("")), 255);
  EXPECT_EQ(map_code(infinity), 255);
}

TEST(ErrorPicture, CountsEveryElementOnce) {
  const FilledProblem filled(small_problem());
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  const ErrorPicture& picture = comparison.picture;
  EXPECT_EQ(sum(picture.histogram), comparison.statistics.elements);
  EXPECT_EQ(sum(picture.spre_ratios), comparison.statistics.elements);
  EXPECT_EQ(picture.map_rows, 6);
  EXPECT_EQ(picture.map_columns, 16);
  double largest = 0;
  for (const std::uint8_t code : picture.map) largest = std::max(largest, map_size(code));
  EXPECT_NEAR(largest / comparison.statistics.peak, 1, 0.022);
}

TEST(ErrorPicture, ShowsPositionAndSize) {
  FilledProblem filled(small_problem());
  const std::size_t row = 17;
  const auto& id = filled.reference.selection.rows[row];
  filled.set(id, 5, filled.expected(row, 5) + 40 * double{filled.reference.sigma[row * 16 + 5]});
  filled.set(id, 6, std::nan(""));
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  const ErrorPicture& picture = comparison.picture;
  EXPECT_EQ(picture.histogram.back(), 1U);
  EXPECT_EQ(sum(picture.histogram), comparison.statistics.elements - 1) << "NaN is in no bin";
  const auto part = [&](std::int64_t column) {
    return picture.map.at(static_cast<std::size_t>(id.row * picture.map_columns + column));
  };
  EXPECT_NEAR(map_size(part(5)), 40, 2);
  EXPECT_EQ(part(6), 255);
}

TEST(ErrorPicture, MapCellsCombineRowsAndColumns) {
  const FilledProblem filled(small_problem());
  ErrorPictureBuilder collected(filled.geometry, 64);
  collected.add(5, 63, -infinity, 1);
  collected.add(0, 0, 0.124, 0);
  collected.add(0, 3, -0.126, 0.5);
  const ErrorPicture picture = collected.finish();
  EXPECT_EQ(picture.map_columns, 16);
  EXPECT_EQ(picture.map.back(), 255);
  EXPECT_EQ(picture.map.front(), map_code(0.126));
  EXPECT_EQ(picture.map[1], 0) << "nothing was added there";
  EXPECT_EQ(picture.histogram[0], 1U);
  EXPECT_EQ(picture.histogram[20], 1U);
  EXPECT_EQ(picture.histogram[19], 1U);
  EXPECT_EQ(picture.spre_ratios[0], 1U);
  EXPECT_EQ(picture.spre_ratios[16], 1U);
  EXPECT_EQ(picture.spre_ratios[31], 1U);
}

TEST(ErrorPicture, EmptyWithoutElements) {
  const FilledProblem filled(small_problem());
  EXPECT_EQ(ErrorPictureBuilder(filled.geometry, 16).finish(), ErrorPicture{});
}

// Draws errors that follow the model's assumptions. `ratio`: spre / sigma.
ErrorPicture drawn(double ratio, double rest, int elements, unsigned seed) {
  const FilledProblem filled(small_problem());
  ErrorPictureBuilder collected(filled.geometry, 16);
  std::mt19937 random(seed);
  const double half = std::sqrt(3 * (1 - ratio * ratio));
  std::uniform_real_distribution<double> output(-half, half);
  std::normal_distribution<double> others(0, rest * ratio);
  for (int i = 0; i < elements; ++i)
    collected.add(i % 6, i % 16, output(random) + others(random), ratio);
  return collected.finish();
}

TEST(ExpectedErrors, MatchDrawnErrors) {
  for (const double ratio : {0.016, 0.4, 0.7, 0.98}) {
    for (const double rest : {1.0, 0.6}) {
      const ErrorPicture picture = drawn(ratio, rest, 200'000, 7);
      const ErrorCurve expected = expected_errors(picture, rest);
      EXPECT_NEAR(std::accumulate(expected.begin(), expected.end(), 0.0), 200'000, 1e-6);
      EXPECT_EQ(bins_outside(picture, band_about(expected, 1)), 0) << ratio << " " << rest;
      const double rms = std::sqrt(1 - ratio * ratio * (1 - rest * rest));
      if (ratio > 0.3) {
        EXPECT_NEAR(rest_of(picture, rms), rest, 0.05) << ratio;
      }
    }
  }
}

TEST(ExpectedErrors, LargerErrorsLeaveBand) {
  const ErrorPicture larger = drawn(0.8, 1.3, 20'000, 7);
  EXPECT_GT(bins_outside(larger, band_about(expected_errors(larger, rest_of(larger, 1.2)), 1)), 4);
  EXPECT_EQ(rest_of(larger, 1.2), 1) << "a spec permits no more";
}

TEST(ExpectedErrors, NoneForEmptyPicture) {
  EXPECT_THAT(expected_errors({}), Each(0.0));
  EXPECT_EQ(bins_outside({}, band_about(expected_errors({}), 64)), 0);
}

}  // namespace
}  // namespace plumbline
