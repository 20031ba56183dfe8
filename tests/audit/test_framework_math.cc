// Tests the low-precision baselines: which values are exact, which are rounded, and that the result
// is attention.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/audit/framework_math.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {
namespace {

FrameworkMath math_of(const Geometry& geometry, const InputView& inputs) {
  return framework_math(geometry, inputs, select_rows(geometry, 1e12));
}

TEST(FrameworkMath, RoundsLogitsToDtype) {
  // Raw logits 2049 and 2048 are equal in fp16, so both keys weigh 0.5. Exact would be e / (1 + e)
  // = 0.731.
  Problem problem;
  problem.dtype = DType::f16;
  problem.seq_q = 1;
  problem.seq_kv = 2;
  problem.head_dim_qk = 2;
  problem.head_dim_vo = 1;
  problem.scale = 1;
  const Geometry geometry(problem);
  InputCopy copy(geometry);
  const auto set = [](std::vector<std::byte>& tensor, std::vector<float> values) {
    encode(DType::f16, values, tensor.data());
  };
  set(copy.q, {1, 1});
  set(copy.k, {2048, 1, 2048, 0});
  set(copy.v, {1, -1});
  const FrameworkMath math = math_of(geometry, copy.view());
  EXPECT_EQ(math.flash_attention, std::vector<double>{0.0});
  EXPECT_EQ(math.sdpa_math, std::vector<double>{0.0});
  EXPECT_EQ(math.flex_eager, std::vector<double>{0.0});
  EXPECT_EQ(math.weighted_magnitude, std::vector<double>{1.0});
}

// Ragged, with rows that see no key.
Problem plain_problem(DType dtype) {
  Problem problem;
  problem.dtype = dtype;
  problem.batch = 2;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.seq_q = 20;
  problem.seq_kv = 15;
  problem.mask = Mask::causal_bottom_right;
  problem.layout = Layout::ragged;
  problem.lengths = Lengths::random;
  problem.scale = 0.1;  // not a power of two, so its position matters
  return problem;
}

Problem problem_with_features(DType dtype) {
  Problem problem = plain_problem(dtype);
  problem.mask = Mask::custom;
  problem.softcap = 0.5;
  problem.alibi = Alibi::random;
  problem.sinks = Sinks::normal;
  if (dtype != DType::f32) problem.kv_dtype = DType::e4m3, problem.kv_scales = KvScales::batch_head;
  return problem;
}

void expect_attention(const Problem& problem) {
  const Geometry geometry(problem);
  const InputCopy copy(geometry);
  const FrameworkMath math = math_of(geometry, copy.view());
  const Reference reference =
      compute_reference(geometry, copy.view(), strict_spec(problem), select_rows(geometry, 1e12));
  ASSERT_EQ(math.flex_eager.size(), reference.o.size());
  // S of a few units, P and the output are rounded, which gives about 10 u for outputs of a few
  // units.
  const double tolerance = 30 * unit_roundoff(problem.dtype);
  bool differs = false;
  for (std::size_t i = 0; i < reference.o.size(); ++i) {
    for (const auto* out : {&math.flash_attention, &math.sdpa_math, &math.flex_eager}) {
      EXPECT_NEAR((*out)[i], reference.o[i], tolerance) << problem_id(problem) << " element " << i;
      EXPECT_EQ((*out)[i], round_to((*out)[i], problem.dtype));
    }
    EXPECT_GE(math.weighted_magnitude[i] * (1 + tolerance) + 1e-30,
              std::abs(reference.o[i]) * (1 - tolerance));
    differs = differs || math.flash_attention[i] != math.flex_eager[i];
  }
  EXPECT_TRUE(differs) << "the orders round differently";
}

TEST(FrameworkMath, IsAttentionUpToRounding) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    expect_attention(plain_problem(dtype));
    expect_attention(problem_with_features(dtype));
  }
}

}  // namespace
}  // namespace plumbline
