// Masks of bits, views, and the inputs besides Q, K and V.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <tuple>

#include "harness/problem/geometry.h"
#include "harness/problem/inputs.h"
#include "harness/problem/side_inputs.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Problem parsed(const std::string& id) {
  const auto problem = parse_problem_id(id);
  EXPECT_TRUE(problem) << id << ": " << to_string(problem.error());
  return problem.value_or(Problem{});
}

std::vector<bool> bits_of_row(const Geometry& geometry, std::int64_t sample, std::int64_t row) {
  std::vector<bool> bits;
  for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
    const std::int64_t word =
        (sample * geometry.problem().seq_q + row) * geometry.mask_words + key / 32;
    bits.push_back((geometry.mask_bits[static_cast<std::size_t>(word)] >> (key % 32) & 1U) != 0);
  }
  return bits;
}

TEST(Features, IdsParseBack) {
  const std::string id =
      "bf16/b2-h8x2-s33-d64/kv=e4m3/mask=prefix_lm/layout=ragged/softcap=30/alibi=random/"
      "sinks=large/kv_scales=batch_head/view=strided";
  EXPECT_EQ(problem_id(parsed(id)), id);
  EXPECT_THAT(validate(parsed(id)), IsEmpty());
  EXPECT_EQ(problem_id(parsed("bf16/b1-h1-s1-d64/kv_scales=head")), "bf16/b1-h1-s1-d64")
      << "scales are of fp8 K and V";
  const std::string fp8 =
      "e4m3/b2-h8x2-s33-d64/out=fp16/kv=e5m2/kv_scales=block/scale_block=48/view=packed_kv";
  EXPECT_EQ(problem_id(parsed(fp8)), fp8);
  EXPECT_THAT(validate(parsed(fp8)), IsEmpty());
  EXPECT_EQ(parsed("e4m3/b1-h1-s1-d64").out(), DType::bf16);
  EXPECT_EQ(problem_id(parsed("e4m3/b1-h1-s1-d64/out=bf16")), "e4m3/b1-h1-s1-d64");
  EXPECT_EQ(problem_id(parsed("e4m3/b1-h1-s1-d64/kv_scales=token/scale_block=48")),
            "e4m3/b1-h1-s1-d64/kv_scales=token")
      << "a token is no block";
}

TEST(Features, MergeIdsAndValidation) {
  const std::string id = "fp32/b40-h3-s1x5-d1x64/out=bf16/mask=custom/merge=base_2";
  const Problem problem = parsed(id);
  EXPECT_EQ(problem_id(problem), id);
  EXPECT_THAT(validate(problem), IsEmpty());
  EXPECT_EQ(problem.softmax_scale(), std::log(2.0));
  EXPECT_EQ(parsed("fp16/b4-h1-s1x2-d1x64/merge=natural").softmax_scale(), 1);
  const auto wrong = [](const std::string& text) {
    return fmt::to_string(fmt::join(validate(parsed(text)), "; "));
  };
  EXPECT_THAT(wrong("bf16/b4-h4x2-s3x5-d64/merge=natural"),
              testing::AllOf(HasSubstr("head_dim_qk 1"), HasSubstr("seq_q 1"),
                             HasSubstr("heads_q equal to heads_kv")));
  EXPECT_THAT(wrong("bf16/b4-h4-s1x5-d1x64/mask=causal_top_left/merge=natural"),
              HasSubstr("mask none, or custom"));
  EXPECT_THAT(wrong("bf16/b4-h4-s1x5-d1x64/layout=paged_nhd/merge=natural"),
              HasSubstr("a padded or ragged layout"));
  EXPECT_THAT(wrong("bf16/b4-h4-s1x5-d1x64/scale=0.5/merge=natural"), HasSubstr("no scale"));
  EXPECT_THAT(wrong("e4m3/b4-h4-s1x5-d1x64/merge=natural"), HasSubstr("dtype fp32, fp16 or bf16"));
  EXPECT_THAT(wrong("bf16/b4-h4-s1x5-d1x64/kv=e4m3/merge=natural"), HasSubstr("no kv_dtype"));
  EXPECT_THAT(wrong("bf16/b4-h4-s1x5-d64/out=fp16"), HasSubstr("the output is in the dtype of Q"));
}

