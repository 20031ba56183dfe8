// Variance of suite sums whose cases share rows.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "harness/judge/shared_rows.h"
#include "harness/problem/inputs.h"

namespace plumbline {
namespace {

double variance_of(std::initializer_list<const char*> problems) {
  SharedRows rows;
  for (const char* id : problems) rows.add(parse_problem_id(id).value());
  return rows.variance();
}

TEST(SharedRows, OtherSeedsShareNone) {
  EXPECT_EQ(variance_of({}), 0);
  EXPECT_EQ(variance_of({"bf16/b1-h2-s5x40-d64", "bf16/b1-h2-s5x40-d64/seed=2",
                         "bf16/b1-h2-s5x40-d64/seed=3"}),
            3);
  EXPECT_EQ(variance_of({"bf16/b1-h2-s5x40-d64", "bf16/b1-h2-s5x40-d128"}), 2);
  EXPECT_EQ(variance_of({"bf16/b1-h2-s5x40-d64", "bf16/b1-h2-s5x40-d64/law=peaky"}), 2);
}

TEST(SharedRows, LayoutSharesAll) {
  EXPECT_NEAR(variance_of({"bf16/b2-h2-s5x40-d64", "bf16/b2-h2-s5x40-d64/layout=paged_nhd",
                           "bf16/b2-h2-s5x40-d64/layout=ragged"}),
              9, 1e-9);
}

TEST(SharedRows, CasesWithoutLseShareAll) {
  EXPECT_NEAR(variance_of({"bf16/b2-h2-s5x40-d64", "bf16/b2-h2-s5x40-d64/lse=false"}), 4, 1e-9);
}

// The last 5 queries of 10 are those of a problem with 5.
TEST(SharedRows, LastQueriesAreShared) {
  EXPECT_NEAR(variance_of({"bf16/b1-h2-s5x40-d64", "bf16/b1-h2-s10x40-d64"}),
              2 + 2 * 10 / std::sqrt(10 * 20), 1e-9);
}

// A single query has the position of the last key: 9 of 10 keys, 39 of 40. The query of 10 keys
// equals query 9 of 40 causal queries.
TEST(SharedRows, PositionsMustAgree) {
  EXPECT_EQ(variance_of({"bf16/b1-h1-s1x10-d64", "bf16/b1-h1-s1x40-d64"}), 2);
  EXPECT_NEAR(variance_of({"bf16/b1-h1-s1x10-d64", "bf16/b1-h1-s40-d64/mask=causal_bottom_right"}),
              2 + 2 / std::sqrt(40), 1e-9);
}

TEST(SharedRows, CommonKeysCountAlone) {
  EXPECT_NEAR(variance_of({"bf16/b1-h1-s1x40-d64", "bf16/b1-h1-s1x40-d64/window=9,0"}),
              2 + 2 * 10 / std::sqrt(10 * 40), 1e-9);
}

// A custom mask also hides keys between the first and the last visible one.
TEST(SharedRows, KeysHiddenWithinRangeDoNotCount) {
  const char* masked = "bf16/b1-h1-s2x40-d64/mask=custom";
  const Geometry geometry(parse_problem_id(masked).value());
  double variance = 2;
  for (std::int64_t row = 0; row < 2; ++row) {
    std::int64_t seen = 0;
    for (std::int64_t key = 0; key < 40; ++key) seen += geometry.sees(0, row, key) ? 1 : 0;
    ASSERT_GT(seen, 0);
    ASSERT_LT(seen, geometry.visible_keys(0, row).size() - 5);
    variance += std::sqrt(static_cast<double>(seen) / 40);
  }
  EXPECT_NEAR(variance_of({"bf16/b1-h1-s2x40-d64", masked}), variance, 1e-9);
}

// If 4 query heads share 2 key heads, query heads 0 and 1 read key head 0. If there are 2 of each,
// they read key heads 0 and 1.
TEST(SharedRows, KeyHeadsMustAgree) {
  EXPECT_NEAR(variance_of({"bf16/b1-h2-s1x40-d64", "bf16/b1-h4x2-s1x40-d64"}),
              2 + 2 / std::sqrt(2 * 4), 1e-9);
}

// P does not depend on the width of V, and a narrower V has the first columns of a wider one.
TEST(SharedRows, WiderVSharesAll) {
  EXPECT_NEAR(variance_of({"bf16/b2-h2-s5x40-d64", "bf16/b2-h2-s5x40-d64x128"}), 4, 1e-9);
  const auto values = [](std::int64_t width) {
    Problem problem = parse_problem_id("fp32/b1-h1-s1x2-d64").value();
    problem.head_dim_vo = width;
    const Geometry geometry(problem);
    std::vector<std::byte> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
    fill_inputs(geometry, q.data(), k.data(), v.data());
    std::vector<double> columns;
    for (std::size_t j = 0; j < 40; ++j) columns.push_back(decode_at(DType::f32, v.data(), j));
    return columns;
  };
  EXPECT_EQ(values(40), values(72));
}

TEST(SharedRows, CasesWithoutRowsCount) {
  EXPECT_EQ(variance_of({"bf16/b1-h1-s0x40-d64", "bf16/b1-h1-s0x40-d64"}), 2);
}

double variance_of_recordings(const std::string& first, const std::string& second,
                              std::int64_t window) {
  Problem problem = parse_problem_id("bf16/b1-h1-s1x40-d64").value();
  problem.inputs = first;
  SharedRows rows;
  rows.add(problem);
  problem.inputs = second;
  if (window > 0) problem.window_left = window - 1, problem.window_right = 0;
  rows.add(problem);
  return rows.variance();
}

// The recorded files are missing, as on a machine that only judges stored runs.
TEST(SharedRows, RecordingSharesRowsWithItself) {
  const std::string layer = "layer.safetensors@01234567";
  EXPECT_NEAR(variance_of_recordings(layer, layer, 0), 4, 1e-9);
  EXPECT_NEAR(variance_of_recordings(layer, layer, 10), 2 + 2 * 10 / std::sqrt(10 * 40), 1e-9);
  EXPECT_NEAR(variance_of_recordings(layer, "copy.safetensors@01234567", 0), 4, 1e-9);
  EXPECT_EQ(variance_of_recordings(layer, "layer.safetensors@76543210", 0), 2);
}

TEST(SharedRows, RecordingWithoutDigestSharesAll) {
  EXPECT_NEAR(variance_of_recordings("layer.safetensors", "layer.safetensors", 10), 4, 1e-9);
  EXPECT_EQ(variance_of_recordings("layer.safetensors", "other.safetensors", 0), 2);
}

}  // namespace
}  // namespace plumbline
