// Tests the bitwise comparison of two outputs, and the size of their difference.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/measure/call_comparison.h"

namespace plumbline {
namespace {

using testing::SizeIs;

// Two samples with two rows, one head, fp32 outputs with four columns. Outputs are 1, the LSE is 2.
class CallComparison : public testing::Test {
 protected:
  CallComparison() {
    Problem problem;
    problem.dtype = DType::f32;
    problem.batch = 2;
    problem.seq_q = problem.seq_kv = 2;
    problem.head_dim_vo = 4;
    base_ = std::make_unique<Geometry>(problem);
    call_ = own_call(*base_);
    a_ = b_ = std::vector<float>(16, 1.0F);
    lse_a_ = lse_b_ = std::vector<float>(4, 2.0F);
  }
  OutputView a() const { return {a_.data(), lse_a_.data(), 0}; }
  OutputView b() const { return {b_.data(), lse_b_.data(), 0}; }
  BitComparison bits() const { return compare_bits(*base_, a(), call_, b()); }
  LargestDifference largest(double sigma, double lse_sigma) const {
    const auto pairs = affordable(bits().rows, *base_, 1e9);
    Reference reference;
    reference.columns = 4;
    reference.o.assign(pairs.size() * 4, 1.0);
    reference.sigma.assign(pairs.size() * 4, static_cast<float>(sigma));
    reference.lse.assign(pairs.size(), 2.0);
    reference.lse_sigma.assign(pairs.size(), static_cast<float>(lse_sigma));
    return largest_difference(*base_, a(), call_, b(), pairs, reference, {.peak = 6.5, .lse = 6});
  }

  std::unique_ptr<Geometry> base_;
  VariantCall call_;
  std::vector<float> a_, b_, lse_a_, lse_b_;
};

TEST_F(CallComparison, EqualBitsAreNoDifference) {
  const BitComparison same = bits();
  EXPECT_EQ(same.elements, 20);
  EXPECT_EQ(same.other_bits, 0);
  EXPECT_TRUE(same.rows.empty());
}

TEST_F(CallComparison, NanDiffersFromNan) {
  a_[5] = b_[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bits().other_bits, 1);
  EXPECT_EQ(largest(1, 1).sigmas, std::numeric_limits<double>::infinity());
  lse_a_[0] = lse_b_[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bits().other_bits, 2);
}

TEST_F(CallComparison, SignedZeroDiffersOnlyInBits) {
  a_[0] = 0.0F, b_[0] = -0.0F;
  EXPECT_EQ(bits().other_bits, 1);
  EXPECT_EQ(largest(1e-6, 1e-6).sigmas, 0);
}

TEST_F(CallComparison, SizesAreInSigmas) {
  b_[6] = 1.5F;  // sample 0, row 1, column 2
  const LargestDifference output = largest(0.25, 1);
  EXPECT_EQ(output.statistic, "out");
  EXPECT_EQ(output.element, (ElementId{0, 0, 1, 2}));
  EXPECT_DOUBLE_EQ(output.sigmas, 0.5 / (std::sqrt(2.0) * 0.25));
  EXPECT_DOUBLE_EQ(output.ulps, 0.5 / std::ldexp(1.0, -23));
  EXPECT_EQ(output.value_a, 1.0);
  EXPECT_EQ(output.value_b, 1.5);
  lse_b_[3] = 2.5F;  // closer to its limit
  const LargestDifference lse = largest(0.25, 0.125);
  EXPECT_EQ(lse.statistic, "lse");
  EXPECT_EQ(lse.element, (ElementId{1, 0, 1, -1}));
  EXPECT_DOUBLE_EQ(lse.sigmas, 0.5 / (std::sqrt(2.0) * 0.125));
}

TEST_F(CallComparison, ZeroSigmaMakesDifferenceInfinite) {
  b_[0] = 1.5F;
  EXPECT_EQ(largest(0, 0).sigmas, std::numeric_limits<double>::infinity());
}

TEST_F(CallComparison, MapsRowsOfCallToCase) {
  call_.samples[0].sample = 1;
  call_.samples[1].sample = 0;
  b_[0] = 3.0F;  // the call's sample 0 is the case's sample 1
  ASSERT_THAT(bits().rows, SizeIs(1));
  EXPECT_EQ(bits().rows[0].of_case, (RowId{1, 0, 0}));
  EXPECT_EQ(bits().rows[0].of_call, (RowId{0, 0, 0}));
  call_.samples[1].sample = -1;
  EXPECT_EQ(bits().elements, 10) << "a neighbour's rows are compared with nothing";
}

TEST_F(CallComparison, SkipsLseMissingOnOneSide) {
  const OutputView without{b_.data(), nullptr, 0};
  lse_b_[0] = 7;
  EXPECT_EQ(compare_bits(*base_, a(), call_, without).elements, 16);
  EXPECT_EQ(compare_bits(*base_, a(), call_, without).other_bits, 0);
}

TEST_F(CallComparison, LargestDifferencesComeFirst) {
  b_[0] = 1.1F;   // sample 0, row 0
  b_[12] = 4.0F;  // sample 1, row 1
  const auto one = affordable(bits().rows, *base_, 1);
  ASSERT_THAT(one, SizeIs(1)) << "one at least";
  EXPECT_EQ(one[0].of_case, (RowId{1, 0, 1}));
  const auto both = affordable(bits().rows, *base_, 1e9);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0].of_case, (RowId{0, 0, 0}));
}

}  // namespace
}  // namespace plumbline
