// Tests masks stated as tensors: which keys each row then sees, and which masks are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "harness/check/dump.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::DumpTensors;
using test::run_emulated;
using testing::HasSubstr;

constexpr std::int64_t batch = 2, heads = 3, queries = 5, keys = 9;

Problem problem_of(std::int64_t seq_q) {
  Problem problem;
  problem.batch = batch;
  problem.heads_q = problem.heads_kv = heads;
  problem.seq_q = seq_q;
  problem.seq_kv = keys;
  problem.head_dim_qk = problem.head_dim_vo = 8;
  problem.lse = false;
  return problem;
}

using Visible =
    std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t key)>;

DumpTensors with_mask(std::int64_t seq_q, const std::vector<std::int64_t>& shape,
                      const Visible& visible, const std::string& dtype = "BOOL",
                      float hidden = -std::numeric_limits<float>::infinity()) {
  std::vector<std::int64_t> extent{1, 1, 1, shape.back()};
  if (shape.size() == 4) extent = shape;
  if (shape.size() == 3) extent = {shape[0], 1, shape[1], shape[2]};
  if (shape.size() == 3 && shape[0] == heads) extent = {1, shape[0], shape[1], shape[2]};
  if (shape.size() == 2 && shape[0] == batch) extent[0] = batch;
  if (shape.size() == 2 && shape[0] != batch) extent[2] = shape[0];
  std::vector<std::byte> data;
  for (std::int64_t b = 0; b < extent[0]; ++b) {
    for (std::int64_t h = 0; h < extent[1]; ++h) {
      for (std::int64_t i = 0; i < extent[2]; ++i) {
        for (std::int64_t key = 0; key < extent[3]; ++key) {
          const bool sees = visible(b, h, i, key);
          const float added = sees ? 0 : hidden;
          const std::int64_t number = sees;
          if (dtype == "F32")
            data.insert(data.end(), reinterpret_cast<const std::byte*>(&added),
                        reinterpret_cast<const std::byte*>(&added) + 4);
          if (dtype == "I64")
            data.insert(data.end(), reinterpret_cast<const std::byte*>(&number),
                        reinterpret_cast<const std::byte*>(&number) + 8);
          if (dtype == "BOOL" || dtype == "U8") data.push_back(std::byte{sees});
        }
      }
    }
  }
  DumpTensors tensors = run_emulated(problem_of(seq_q), {});
  tensors.set("mask", dtype, shape, data);
  return tensors;
}

Dump read(const DumpTensors& tensors, Attributes attributes = {}) {
  attributes.emplace("layout", "padded_bshd");
  auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  return dump ? *dump : Dump{};
}

std::string error_of(const DumpTensors& tensors) {
  const auto dump = make_dump("dump", tensors.view(), {{"layout", "padded_bshd"}});
  return dump ? "no error" : to_string(dump.error());
}

bool band(std::int64_t i, std::int64_t key) { return key >= i && key < i + 4; }

TEST(MaskTensor, EquivalentShapesMeanSameMask) {
  const Visible visible = [](auto, auto, std::int64_t i, std::int64_t key) { return band(i, key); };
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{queries, keys},
                                                                  {1, queries, keys},
                                                                  {batch, queries, keys},
                                                                  {batch, 1, queries, keys},
                                                                  {heads, queries, keys},
                                                                  {1, heads, queries, keys}}) {
    for (const std::string dtype : {"BOOL", "U8", "I64", "F32"}) {
      const Dump dump = read(with_mask(queries, shape, visible, dtype));
      for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int64_t i = 0; i < queries; ++i)
          EXPECT_EQ(dump.geometry->visible_keys(b, i), (KeyRange{i, i + 4})) << dtype;
      }
    }
  }
}

TEST(MaskTensor, LargeNegativeNumbersHideKeys) {
  const Visible visible = [](auto, auto, std::int64_t i, std::int64_t key) { return band(i, key); };
  EXPECT_EQ(
      read(with_mask(queries, {queries, keys}, visible, "F32", -1e9F)).geometry->visible_keys(0, 2),
      (KeyRange{2, 6}));
}

