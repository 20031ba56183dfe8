// Lengths, extents, strides and offsets of every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "harness/problem/geometry.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<Layout> layouts{Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                                  Layout::paged_nhd, Layout::paged_hnd};

Problem small_problem(Layout layout = Layout::padded_bshd) {
  Problem p;
  p.layout = layout;
  p.batch = 2;
  p.heads_q = 4;
  p.heads_kv = 2;
  p.seq_q = 3;
  p.seq_kv = 5;
  p.head_dim_qk = 8;
  p.head_dim_vo = 4;
  p.page_size = 2;
  return p;
}

std::vector<std::int64_t> extents(const TensorShape& shape) {
  return {shape.extent.begin(), shape.extent.begin() + shape.rank};
}
std::vector<std::int64_t> strides(const TensorShape& shape) {
  return {shape.stride.begin(), shape.stride.begin() + shape.rank};
}

TEST(GeometryTest, PaddedBshd) {
  const Geometry g(small_problem());
  EXPECT_THAT(extents(g.q), ElementsAre(2, 3, 4, 8));
  EXPECT_THAT(strides(g.q), ElementsAre(96, 32, 8, 1));
  EXPECT_THAT(extents(g.k), ElementsAre(2, 5, 2, 8));
  EXPECT_THAT(extents(g.v), ElementsAre(2, 5, 2, 4));
  EXPECT_THAT(extents(g.out), ElementsAre(2, 3, 4, 4));
  EXPECT_THAT(extents(g.lse), ElementsAre(2, 3, 4));
  EXPECT_EQ(g.q.bytes(), 2u * 3 * 4 * 8 * 2);
  EXPECT_EQ(g.lse.bytes(), 2u * 3 * 4 * 4);
  EXPECT_EQ(g.q_offset(1, 2, 3), 1 * 96 + 2 * 32 + 3 * 8);
  EXPECT_EQ(g.lse_offset(1, 2, 3), 1 * 12 + 2 * 4 + 3);
  EXPECT_THAT(g.page_table, IsEmpty());
}

TEST(GeometryTest, PaddedBhsdOnlyChangesStrides) {
  const Geometry g(small_problem(Layout::padded_bhsd));
  EXPECT_THAT(extents(g.q), ElementsAre(2, 3, 4, 8));
  EXPECT_THAT(strides(g.q), ElementsAre(96, 8, 24, 1));
  EXPECT_THAT(strides(g.lse), ElementsAre(12, 4, 1));
  EXPECT_EQ(g.v_offset(1, 4, 1), 1 * 40 + 4 * 4 + 1 * 20);
}

TEST(GeometryTest, Ragged) {
  const Geometry g(small_problem(Layout::ragged));
  EXPECT_THAT(g.cu_seqlens_q, ElementsAre(0, 3, 6));
  EXPECT_THAT(g.cu_seqlens_kv, ElementsAre(0, 5, 10));
  EXPECT_THAT(extents(g.q), ElementsAre(6, 4, 8));
  EXPECT_THAT(extents(g.k), ElementsAre(10, 2, 8));
  EXPECT_THAT(extents(g.lse), ElementsAre(6, 4));
  EXPECT_EQ(g.k_offset(1, 2, 1), 7 * 16 + 8);
}

TEST(GeometryTest, PagedPoolIsPermutedAndHasSparePages) {
  const Geometry g(small_problem(Layout::paged_nhd));
  EXPECT_EQ(g.pages_per_sample, 3);  // ceil(5 / 2)
  EXPECT_EQ(g.page_count(), 2 * 3 + 3);
  EXPECT_THAT(extents(g.k), ElementsAre(9, 2, 2, 8));
  EXPECT_THAT(strides(g.k), ElementsAre(32, 16, 8, 1));
  EXPECT_THAT(extents(g.out), ElementsAre(6, 4, 4));
  EXPECT_EQ(g.page_table.size(), 6u);
  const std::set<std::int32_t> pages(g.page_table.begin(), g.page_table.end());
  EXPECT_EQ(pages.size(), 6u) << "no page is shared";
  EXPECT_FALSE(std::is_sorted(g.page_table.begin(), g.page_table.end()));
  EXPECT_EQ(g.k_offset(1, 3, 1), g.page_table[3 + 1] * 32 + 1 * 16 + 8);
}

