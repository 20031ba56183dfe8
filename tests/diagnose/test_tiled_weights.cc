// Dtypes that a cause may name for P.
#include <gtest/gtest.h>

#include "harness/diagnose/tiled_weights.h"

namespace plumbline {
namespace {

// Returns may_be_p() for an output that is judged with P in `judged`.
bool may_be(DType q, DType kv, DType judged, DType p) {
  Problem problem;
  problem.dtype = q;
  if (kv != q) problem.kv_dtype = kv;
  problem.seq_q = problem.seq_kv = 2;
  const Geometry geometry(problem);
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = judged;
  FailingOutput failing;
  failing.geometry = &geometry;
  failing.spec = &spec;
  return may_be_p(failing, p);
}

TEST(TiledWeights, OnlyCoarserDtypesMayBeP) {
  for (const DType dtype : coarser_dtypes) {
    EXPECT_TRUE(may_be(DType::f32, DType::f32, DType::f32, dtype)) << name(dtype);
    EXPECT_FALSE(may_be(DType::bf16, DType::bf16, dtype, dtype)) << name(dtype);
    EXPECT_FALSE(may_be(DType::e5m2, DType::e5m2, DType::e5m2, dtype)) << name(dtype);
  }
  EXPECT_FALSE(may_be(DType::bf16, DType::bf16, DType::bf16, DType::f16));
  EXPECT_TRUE(may_be(DType::bf16, DType::bf16, DType::bf16, DType::e4m3));
  EXPECT_TRUE(may_be(DType::f16, DType::f16, DType::f16, DType::bf16));
  EXPECT_FALSE(may_be(DType::f16, DType::f16, DType::f16, DType::tf32)) << "as many bits";
}

// A kernel with 16-bit Q widens a cache in fp8, so its P is not in fp8.
TEST(TiledWeights, WidenedCacheExcludesFp8P) {
  EXPECT_FALSE(may_be(DType::bf16, DType::e4m3, DType::bf16, DType::e4m3));
  EXPECT_FALSE(may_be(DType::f16, DType::e5m2, DType::f32, DType::e4m3));
  EXPECT_TRUE(may_be(DType::bf16, DType::e4m3, DType::f32, DType::bf16));
  EXPECT_TRUE(may_be(DType::e4m3, DType::e4m3, DType::f32, DType::e4m3));
}

}  // namespace
}  // namespace plumbline