// Token 15 of mask custom has no part with keys. LSEs are fp32, whatever the dtype of the parts.
TEST(Features, EmptyPartsHaveInfiniteLse) {
  Problem problem = parsed("bf16/b20-h2-s1x4-d1x8/mask=custom/fill=nan/merge=natural");
  const Geometry geometry(problem);
  std::vector<unsigned char> q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes());
  fill_inputs(geometry, q.data(), k.data(), v.data());
  EXPECT_EQ(geometry.k.dtype, DType::f32);
  EXPECT_EQ(geometry.visible_count(15, 0), 0);
  int empty = 0;
  for (std::int64_t token = 0; token < 20; ++token) {
    for (std::int64_t part = 0; part < 4; ++part) {
      for (std::int64_t head = 0; head < 2; ++head) {
        const auto at = static_cast<std::size_t>(geometry.k_offset(token, part, head));
        const auto of_v = static_cast<std::size_t>(geometry.v_offset(token, part, head));
        const bool sees = geometry.sees(token, 0, part);
        EXPECT_EQ(decode_at(DType::f32, q.data(), 0), 1);
        EXPECT_EQ(std::isinf(decode_at(DType::f32, k.data(), at)), !sees);
        EXPECT_EQ(std::isnan(decode_at(DType::bf16, v.data(), of_v)), !sees);
        empty += sees ? 0 : 1;
      }
    }
  }
  EXPECT_GT(empty, 20);
}

// The largest output of the laws is 28.
TEST(Features, OnlyFp8OutputsHaveScale) {
  EXPECT_THAT(side_inputs(parsed("bf16/b1-h1-s1-d64")).out_scale, IsEmpty());
  std::set<float> scales;
  for (int seed = 1; seed <= 20; ++seed) {
    const auto id = fmt::format("bf16/b3-h2-s1-d64/out=e4m3/seed={}", seed);
    const std::vector<float> scale = side_inputs(parsed(id)).out_scale;
    ASSERT_EQ(scale.size(), 1U);
    EXPECT_LE(28 / scale[0], 448);
    scales.insert(scale[0]);
  }
  EXPECT_EQ(scales.size(), 20U);
}