TEST(GeometryTest, PagedHndOnlyChangesStrides) {
  const Geometry nhd(small_problem(Layout::paged_nhd)), hnd(small_problem(Layout::paged_hnd));
  EXPECT_EQ(extents(hnd.k), extents(nhd.k));
  EXPECT_THAT(strides(hnd.k), ElementsAre(32, 8, 16, 1));
  EXPECT_EQ(hnd.page_table, nhd.page_table);
}

TEST(GeometryTest, UnusedPageTableEntriesAreMinusOne) {
  Problem p = small_problem(Layout::paged_nhd);
  p.batch = 4;
  p.seq_kv = 64;
  p.lengths = Lengths::one_long;
  const Geometry g(p);
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    const std::int64_t used = (g.length_kv(sample) + 1) / 2;
    for (std::int64_t column = 0; column < g.pages_per_sample; ++column) {
      const std::int32_t page =
          g.page_table[static_cast<std::size_t>(sample * g.pages_per_sample + column)];
      EXPECT_EQ(page >= 0, column < used) << sample << " " << column;
      EXPECT_LT(page, g.page_count());
    }
  }
}

TEST(GeometryTest, PageOrderDependsOnSeed) {
  Problem p = small_problem(Layout::paged_nhd);
  p.seq_kv = 100;
  const Geometry one(p), again(p);
  p.seed = 2;
  const Geometry other(p);
  EXPECT_EQ(one.page_table, again.page_table);
  EXPECT_NE(one.page_table, other.page_table);
}

TEST(GeometryTest, LseIsAbsentUnlessRequested) {
  Problem p = small_problem();
  p.lse = false;
  const Geometry g(p);
  EXPECT_EQ(g.lse.rank, 0);
  EXPECT_EQ(g.lse.bytes(), 0u);
}

TEST(GeometryTest, OutputDtype) {
  Problem p = small_problem();
  p.out_dtype = DType::f32;
  const Geometry g(p);
  EXPECT_EQ(g.out.dtype, DType::f32);
  EXPECT_EQ(g.out.bytes(), 2u * 3 * 4 * 4 * 4);
  EXPECT_EQ(g.q.dtype, DType::bf16);
}

// ---- Offsets: every element of every valid row has its own place within the tensor ----

using Offset =
    std::function<std::int64_t(std::int64_t sample, std::int64_t row, std::int64_t head)>;

void expect_unique(const Geometry& g, const TensorShape& shape, bool is_query, std::int64_t heads,
                   std::int64_t dim, const Offset& offset) {
  std::vector<bool> seen(static_cast<std::size_t>(shape.elements), false);
  for (std::int64_t sample = 0; sample < g.problem().batch; ++sample) {
    const std::int64_t rows = is_query ? g.length_q(sample) : g.length_kv(sample);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t first = offset(sample, row, head);
        ASSERT_GE(first, 0);
        ASSERT_LE(first + dim, shape.elements);
        for (std::int64_t d = first; d < first + dim; ++d) {
          ASSERT_FALSE(seen[static_cast<std::size_t>(d)]) << problem_id(g.problem()) << " at " << d;
          seen[static_cast<std::size_t>(d)] = true;
        }
      }
    }
  }
}