TEST(MaskTensor, OtherNumbersAreBias) {
  const Visible visible = [](auto, auto, std::int64_t i, std::int64_t key) { return band(i, key); };
  const Dump dump = read(with_mask(queries, {queries, keys}, visible, "F32", -0.5F));
  EXPECT_FALSE(dump.mask_tensor) << "it hides no key";
  EXPECT_EQ(dump.geometry->visible_keys(1, 2), (KeyRange{0, keys}));
  const float* bias = dump.geometry->bias_of(1, 2, 1);
  ASSERT_NE(bias, nullptr);
  for (std::int64_t key = 0; key < keys; ++key) EXPECT_EQ(bias[key], band(2, key) ? 0 : -0.5F);
  DumpTensors nan = with_mask(queries, {queries, keys}, visible, "F32", -0.5F);
  std::fill_n(nan.data("mask").begin(), 4, std::byte{0xff});
  EXPECT_THAT(error_of(nan), HasSubstr("row 0, key 0 cannot be added to a logit"));
}

// The visible keys become bits, combined with the mask type and the window.
TEST(MaskTensor, HolesAndHeadsBecomeBits) {
  const Visible holes = [](auto, auto, std::int64_t i, std::int64_t key) {
    return i != 2 || key % 3 == 0;
  };
  const Dump dump =
      read(with_mask(queries, {queries, keys}, holes), {{"mask", "causal_bottom_right"}});
  EXPECT_EQ(dump.problem().mask, Mask::custom);
  EXPECT_EQ(dump.geometry->mask_heads, 1);
  EXPECT_TRUE(dump.mask_tensor);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const bool causal = key <= i + keys - queries;
        EXPECT_EQ(dump.geometry->sees(b, i, key), causal && holes(b, 0, i, key));
      }
    }
  }
  const Visible by_head = [](std::int64_t b, std::int64_t h, auto, std::int64_t key) {
    return key < 9 - h - b;
  };
  const Dump each = read(with_mask(queries, {batch, heads, queries, keys}, by_head));
  EXPECT_EQ(each.geometry->mask_heads, heads);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t b = 0; b < batch; ++b) {
      EXPECT_EQ(each.geometry->visible_keys(b, 3, h), (KeyRange{0, 9 - h - b}));
      EXPECT_EQ(each.geometry->visible_count(b, 3, h), 9 - h - b);
    }
  }
}

TEST(MaskTensor, RaggedRowsCountFromSampleStart) {
  Problem problem = problem_of(queries);
  problem.layout = Layout::ragged;
  problem.lengths = Lengths::random;
  problem.mask = Mask::custom;
  test::Emulated kernel;
  const DumpTensors tensors = run_emulated(problem, kernel);
  ASSERT_TRUE(tensors.contains("mask"));
  auto attributes = test::attributes_of(problem);
  const auto dump = make_dump("dump", tensors.view(), attributes);
  ASSERT_TRUE(dump) << to_string(dump.error());
  const Geometry drawn(problem);
  for (std::int64_t b = 0; b < batch; ++b) {
    ASSERT_EQ(dump->geometry->length_kv(b), drawn.length_kv(b));
    for (std::int64_t i = 0; i < drawn.length_q(b); ++i) {
      for (std::int64_t key = 0; key < drawn.length_kv(b); ++key)
        EXPECT_EQ(dump->geometry->sees(b, i, key), drawn.sees(b, i, key));
    }
  }
}

TEST(MaskTensor, KeyPaddingGivesLengths) {
  const Visible right = [](std::int64_t b, auto, auto, std::int64_t key) {
    return key < (b == 0 ? 9 : 6);
  };
  const Visible left = [](std::int64_t b, auto, auto, std::int64_t key) {
    return key >= (b == 0 ? 0 : 3);
  };
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {batch, keys}, {batch, 1, 1, keys}, {batch, 1, keys}}) {
    const Dump a = read(with_mask(queries, shape, right)),
               b = read(with_mask(queries, shape, left));
    EXPECT_EQ(a.geometry->seqlens_kv, (std::vector<std::int32_t>{9, 6}));
    EXPECT_EQ(a.problem().padding, Padding::right);
    EXPECT_EQ(a.geometry->seqlens_q, (std::vector<std::int32_t>{5, 5}))
        << "queries and keys differ in number: all queries are valid";
    EXPECT_EQ(b.geometry->seqlens_kv, (std::vector<std::int32_t>{9, 6}));
    EXPECT_EQ(b.problem().padding, Padding::left);
    EXPECT_EQ(b.geometry->k_offset(1, 0, 0), Geometry(problem_of(queries)).k_offset(1, 3, 0));
  }
}

