// The keys that each query sees, written by hand for few queries, few keys, many masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/problem/geometry.h"

namespace plumbline {

void PrintTo(const KeyRange& range, std::ostream* out) {
  *out << "[" << range.begin << ", " << range.end << ")";
}

namespace {

using testing::ElementsAre;

std::vector<KeyRange> visible(Mask mask, std::int64_t seq_q, std::int64_t seq_kv,
                              std::int64_t left = -1, std::int64_t right = -1) {
  Problem p;
  p.mask = mask;
  p.seq_q = seq_q;
  p.seq_kv = seq_kv;
  p.window_left = left;
  p.window_right = right;
  const Geometry g(p);
  std::vector<KeyRange> ranges;
  for (std::int64_t row = 0; row < seq_q; ++row) ranges.push_back(g.visible_keys(0, row));
  return ranges;
}

KeyRange keys(std::int64_t begin, std::int64_t end) { return {begin, end}; }
constexpr KeyRange nothing{0, 0};

TEST(VisibleKeysTest, NoMask) {
  EXPECT_THAT(visible(Mask::none, 2, 3), ElementsAre(keys(0, 3), keys(0, 3)));
  EXPECT_THAT(visible(Mask::none, 3, 1), ElementsAre(keys(0, 1), keys(0, 1), keys(0, 1)));
}

TEST(VisibleKeysTest, CausalTopLeft) {
  EXPECT_THAT(visible(Mask::causal_top_left, 3, 3),
              ElementsAre(keys(0, 1), keys(0, 2), keys(0, 3)));
  EXPECT_THAT(visible(Mask::causal_top_left, 2, 4), ElementsAre(keys(0, 1), keys(0, 2)));
  EXPECT_THAT(visible(Mask::causal_top_left, 4, 2),
              ElementsAre(keys(0, 1), keys(0, 2), keys(0, 2), keys(0, 2)));
}

TEST(VisibleKeysTest, CausalBottomRight) {
  EXPECT_THAT(visible(Mask::causal_bottom_right, 3, 3),
              ElementsAre(keys(0, 1), keys(0, 2), keys(0, 3)));
  EXPECT_THAT(visible(Mask::causal_bottom_right, 2, 4), ElementsAre(keys(0, 3), keys(0, 4)));
  EXPECT_THAT(visible(Mask::causal_bottom_right, 4, 2),
              ElementsAre(nothing, nothing, keys(0, 1), keys(0, 2)));
  EXPECT_THAT(visible(Mask::causal_bottom_right, 1, 5), ElementsAre(keys(0, 5)))
      << "decode sees everything";
}

TEST(VisibleKeysTest, WindowWithoutMaskIsBottomRight) {
  EXPECT_THAT(visible(Mask::none, 3, 3, 1, 0), ElementsAre(keys(0, 1), keys(0, 2), keys(1, 3)));
  EXPECT_THAT(visible(Mask::none, 3, 3, 0, 1), ElementsAre(keys(0, 2), keys(1, 3), keys(2, 3)));
  EXPECT_THAT(visible(Mask::none, 2, 5, 1, 1), ElementsAre(keys(2, 5), keys(3, 5)));
  EXPECT_THAT(visible(Mask::none, 4, 2, 0, 0),
              ElementsAre(nothing, nothing, keys(0, 1), keys(1, 2)));
  EXPECT_THAT(visible(Mask::none, 4, 2, 0, 1),
              ElementsAre(nothing, keys(0, 1), keys(0, 2), keys(1, 2)));
  EXPECT_THAT(visible(Mask::none, 2, 5, 2, -1), ElementsAre(keys(1, 5), keys(2, 5)));
  EXPECT_THAT(visible(Mask::none, 2, 5, -1, 0), ElementsAre(keys(0, 4), keys(0, 5)));
}

TEST(VisibleKeysTest, WindowUnderCausalMask) {
  EXPECT_THAT(visible(Mask::causal_bottom_right, 3, 5, 1),
              ElementsAre(keys(1, 3), keys(2, 4), keys(3, 5)));
  EXPECT_THAT(visible(Mask::causal_bottom_right, 3, 5, 0),
              ElementsAre(keys(2, 3), keys(3, 4), keys(4, 5)));
  EXPECT_THAT(visible(Mask::causal_bottom_right, 4, 2, 1),
              ElementsAre(nothing, nothing, keys(0, 1), keys(0, 2)));
  EXPECT_THAT(visible(Mask::causal_top_left, 3, 5, 1),
              ElementsAre(keys(0, 1), keys(0, 2), keys(1, 3)));
  EXPECT_THAT(visible(Mask::causal_top_left, 5, 2, 1),
              ElementsAre(keys(0, 1), keys(0, 2), keys(1, 2), nothing, nothing));
}

TEST(VisibleKeysTest, CausalMaskOverridesRightWindow) {
  EXPECT_EQ(visible(Mask::causal_top_left, 3, 5, -1, 3), visible(Mask::causal_top_left, 3, 5));
  EXPECT_EQ(visible(Mask::causal_bottom_right, 3, 5, 2, 3),
            visible(Mask::causal_bottom_right, 3, 5, 2, 0));
}

TEST(VisibleKeysTest, MasksUseSampleLengths) {
  for (const Layout layout : {Layout::padded_bshd, Layout::ragged, Layout::paged_hnd}) {
    Problem p;
    p.batch = 6;
    p.seq_q = 5;
    p.seq_kv = 40;
    p.lengths = Lengths::random;
    p.layout = layout;
    p.mask = Mask::causal_bottom_right;
    const Geometry g(p);
    for (std::int64_t sample = 0; sample < p.batch; ++sample) {
      const std::int64_t last = g.length_q(sample) - 1;
      EXPECT_EQ(g.visible_keys(sample, last), keys(0, g.length_kv(sample)))
          << "the last query sees all keys";
    }
  }
}

TEST(VisibleKeysTest, RangeSize) {
  EXPECT_EQ(keys(2, 5).size(), 3);
  EXPECT_EQ(nothing.size(), 0);
  EXPECT_EQ(keys(5, 2).size(), 0);
}

}  // namespace
}  // namespace plumbline