TEST(GeometryTest, OffsetsAreUniqueAndWithinTheTensor) {
  for (const Layout layout : layouts) {
    for (const Lengths lengths : {Lengths::full, Lengths::random, Lengths::with_zero}) {
      for (const Padding padding : {Padding::right, Padding::left}) {
        Problem p = small_problem(layout);
        if (padding == Padding::left && !p.is_padded()) continue;
        p.batch = 5;
        p.seq_q = 7;
        p.seq_kv = 13;
        p.page_size = 4;
        p.lengths = lengths;
        p.padding = padding;
        const Geometry g(p);
        const auto q = [&](auto... at) { return g.q_offset(at...); };
        const auto out = [&](auto... at) { return g.out_offset(at...); };
        const auto lse = [&](auto... at) { return g.lse_offset(at...); };
        const auto k = [&](auto... at) { return g.k_offset(at...); };
        const auto v = [&](auto... at) { return g.v_offset(at...); };
        expect_unique(g, g.q, true, p.heads_q, p.head_dim_qk, q);
        expect_unique(g, g.out, true, p.heads_q, p.head_dim_vo, out);
        expect_unique(g, g.lse, true, p.heads_q, 1, lse);
        expect_unique(g, g.k, false, p.heads_kv, p.head_dim_qk, k);
        expect_unique(g, g.v, false, p.heads_kv, p.head_dim_vo, v);
      }
    }
  }
}

TEST(GeometryTest, LeftPaddingPutsValidRowsLast) {
  Problem p = small_problem();
  p.batch = 3;
  p.seq_q = p.seq_kv = 40;
  p.lengths = Lengths::random;
  p.padding = Padding::left;
  const Geometry left(p);
  p.padding = Padding::right;
  const Geometry right(p);
  ASSERT_EQ(left.seqlens_kv, right.seqlens_kv) << "padding does not change lengths";
  for (std::int64_t sample = 0; sample < p.batch; ++sample) {
    const std::int64_t length = left.length_q(sample);
    EXPECT_EQ(left.out_offset(sample, 0, 1), left.padded_out_offset(sample, 40 - length, 1));
    EXPECT_EQ(right.out_offset(sample, 0, 1), right.padded_out_offset(sample, 0, 1));
    EXPECT_EQ(left.k_offset(sample, length - 1, 0),
              sample * left.k.stride[0] + 39 * left.k.stride[1]);
    for (std::int64_t row = 0; row < 40; ++row) {
      EXPECT_EQ(left.padded_row_is_valid(sample, row), row >= 40 - length);
      EXPECT_EQ(right.padded_row_is_valid(sample, row), row < length);
    }
  }
}

// ---- Lengths ----

Geometry with_lengths(Lengths lengths, std::int64_t batch, std::int64_t seq_q, std::int64_t seq_kv,
                      std::uint64_t seed = 1) {
  Problem p = small_problem(Layout::ragged);
  p.lengths = lengths;
  p.batch = batch;
  p.seq_q = seq_q;
  p.seq_kv = seq_kv;
  p.seed = seed;
  return Geometry(p);
}

std::int32_t longest(const std::vector<std::int32_t>& lengths) {
  return *std::max_element(lengths.begin(), lengths.end());
}
std::int32_t shortest(const std::vector<std::int32_t>& lengths) {
  return *std::min_element(lengths.begin(), lengths.end());
}

TEST(LengthsTest, Full) {
  EXPECT_THAT(with_lengths(Lengths::full, 3, 4, 9).seqlens_q, ElementsAre(4, 4, 4));
  EXPECT_THAT(with_lengths(Lengths::full, 3, 4, 9).seqlens_kv, ElementsAre(9, 9, 9));
}

TEST(LengthsTest, RandomHasFullSampleAndVaries) {
  std::set<std::size_t> full_samples;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Geometry g = with_lengths(Lengths::random, 4, 30, 500, seed);
    EXPECT_EQ(longest(g.seqlens_kv), 500);
    EXPECT_EQ(longest(g.seqlens_q), 30);
    EXPECT_GE(shortest(g.seqlens_kv), 1);
    full_samples.insert(static_cast<std::size_t>(
        std::max_element(g.seqlens_kv.begin(), g.seqlens_kv.end()) - g.seqlens_kv.begin()));
  }
  EXPECT_EQ(full_samples.size(), 4u) << "any sample may be the full one";
}