TEST(MaskTensor, SelfAttentionPadsQueriesLikeKeys) {
  const Visible left = [](std::int64_t b, auto, auto, std::int64_t key) {
    return key >= (b == 0 ? 0 : 3);
  };
  const Dump padding =
      read(with_mask(keys, {batch, keys}, left), {{"mask", "causal_bottom_right"}});
  EXPECT_EQ(padding.geometry->seqlens_q, (std::vector<std::int32_t>{9, 6}));
  EXPECT_EQ(padding.geometry->visible_keys(1, 0), (KeyRange{0, 1}));
  // A mask that combines causal and padding, as Transformers writes it, states no padding. Padded
  // rows then see no key and have the result of a row without keys.
  const Visible both = [](std::int64_t b, auto, std::int64_t i, std::int64_t key) {
    return key <= i && key >= (b == 0 ? 0 : 3);
  };
  const Dump full = read(with_mask(keys, {batch, 1, keys, keys}, both));
  EXPECT_EQ(full.geometry->seqlens_q, (std::vector<std::int32_t>{9, 9}));
  EXPECT_EQ(full.geometry->visible_count(1, 2), 0);
  EXPECT_EQ(full.geometry->visible_keys(1, 4), (KeyRange{3, 5}));
}

TEST(MaskTensor, RefusesAmbiguousThreeExtents) {
  Problem problem = problem_of(queries);
  problem.heads_q = problem.heads_kv = batch;
  for (const std::string dtype : {"BOOL", "F32"}) {
    DumpTensors tensors = run_emulated(problem, {});
    const std::size_t part = queries * keys * (dtype == "BOOL" ? 1 : 4);
    std::vector<std::byte> mask(2 * part, std::byte{dtype == "BOOL"});
    tensors.set("mask", dtype, {batch, queries, keys}, mask);
    EXPECT_EQ(error_of(tensors), "no error") << "both readings are the same";
    tensors.data("mask")[part] = std::byte{dtype == "F32"};
    EXPECT_THAT(error_of(tensors), HasSubstr("[batch, seq_q, seq_kv] or [heads, seq_q, seq_kv]"));
  }
}

TEST(MaskTensor, CombinesWithMaskAttribute) {
  const Visible visible = [](auto, auto, auto, std::int64_t key) { return key >= 2 && key < 8; };
  const Dump dump =
      read(with_mask(queries, {1, queries, keys}, visible), {{"mask", "causal_bottom_right"}});
  EXPECT_EQ(dump.geometry->visible_keys(0, 0), (KeyRange{2, 5}));
  EXPECT_EQ(dump.geometry->visible_keys(0, 4), (KeyRange{2, 8}));
  EXPECT_TRUE(dump.mask_tensor);
}

TEST(MaskTensor, ErrorExplainsInvalidMask) {
  const Visible all = [](auto, auto, auto, auto) { return true; };
  EXPECT_THAT(error_of(with_mask(queries, {4, queries, keys}, all)),
              HasSubstr("does not fit batch 2"));
  EXPECT_THAT(error_of(with_mask(batch, {batch, keys}, all)),
              HasSubstr("[batch, seq_kv] or [seq_q, seq_kv]"));
  DumpTensors tensors = with_mask(queries, {queries, keys}, all, "U8");
  tensors.data("mask")[11] = std::byte{2};
  EXPECT_THAT(error_of(tensors),
              HasSubstr("2 at sample 0, row 1, key 2 means neither visible nor hidden"));
}

}  // namespace
}  // namespace plumbline
