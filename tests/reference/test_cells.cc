// Cells contain every key once, together with those that round alike, and their sums follow the
// formula.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/reference/cells.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

Model model_of(DType p_dtype, double prescale = 1) {
  RoundingSpec spec;
  spec.p_dtype = p_dtype;
  spec.p_prescale = prescale;
  return Model(spec, 1);
}

TEST(Cells, GroupsEqualLabelsBySizeAndFirstKey) {
  const std::vector<std::uint64_t> labels{7, 3, 7, 9, 3, 7};
  CellBuilder builder;
  Cells cells;
  builder.build(labels, 100, KeepCells::all, cells);
  EXPECT_THAT(cells.keys, ElementsAre(103, 101, 104, 100, 102, 105));
  EXPECT_THAT(cells.offsets, ElementsAre(0, 1, 3, 6));
  builder.build(labels, 0, KeepCells::multi_key, cells);
  EXPECT_THAT(cells.keys, ElementsAre(1, 4, 0, 2, 5));
  EXPECT_THAT(cells.offsets, ElementsAre(0, 2, 5));
  builder.build({}, 0, KeepCells::all, cells);
  EXPECT_TRUE(cells.empty());
}

// Groups of 1 to 40 keys, once and 100 times. 82,000 keys are more than 16 bits can count.
TEST(Cells, EveryKeyIsInOneCell) {
  for (const std::int32_t rounds : {1, 100}) {
    std::vector<std::uint64_t> labels;
    for (std::int32_t round = 0; round < rounds; ++round) {
      for (std::uint64_t group = 0; group < 40; ++group)
        labels.insert(labels.end(), group + 1, group * 1000 + static_cast<std::uint64_t>(round));
    }
    CellBuilder builder;
    Cells cells;
    builder.build(labels, 0, KeepCells::all, cells);
    EXPECT_EQ(cells.count(), 40 * rounds);
    std::vector<bool> found(labels.size());
    for (std::int64_t c = 0; c < cells.count(); ++c) {
      const auto begin = static_cast<std::size_t>(cells.offsets[static_cast<std::size_t>(c)]);
      const auto end = static_cast<std::size_t>(cells.offsets[static_cast<std::size_t>(c) + 1]);
      const std::uint64_t label = labels[static_cast<std::size_t>(cells.keys[begin])];
      EXPECT_EQ(end - begin, label / 1000 + 1);
      for (std::size_t i = begin; i < end; ++i) {
        const auto key = static_cast<std::size_t>(cells.keys[i]);
        EXPECT_EQ(labels[key], label);
        EXPECT_FALSE(found[key]);
        found[key] = true;
      }
    }
    EXPECT_EQ(cells.keys.size(), labels.size());
  }
}

TEST(Cells, ManyLabelsWithEqualLowBits) {
  std::vector<std::uint64_t> labels;
  for (std::uint64_t i = 0; i < 5000; ++i) labels.push_back((i % 1000) << 50);
  CellBuilder builder;
  Cells cells;
  builder.build(labels, 0, KeepCells::multi_key, cells);
  EXPECT_EQ(cells.count(), 1000);
  EXPECT_EQ(cells.keys.size(), 5000U);
}

TEST(Cells, LabelDistanceDoesNotMatter) {
  std::vector<std::uint64_t> close;
  for (std::uint64_t i = 0; i < 3000; ++i) close.push_back(1'000'000 + i * i % 1009);
  std::vector<std::uint64_t> apart = close;
  for (std::uint64_t& label : apart) label *= 0x9E3779B97F4A7C15u;
  CellBuilder builder;
  Cells of_close, of_apart;
  builder.build(apart, 5, KeepCells::multi_key, of_apart);
  builder.build(close, 5, KeepCells::multi_key, of_close);
  EXPECT_EQ(of_close.keys, of_apart.keys);
  EXPECT_EQ(of_close.offsets, of_apart.offsets);
}

// Single keys, and cells of 2, 3 and more keys. Cells of 2 and of 3 keys have loops of their own.
TEST(Cells, PairsAreHalfTheExcess) {
  std::vector<std::uint64_t> labels;
  for (std::uint64_t size = 1; size <= 20; ++size) {
    for (std::uint64_t i = 0; i < 7 * size; ++i) labels.push_back(100 * size + i % 7);
  }
  std::vector<double> by_key;
  for (std::size_t k = 0; k < labels.size(); ++k)
    by_key.push_back(0.5 + static_cast<double>(k % 11));
  CellBuilder builder;
  Cells cells;
  builder.build(labels, 0, KeepCells::multi_key, cells);
  EXPECT_EQ(cells.pair_cells, 7);
  EXPECT_EQ(cells.triple_cells, 7);
  std::vector<double> weights;
  for (const std::int32_t key : cells.keys)
    weights.push_back(by_key[static_cast<std::size_t>(key)]);
  const std::vector<float> weights32(weights.begin(), weights.end());
  const double excess = cell_sums(cells, by_key.data()).excess();
  EXPECT_EQ(2 * pairs_in_cells(cells, weights.data()), excess);
  EXPECT_NEAR(2 * pairs_in_cells(cells, weights32.data()), excess, 1e-5 * excess);
}