TEST(LengthsTest, RandomIsUniform) {
  const Geometry g = with_lengths(Lengths::random, 4000, 10, 100);
  double sum = 0;
  for (const std::int32_t length : g.seqlens_kv) sum += length;
  EXPECT_NEAR(sum / 4000, 50.5, 2);  // standard deviation of the mean: 28.9 / sqrt(4000) = 0.46
  EXPECT_EQ(longest(g.seqlens_kv), 100);
  EXPECT_EQ(shortest(g.seqlens_kv), 1);
}

TEST(LengthsTest, NearFullThirdAndOneLong) {
  const Geometry near_full = with_lengths(Lengths::near_full, 200, 10, 100);
  EXPECT_EQ(shortest(near_full.seqlens_kv), 80);
  EXPECT_EQ(longest(near_full.seqlens_kv), 100);
  EXPECT_EQ(shortest(near_full.seqlens_q), 1);
  const Geometry third = with_lengths(Lengths::third, 500, 10, 100);
  EXPECT_EQ(shortest(third.seqlens_kv), 33);
  EXPECT_EQ(longest(third.seqlens_kv), 100);
  const Geometry one_long = with_lengths(Lengths::one_long, 100, 10, 100);
  EXPECT_EQ(one_long.length_kv(0), 100);
  EXPECT_EQ(one_long.length_q(0), 10);
  EXPECT_EQ(longest({one_long.seqlens_kv.begin() + 1, one_long.seqlens_kv.end()}), 6);
  EXPECT_EQ(longest({one_long.seqlens_q.begin() + 1, one_long.seqlens_q.end()}), 1);
}

TEST(LengthsTest, SelfAttentionHasEqualLengths) {
  for (const Lengths law :
       {Lengths::full, Lengths::random, Lengths::near_full, Lengths::third, Lengths::one_long}) {
    const Geometry g = with_lengths(law, 6, 50, 50);
    EXPECT_EQ(g.seqlens_q, g.seqlens_kv) << name(law);
  }
}

TEST(LengthsTest, DecodeHasOneQueryEach) {
  EXPECT_THAT(with_lengths(Lengths::random, 3, 1, 50).seqlens_q, ElementsAre(1, 1, 1));
  EXPECT_THAT(with_lengths(Lengths::third, 3, 1, 50).seqlens_q, ElementsAre(1, 1, 1));
}

TEST(LengthsTest, ZeroLengthSamples) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Geometry g = with_lengths(Lengths::with_zero, 5, 7, 50, seed);
    EXPECT_EQ(longest(g.seqlens_kv), 50);
    EXPECT_EQ(g.length_kv(4), 0);
    EXPECT_GE(g.length_q(4), 1) << "queries without any key";
    EXPECT_EQ(g.length_kv(1), 0);
    EXPECT_EQ(g.length_q(1), 0);
  }
  const Geometry self_attention = with_lengths(Lengths::with_zero, 2, 9, 9);
  EXPECT_THAT(self_attention.seqlens_kv, ElementsAre(9, 0));
  EXPECT_GE(self_attention.length_q(1), 1);
  const Geometry three = with_lengths(Lengths::with_zero, 3, 1, 20);
  EXPECT_THAT(three.seqlens_kv, ElementsAre(20, 0, 0));
  EXPECT_THAT(three.seqlens_q, ElementsAre(1, 0, 1));
}

TEST(LengthsTest, NoKeysAtAll) {
  for (const Layout layout : layouts) {
    Problem p = small_problem(layout);
    p.batch = 1;
    p.lengths = Lengths::with_zero;
    const Geometry g(p);
    EXPECT_EQ(g.total_kv(), 0);
    EXPECT_EQ(g.visible_keys(0, 0), (KeyRange{0, 0}));
    if (layout == Layout::ragged) {
      EXPECT_EQ(g.k.elements, 0);
    }
    if (p.is_paged()) {
      EXPECT_THAT(g.page_table, ElementsAre(-1));
      EXPECT_EQ(g.page_count(), 3);
    }
  }
}

}  // namespace
}  // namespace plumbline