TEST(Features, ContradictionsAreNamed) {
  const auto first_wrong = [](const std::string& id) {
    const auto wrong = validate(parsed(id));
    return wrong.empty() ? std::string() : wrong.front();
  };
  EXPECT_THAT(first_wrong("fp32/b1-h1-s1-d64/kv=e4m3"), HasSubstr("beside Q in fp16, bf16 or fp8"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64/mask=custom/window=3,0"),
              HasSubstr("cannot have a window"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s1x9-d64/view=packed_qkv"),
              HasSubstr("seq_q equal to seq_kv"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64x32/view=packed_kv"),
              HasSubstr("head_dim_qk equal to head_dim_vo"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64/layout=paged_hnd/view=packed_kv"),
              HasSubstr("needs layout"));
  EXPECT_THAT(first_wrong("bf16/b2-h1-s9-d64/view=far"), HasSubstr("fill zeros"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64x96/view=v_in_k"),
              HasSubstr("head_dim_vo of at most head_dim_qk"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64/v=grid/view=v_in_k"), HasSubstr("V is part of K"));
  EXPECT_THAT(first_wrong("bf16/b1-h1-s9-d64/out=e4m3/inputs=a.safetensors@0123456789abcdef"),
              HasSubstr("out_dtype e4m3 needs generated inputs"));
  EXPECT_THAT(first_wrong("bf16/b65536-h1-s4096-d64/layout=ragged/mask=custom"),
              HasSubstr("larger than 1 GiB"));
}

TEST(Features, MaskRangesAndBitsAgree) {
  for (const char* mask : {"prefix_lm", "block_diagonal", "custom"}) {
    const Geometry geometry(
        parsed(fmt::format("bf16/b3-h1-s40x90-d64/mask={}/layout=ragged/lengths=random", mask)));
    for (std::int64_t sample = 0; sample < 3; ++sample) {
      for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
        const std::vector<bool> bits = bits_of_row(geometry, sample, row);
        const KeyRange range = geometry.visible_keys(sample, row);
        const auto set = std::count(bits.begin(), bits.end(), true);
        EXPECT_EQ(geometry.visible_count(sample, row), set);
        if (!geometry.has_hidden_keys()) {
          EXPECT_EQ(range.size(), set);
        }
        for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
          const bool bit = bits[static_cast<std::size_t>(key)];
          EXPECT_EQ(geometry.sees(sample, row, key), bit)
              << mask << " sample " << sample << " row " << row << " key " << key;
          EXPECT_TRUE(!bit || (key >= range.begin && key < range.end));
        }
        EXPECT_TRUE(set == 0 || (bits[static_cast<std::size_t>(range.begin)] &&
                                 bits[static_cast<std::size_t>(range.end - 1)]));
      }
    }
  }
}

TEST(Features, PrefixLmIsCausalAfterPrefix) {
  const Geometry geometry(parsed("bf16/b1-h1-s60-d64/mask=prefix_lm/seed=3"));
  const std::int64_t prefix = geometry.visible_keys(0, 0).end;
  ASSERT_GT(prefix, 1);
  ASSERT_LT(prefix, 60);
  for (std::int64_t row = 0; row < 60; ++row)
    EXPECT_EQ(geometry.visible_keys(0, row), (KeyRange{0, std::max(prefix, row + 1)}));
}

TEST(Features, DocumentsSeeOnlyOwnKeys) {
  const Geometry geometry(parsed("bf16/b1-h1-s100-d64/mask=block_diagonal"));
  std::set<std::int64_t> starts;
  for (std::int64_t row = 0; row < 100; ++row) {
    const KeyRange document = geometry.visible_keys(0, row);
    EXPECT_TRUE(row >= document.begin && row < document.end);
    EXPECT_EQ(geometry.visible_keys(0, document.begin), document);
    starts.insert(document.begin);
  }
  EXPECT_GT(starts.size(), 1U);
  EXPECT_LE(starts.size(), 4U);
}

TEST(Features, CustomMaskDensityVariesByRow) {
  const Geometry geometry(parsed("bf16/b1-h1-s32x4000-d64/mask=custom"));
  EXPECT_NEAR(static_cast<double>(geometry.visible_count(0, 0)) / 4000, 0.75, 0.03);
  EXPECT_NEAR(static_cast<double>(geometry.visible_count(0, 1)) / 4000, 0.125, 0.03);
  EXPECT_EQ(geometry.visible_count(0, 15), 0);
  EXPECT_EQ(geometry.visible_keys(0, 31), (KeyRange{}));
}

TEST(Features, StandardSlopesMatchPaper) {
  Problem problem;
  problem.alibi = Alibi::standard;
  problem.heads_q = 8;
  EXPECT_THAT(side_inputs(problem).alibi_slopes,
              ElementsAre(0.5F, 0.25F, 0.125F, 0x1p-4F, 0x1p-5F, 0x1p-6F, 0x1p-7F, 0x1p-8F));
  problem.heads_q = 6;  // slopes of 4 heads, then every other one of 8
  EXPECT_THAT(side_inputs(problem).alibi_slopes,
              ElementsAre(0.25F, 0x1p-4F, 0x1p-6F, 0x1p-8F, 0.5F, 0.125F));
  problem.heads_q = 16;
  EXPECT_FLOAT_EQ(side_inputs(problem).alibi_slopes[0], std::exp2(-0.5F));
}

TEST(Features, ScalesAreSharedAsConfigured) {
  const auto distinct = [](const char* scales) {
    const SideInputs side =
        side_inputs(parsed(fmt::format("bf16/b3-h8x4-s1x5-d64/kv=e4m3/kv_scales={}", scales)));
    EXPECT_EQ(side.k_scale.size(), 12U);
    EXPECT_NE(side.k_scale, side.v_scale);
    for (const float scale : side.k_scale) EXPECT_TRUE(scale > 0.5F && scale < 2.0F);
    return std::set<float>(side.k_scale.begin(), side.k_scale.end()).size();
  };
  EXPECT_EQ(distinct("tensor"), 1U);
  EXPECT_EQ(distinct("head"), 4U);
  EXPECT_EQ(distinct("batch_head"), 12U);
}

TEST(Features, ScalesOfTokensBlocksAndQueries) {
  // Query heads of a key head share a scale, unless tokens have their own.
  for (const auto& [scales, of_q, of_k] : {std::tuple{"tensor", 1U, 1U},
                                           {"head", 2U, 2U},
                                           {"batch_head", 6U, 6U},
                                           {"token", 3U * 8 * 7, 3U * 2 * 50},
                                           {"block/scale_block=16", 3U * 8, 3U * 2 * 4}}) {
    const Problem problem = parsed(fmt::format("e4m3/b3-h8x2-s7x50-d64/kv_scales={}", scales));
    const SideInputs side = side_inputs(problem);
    const auto distinct = [](const std::vector<float>& of) {
      return std::set<float>(of.begin(), of.end()).size();
    };
    EXPECT_EQ(distinct(side.q_scale), of_q) << scales;
    EXPECT_EQ(distinct(side.k_scale), of_k) << scales;
    EXPECT_EQ(q_scale_at(problem, 2, 6, 7), side.q_scale.size() - 1) << scales;
    EXPECT_EQ(kv_scale_at(problem, 2, 49, 1), side.k_scale.size() - 1) << scales;
  }
  const Problem blocks = parsed("e4m3/b1-h1-s40-d64/kv_scales=block/scale_block=16");
  EXPECT_EQ(kv_scale_at(blocks, 0, 15, 0), 0U);
  EXPECT_EQ(kv_scale_at(blocks, 0, 16, 0), 1U);
  EXPECT_EQ(kv_scale_at(blocks, 0, 39, 0), 2U);
  EXPECT_TRUE(side_inputs(parsed("bf16/b1-h1-s1-d64/kv=e4m3")).q_scale.empty());
}

TEST(Features, SideInputsIndependentOfBatchAndHeads) {
  const SideInputs two = side_inputs(
      parsed("bf16/b2-h2-s1x5-d64/kv=e4m3/alibi=random/sinks=normal/kv_scales=batch_head"));
  const SideInputs four = side_inputs(
      parsed("bf16/b4-h2-s1x5-d64/kv=e4m3/alibi=random/sinks=normal/kv_scales=batch_head"));
  EXPECT_TRUE(std::equal(two.k_scale.begin(), two.k_scale.end(), four.k_scale.begin()));
  EXPECT_EQ(two.sinks, four.sinks);
  EXPECT_EQ(two.alibi_slopes, four.alibi_slopes);
}

struct Filled {
  explicit Filled(const std::string& id) : geometry(parsed(id)) {
    for (auto* tensor : {&geometry.q, &geometry.k, &geometry.v}) {
      bytes.emplace_back(tensor->bytes() +
                         static_cast<std::size_t>(tensor->first) * size_in_bytes(tensor->dtype));
    }
    fill_inputs(geometry, bytes[0].data(), bytes[1].data(), bytes[2].data());
  }
  double value(std::size_t tensor, DType dtype, std::int64_t offset) const {
    double value = 0;
    decode(dtype, bytes[tensor].data() + static_cast<std::size_t>(offset) * size_in_bytes(dtype),
           std::span(&value, 1));
    return value;
  }
  Geometry geometry;
  std::vector<std::vector<std::byte>> bytes;  // of q, k, v
};

TEST(Features, ScaledFp8KeysKeepValues) {
  const Filled wide("fp16/b2-h2-s1x40-d64"),
      narrow("fp16/b2-h2-s1x40-d64/kv=e4m3/kv_scales=batch_head");
  const SideInputs side = side_inputs(narrow.geometry.problem());
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    for (std::int64_t head = 0; head < 2; ++head) {
      const double scale = side.k_scale[static_cast<std::size_t>(sample * 2 + head)];
      for (std::int64_t key = 0; key < 40; ++key) {
        const double expected =
            wide.value(1, DType::f16, wide.geometry.k_offset(sample, key, head));
        const double stored =
            narrow.value(1, DType::e4m3, narrow.geometry.k_offset(sample, key, head));
        EXPECT_NEAR(scale * stored, expected,
                    std::max(std::fabs(expected) / 16, scale * 0x1p-10) * 1.01);
      }
    }
  }
}

TEST(Features, ScaledFp8QueriesKeepValues) {
  const Filled wide("fp16/b2-h4x2-s20x40-d64"),
      narrow("e4m3/b2-h4x2-s20x40-d64/kv_scales=block/scale_block=12");
  const Problem& problem = narrow.geometry.problem();
  const auto expect_near = [](double scale, double stored, double expected) {
    EXPECT_NEAR(scale * stored, expected,
                std::max(std::fabs(expected) / 16, scale * 0x1p-10) * 1.01);
  };
  for (std::int64_t row = 0; row < 20; ++row) {
    const std::int64_t at = wide.geometry.q_offset(1, row, 3);
    expect_near(narrow.geometry.side.q_scale[q_scale_at(problem, 1, row, 3)],
                narrow.value(0, DType::e4m3, at), wide.value(0, DType::f16, at));
  }
  for (std::int64_t key = 0; key < 40; ++key) {
    const std::int64_t at = wide.geometry.v_offset(1, key, 1);
    expect_near(narrow.geometry.side.v_scale[kv_scale_at(problem, 1, key, 1)],
                narrow.value(2, DType::e4m3, at), wide.value(2, DType::f16, at));
  }
}

// Elements of Q, K and V have the expected places in the one buffer, and no two share a place.
TEST(Features, PackedTensorsShareABufferWithoutOverlap) {
  for (const char* id : {"bf16/b2-h4x2-s7-d64/view=packed_qkv",
                         "bf16/b2-h4x2-s7-d64/layout=ragged/lengths=random/view=packed_qkv",
                         "bf16/b2-h4x2-s7x9-d64/view=packed_kv",
                         "bf16/b2-h4x2-s7x90-d64/layout=paged_nhd/view=packed_kv"}) {
    const Geometry g(parsed(id));
    const bool with_q = g.problem().view == View::packed_qkv;
    std::set<std::int64_t> taken;
    std::int64_t count = 0;
    const auto take = [&](const TensorShape& shape, std::int64_t offset) {
      EXPECT_LE(offset + 64, shape.elements);
      taken.insert(shape.first + offset);
      ++count;
    };
    for (std::int64_t sample = 0; sample < 2; ++sample) {
      for (std::int64_t head = 0; with_q && head < 4; ++head) {
        for (std::int64_t row = 0; row < g.length_q(sample); ++row)
          take(g.q, g.q_offset(sample, row, head));
      }
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t key = 0; key < g.length_kv(sample); ++key) {
          take(g.k, g.k_offset(sample, key, head));
          take(g.v, g.v_offset(sample, key, head));
        }
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(taken.size()), count) << id;
    const std::int64_t padded = g.problem().batch * g.problem().seq_kv,
                       paged = g.page_count() * g.problem().page_size;
    const std::int64_t tokens = g.problem().is_paged()    ? paged
                                : g.problem().is_padded() ? padded
                                                          : g.total_kv();
    EXPECT_EQ(g.v.first + g.v.elements, tokens * (with_q ? 8 : 4) * 64) << id;
  }
}

TEST(Features, StridedViewsKeepTheValues) {
  const Filled plain("bf16/b2-h4x2-s7x9-d64/layout=ragged"),
      strided("bf16/b2-h4x2-s7x9-d64/layout=ragged/view=strided");
  EXPECT_GT(strided.geometry.k.stride[0], 2 * strided.geometry.k.stride[1]);
  EXPECT_EQ(strided.geometry.k.stride[1], 64 + view_gap);
  for (std::int64_t key = 0; key < 9; ++key) {
    const auto* a = plain.bytes[1].data() + 2 * plain.geometry.k_offset(1, key, 1);
    const auto* b = strided.bytes[1].data() + 2 * strided.geometry.k_offset(1, key, 1);
    EXPECT_EQ(std::memcmp(a, b, 128), 0) << key;
  }
}

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31, gibi = std::int64_t{1} << 30;

Geometry far_geometry(const std::string& shape, const std::string& layout) {
  const Problem problem = parsed("bf16/" + shape + "/layout=" + layout + "/fill=zeros/view=far");
  EXPECT_THAT(validate(problem), IsEmpty());
  return Geometry(problem);
}

TEST(Features, FarViewsReachBeyondThirtyTwoBits) {
  for (const char* layout : {"padded_bshd", "padded_bhsd", "ragged", "paged_nhd", "paged_hnd"}) {
    const Geometry g = far_geometry("b3-h4x2-s5x90-d64", layout);
    for (const TensorShape* shape : {&g.q, &g.k, &g.v}) {
      EXPECT_GE(shape->elements, 3 * gibi) << layout;
      EXPECT_LT(shape->elements, 5 * gibi + gibi / 1024) << layout;
    }
    EXPECT_GT(g.q_offset(2, 0, 0), two_to_31) << layout;
    EXPECT_GT(g.q_offset(2, 4, 3), 3 * gibi) << layout;
    if (g.problem().is_padded()) {
      EXPECT_GT(g.v_offset(2, 0, 0), two_to_31) << layout;
    }
  }
}

TEST(Features, FarViewsSpreadTokensOfSample) {
  for (const char* layout : {"padded_bshd", "padded_bhsd", "ragged"}) {
    for (const char* shape : {"b1-h2-s5x90-d64", "b2-h6x2-s5x90-d64", "b57-h2-s2x90-d64",
                              "b2-h2-s2x2-d64", "b1-h16-s3x40000-d128"}) {
      const Geometry g = far_geometry(shape, layout);
      const std::int64_t keys = g.length_kv(0), rows = g.length_q(0);
      EXPECT_LT(g.k.elements, 7 * gibi) << shape << layout;
      if (!g.problem().is_padded() && g.k.elements > 5 * gibi) continue;  // at its limit
      EXPECT_GT(g.k_offset(0, keys - 1, 0) - g.k_offset(0, 0, 0), two_to_31) << shape << layout;
      EXPECT_GT(g.v_offset(0, keys - 1, 1) - g.v_offset(0, 0, 1), two_to_31) << shape << layout;
      EXPECT_GT(g.q_offset(0, rows - 1, 1) - g.q_offset(0, 0, 1), two_to_31) << shape << layout;
    }
  }
  EXPECT_GT(far_geometry("b1-h1-s1x90-d64", "paged_nhd").k.elements, 3 * gibi);
}

TEST(Features, FarViewsKeepRowsApart) {
  for (const char* layout : {"padded_bshd", "padded_bhsd", "ragged", "paged_hnd"}) {
    for (const char* shape :
         {"b1-h2-s5x90-d64", "b3-h6x2-s7-d80", "b9-h2-s4-d64", "b5-h2-s1x5-d64"}) {
      const Geometry g = far_geometry(shape, layout);
      std::set<std::int64_t> begins;
      for (std::int64_t sample = 0; sample < g.problem().batch; ++sample) {
        for (std::int64_t key = 0; key < g.length_kv(sample); ++key) {
          for (std::int64_t head = 0; head < 2; ++head)
            begins.insert(g.k_offset(sample, key, head));
        }
      }
      EXPECT_EQ(static_cast<std::int64_t>(begins.size()), 2 * g.total_kv()) << shape << layout;
      for (auto at = begins.begin(); std::next(at) != begins.end(); ++at)
        ASSERT_GE(*std::next(at) - *at, g.problem().head_dim_qk) << shape << layout;
      EXPECT_LE(*begins.rbegin() + g.problem().head_dim_qk, g.k.elements) << shape << layout;
    }
  }
}

TEST(Features, VIsFirstColumnsOfK) {
  const Filled filled("bf16/b2-h16x1-s1x30-d576x512/layout=paged_nhd/view=v_in_k");
  const Geometry& g = filled.geometry;
  EXPECT_EQ(g.v.stride, g.k.stride);
  for (std::int64_t key = 0; key < 30; ++key) {
    EXPECT_EQ(g.k_offset(1, key, 0), g.v_offset(1, key, 0));
    EXPECT_EQ(std::memcmp(filled.bytes[1].data() + 2 * g.k_offset(1, key, 0),
                          filled.bytes[2].data() + 2 * g.v_offset(1, key, 0), 1024),
              0);
  }
}

}  // namespace
}  // namespace plumbline
