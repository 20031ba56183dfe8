// The selected rows respect the cost limit and cover edges, samples and heads, always in the same
// way.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "harness/reference/reference.h"

namespace plumbline {
namespace {

Problem paged_prefill() {
  Problem problem;
  problem.batch = 3;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 400;
  problem.seq_kv = 700;
  problem.mask = Mask::causal_bottom_right;
  problem.layout = Layout::paged_nhd;
  problem.lengths = Lengths::random;
  return problem;
}

double cost(const Geometry& geometry, const std::vector<RowId>& rows) {
  double sum = 0;
  for (const RowId& id : rows)
    sum += static_cast<double>(geometry.visible_keys(id.sample, id.row).size()) * 128;
  return sum;
}

bool contains(const RowSelection& selection, RowId id) {
  return std::find(selection.rows.begin(), selection.rows.end(), id) != selection.rows.end();
}

bool precedes(const RowId& a, const RowId& b) {
  return std::tie(a.sample, a.head, a.row) < std::tie(b.sample, b.head, b.row);
}

TEST(Sampling, TakesAllRowsWithinTheLimit) {
  const Geometry geometry(paged_prefill());
  const RowSelection all = select_rows(geometry, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(all.sampled);
  EXPECT_EQ(all.rows_total, geometry.total_q() * 4);
  EXPECT_EQ(static_cast<std::int64_t>(all.rows.size()), all.rows_total);
  EXPECT_TRUE(std::is_sorted(all.rows.begin(), all.rows.end(), precedes));
  const RowSelection just = select_rows(geometry, cost(geometry, all.rows));
  EXPECT_FALSE(just.sampled);
  EXPECT_TRUE(select_rows(geometry, cost(geometry, all.rows) - 1).sampled);
}

TEST(Sampling, RespectsAndUsesCostLimit) {
  const Geometry geometry(paged_prefill());
  const double total =
      cost(geometry, select_rows(geometry, std::numeric_limits<double>::infinity()).rows);
  for (const double share : {0.1, 0.3, 0.7}) {
    const RowSelection some = select_rows(geometry, share * total);
    EXPECT_TRUE(some.sampled);
    EXPECT_LE(cost(geometry, some.rows), share * total);
    EXPECT_GE(cost(geometry, some.rows), 0.6 * share * total);
    EXPECT_TRUE(std::is_sorted(some.rows.begin(), some.rows.end(), precedes));
    EXPECT_EQ(std::adjacent_find(some.rows.begin(), some.rows.end()), some.rows.end());
    EXPECT_EQ(some.rows_total, geometry.total_q() * 4);
  }
}

void expect_edges(const Problem& problem) {
  const Geometry geometry(problem);
  const RowSelection some = select_rows(
      geometry,
      0.4 * cost(geometry, select_rows(geometry, std::numeric_limits<double>::infinity()).rows));
  for (std::int32_t sample = 0; sample < 3; ++sample) {
    const auto length = static_cast<std::int32_t>(geometry.length_q(sample));
    std::set<std::int32_t> edges{0, length - 1};
    for (std::int32_t edge = 64; edge < length; edge += 64) edges.insert({edge - 1, edge});
    const auto keys = geometry.length_kv(sample);
    for (std::int32_t row = 0; row < length; ++row) {
      const std::int64_t position = row + keys - length;
      if (position >= 0 && position / 16 == (keys - 1) / 16) edges.insert(row);  // in the last page
      const bool first_with_key = geometry.visible_keys(sample, row).size() > 0 &&
                                  (row == 0 || geometry.visible_keys(sample, row - 1).size() == 0);
      if (first_with_key) edges.insert(row);
    }
    for (std::int32_t head = 0; head < 4; ++head) {
      for (const std::int32_t row : edges)
        EXPECT_TRUE(contains(some, {sample, head, row})) << sample << " " << head << " " << row;
    }
  }
}

TEST(Sampling, ContainsTheEdges) { expect_edges(paged_prefill()); }

TEST(Sampling, ContainsRowsOfFullLastPage) {
  Problem problem = paged_prefill();
  problem.lengths = Lengths::full;
  problem.seq_kv = 44 * problem.page_size;
  expect_edges(problem);
}

TEST(Sampling, ContainsFirstRowSeeingAllKeys) {
  Problem problem = paged_prefill();
  problem.mask = Mask::causal_top_left;
  problem.lengths = Lengths::full;
  problem.layout = Layout::padded_bshd;
  problem.seq_q = 700;
  problem.seq_kv = 300;
  const Geometry geometry(problem);
  const RowSelection some = select_rows(geometry, 100 * 300 * 128.0);
  for (std::int32_t sample = 0; sample < 3; ++sample) {
    for (std::int32_t head = 0; head < 4; ++head) EXPECT_TRUE(contains(some, {sample, head, 299}));
  }
}

TEST(Sampling, CoversEverySampleAndHead) {
  const Geometry geometry(paged_prefill());
  const RowSelection few = select_rows(geometry, 1);
  EXPECT_TRUE(few.sampled);
  std::set<std::pair<int, int>> met;
  for (const RowId& id : few.rows) met.insert({id.sample, id.head});
  EXPECT_EQ(met.size(), 12U);
  EXPECT_EQ(few.rows.size(), 12U);
}

TEST(Sampling, DeterministicForEachSeed) {
  Problem problem = paged_prefill();
  problem.lengths = Lengths::full;
  const double limit = 200 * 700 * 128.0;
  const RowSelection a = select_rows(Geometry(problem), limit),
                     b = select_rows(Geometry(problem), limit);
  EXPECT_EQ(a.rows, b.rows);
  problem.seed = 2;
  EXPECT_NE(a.rows, select_rows(Geometry(problem), limit).rows);
}

// A quarter of the cost is for rows that change from night to night. The others stay.
TEST(Sampling, RotationChangesQuarterOfCost) {
  Problem problem = paged_prefill();
  problem.lengths = Lengths::full;
  const Geometry geometry(problem);
  const double limit = 800 * 700 * 128.0;
  const auto part = [](const RowSelection& selection, bool rotating) {
    std::vector<RowId> rows;
    for (std::size_t i = 0; i < selection.rows.size(); ++i) {
      if (selection.rotating.at(i) == rotating) rows.push_back(selection.rows[i]);
    }
    return rows;
  };
  const RowSelection monday = select_rows(geometry, limit, 20260105),
                     tuesday = select_rows(geometry, limit, 20260106);
  EXPECT_TRUE(select_rows(geometry, limit).rotating.empty());
  EXPECT_EQ(part(monday, false), part(tuesday, false));
  EXPECT_NE(part(monday, true), part(tuesday, true));
  EXPECT_EQ(monday.rows, select_rows(geometry, limit, 20260105).rows);
  EXPECT_LE(cost(geometry, monday.rows), limit);
  EXPECT_NEAR(cost(geometry, part(monday, false)) / limit, 0.75, 0.02);
  EXPECT_GE(cost(geometry, part(monday, true)) / limit, 0.2);
  EXPECT_TRUE(std::is_sorted(monday.rows.begin(), monday.rows.end(), precedes));
}

// The nights leave out a row with probability 0.001. At least 98 % of the rows must be taken.
TEST(Sampling, RotationsReachNearlyAllRows) {
  const Geometry geometry(paged_prefill());
  const RowSelection all = select_rows(geometry, std::numeric_limits<double>::infinity());
  const double limit = 0.4 * cost(geometry, all.rows);
  std::set<std::tuple<int, int, int>> met;
  for (std::int64_t night = 1; night <= 70; ++night) {
    for (const RowId& id : select_rows(geometry, limit, night).rows)
      met.insert({id.sample, id.head, id.row});
  }
  EXPECT_GE(static_cast<double>(met.size()), 0.98 * static_cast<double>(all.rows.size()));
}

}  // namespace
}  // namespace plumbline