TEST(Cells, PCellIsEighthOfRoundingInterval) {
  const Model bf16 = model_of(DType::bf16);
  EXPECT_EQ(p_cell(0.75, bf16), p_cell(0.75 * (1 + 0x1p-12), bf16));
  EXPECT_NE(p_cell(0.75, bf16), p_cell(0.75 * (1 + 0x1p-9), bf16));
  EXPECT_EQ(p_cell(1, bf16), p_cell(1 - 0x1p-53, bf16));
  const Model fp32 = model_of(DType::f32);
  EXPECT_NE(p_cell(0.75, fp32), p_cell(0.75 * (1 + 0x1p-24), fp32));
  EXPECT_EQ(p_cell(0.75, fp32), p_cell(0.75 * (1 + 0x1p-50), fp32));
}

TEST(Cells, SmallPIsAlmostFlushedTogether) {
  const Model e4m3 = model_of(DType::e4m3), scaled = model_of(DType::e4m3, 256);
  EXPECT_EQ(p_cell(0x1p-11, e4m3), p_cell(0x1p-30, e4m3));
  EXPECT_NE(p_cell(0x1p-11, scaled), p_cell(0x1p-30, scaled));
  // Subnormal steps of eta / 4 clash neither with the flushed cell nor with the normal ones.
  EXPECT_EQ(p_cell(0x1p-9, e4m3), p_cell(0x1p-9 + 0x1p-14, e4m3));
  EXPECT_NE(p_cell(0x1p-9, e4m3), p_cell(0x1p-9 + 0x1p-11, e4m3));
  EXPECT_NE(p_cell(0x1p-9, e4m3), p_cell(0x1p-11, e4m3));
}

TEST(Cells, EqualRoundedLogitsShareP) {
  RoundingSpec spec;
  spec.s_rounded = spec.p_dtype = DType::bf16;
  const Model model(spec, 1);
  const auto cell = [&](double s) {
    return p_cell(std::exp(round_to(s, DType::bf16) + 76), model);
  };
  EXPECT_EQ(cell(-80.24), cell(-79.76));  // half a unit apart at 80: both become -80
  EXPECT_NE(cell(-80.26), cell(-80.24));  // -80.5 and -80
  EXPECT_NE(p_cell(std::exp(-4.24), model), p_cell(std::exp(-3.76), model));
}

TEST(Cells, SCellTruncatesAndKeepsSign) {
  RoundingSpec spec;
  spec.s_rounded = DType::bf16;
  const Model model(spec, 1);
  EXPECT_EQ(s_cell(5.0, model), s_cell(5.0 * (1 + 0x1p-12), model));
  EXPECT_NE(s_cell(5.0, model), s_cell(5.0 * (1 - 0x1p-40), model));
  EXPECT_NE(s_cell(5.0, model), s_cell(-5.0, model));
  EXPECT_EQ(s_cell(0.0, model), s_cell(-0.0, model));
}

TEST(Cells, PhaseIsEighthOfBinade) {
  EXPECT_EQ(exp2_phase(0), 0U);
  EXPECT_EQ(exp2_phase(-0.99 * std::log(2.0)), 0U);
  EXPECT_EQ(exp2_phase(-0.01 * std::log(2.0)), 7U);
  EXPECT_EQ(exp2_phase(-5.5 * std::log(2.0) + 1e-9), 4U);
}

TEST(Cells, SumsInCellAddLinearly) {
  Cells cells;
  cells.keys = {0, 2, 1, 3};
  cells.offsets = {0, 2, 4};
  const std::vector<double> weights{1, 3, 2, -3};
  const CellSums sums = cell_sums(cells, weights.data());
  EXPECT_EQ(sums.coherent, 9);  // (1 + 2)^2 + (3 - 3)^2
  EXPECT_EQ(sums.independent, 23);
  EXPECT_EQ(sums.excess(), 0);  // never negative
}

}  // namespace
}  // namespace plumbline
