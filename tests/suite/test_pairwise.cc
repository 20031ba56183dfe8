// Few combinations contain every possible pair and no forbidden one, and are the same each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/suite/pairwise.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

using Sizes = std::vector<std::size_t>;
using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
const auto anything = [](const Combination&) { return true; };

std::vector<Combination> covering(const Sizes& sizes,
                                  const std::function<bool(const Combination&)>& allowed) {
  std::size_t tries_left = static_cast<std::size_t>(-1);
  return all_pairs(sizes, allowed, tries_left);
}

std::set<Pair> pairs_in(const std::vector<Combination>& rows) {
  std::set<Pair> pairs;
  for (const Combination& row : rows) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) pairs.emplace(a, row[a], b, row[b]);
    }
  }
  return pairs;
}

std::size_t pair_count(const Sizes& sizes) {
  std::size_t count = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) count += sizes[a] * sizes[b];
  }
  return count;
}

std::vector<Combination> everything(const Sizes& sizes) {
  std::vector<Combination> rows{Combination{}};
  for (const std::size_t size : sizes) {
    std::vector<Combination> longer;
    for (const Combination& row : rows) {
      for (std::size_t value = 0; value < size; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

TEST(PairwiseTest, EveryPairOccursInFewCombinations) {
  for (Sizes sizes :
       {Sizes{2, 2}, Sizes{3, 3, 3, 3}, Sizes{2, 2, 2, 2, 2, 2, 2, 2}, Sizes{5, 4, 3, 2},
        Sizes{3, 3, 5, 6, 4, 8, 3, 5, 3}, Sizes{1, 7, 1, 2}, Sizes{10, 10, 10}}) {
    const auto rows = covering(sizes, anything);
    EXPECT_EQ(pairs_in(rows).size(), pair_count(sizes));
    std::sort(sizes.rbegin(), sizes.rend());
    EXPECT_GE(rows.size(), sizes[0] * sizes[1]) << "fewer is impossible";
    EXPECT_LE(rows.size(), 2 * std::max<std::size_t>(sizes[0] * sizes[1], 6));
  }
}

TEST(PairwiseTest, TwoDimensionsGiveFullProduct) {
  EXPECT_EQ(covering(Sizes{4, 5}, anything).size(), 20u);
}

TEST(PairwiseTest, OneDimensionAndNone) {
  EXPECT_THAT(covering(Sizes{3}, anything),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(covering(Sizes{}, anything), ElementsAre(ElementsAre()));
  EXPECT_THAT(covering(Sizes{3}, [](const Combination& c) { return c[0] != 1; }),
              ElementsAre(ElementsAre(0), ElementsAre(2)));
  EXPECT_TRUE(covering(Sizes{}, [](const Combination&) { return false; }).empty());
}

TEST(PairwiseTest, IsDeterministic) {
  const Sizes sizes{4, 3, 5, 2, 6};
  EXPECT_EQ(covering(sizes, anything), covering(sizes, anything));
}

// Expects that every pair in an allowed combination is covered, and that no combination is
// forbidden.
void expect_restricted_cover(const Sizes& sizes,
                             const std::function<bool(const Combination&)>& allowed) {
  std::vector<Combination> possible = everything(sizes);
  possible.erase(
      std::remove_if(possible.begin(), possible.end(), [&](const auto& c) { return !allowed(c); }),
      possible.end());
  const auto rows = covering(sizes, allowed);
  EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), allowed));
  EXPECT_EQ(pairs_in(rows), pairs_in(possible));
}

TEST(PairwiseTest, ForbiddenCombinationsAreAvoided) {
  const Sizes sizes{3, 4, 3, 2, 3};
  expect_restricted_cover(sizes, [](const Combination& c) { return !(c[0] == 1 && c[1] == 2); });
  expect_restricted_cover(
      sizes, [](const Combination& c) { return !(c[0] == 1 && c[1] == 2 && c[2] == 0); });
  expect_restricted_cover(sizes, [](const Combination& c) { return c[4] != 2; });
  expect_restricted_cover(
      sizes, [](const Combination& c) { return (c[0] + c[1] + c[2] + c[3] + c[4]) % 3 == 0; });
  expect_restricted_cover(sizes, [](const Combination& c) {
    return c == Combination{2, 3, 2, 1, 2} || c == Combination{0, 0, 0, 0, 0};
  });
  expect_restricted_cover(sizes, [](const Combination&) { return false; });
}

TEST(PairwiseTest, LargeSpacesWithRestrictions) {
  const Sizes sizes{3, 3, 5, 6, 4, 8, 3, 5, 3};  // 583200 combinations
  const auto allowed = [](const Combination& c) {
    return !(c[2] > 2 && c[3] == 0) && !(c[0] == 0 && c[5] % 2 == 1 && c[6] == 2);
  };
  const auto rows = covering(sizes, allowed);
  EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), allowed));
  EXPECT_EQ(pairs_in(rows).size(), pair_count(sizes) - 2)
      << "only (2: 3, 4) with (3: 0) are impossible";
  EXPECT_LE(rows.size(), 96u);
}

TEST(PairwiseTest, StopsWhenTriesRunOut) {
  const Sizes sizes(10, 20);
  std::size_t tries_left = 5000, tries = 0;
  const auto rows = all_pairs(
      sizes, [&](const Combination&) { return ++tries, false; }, tries_left);
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(tries_left, 0u);
  EXPECT_LE(tries, 5000u);
}

}  // namespace
}  // namespace plumbline
