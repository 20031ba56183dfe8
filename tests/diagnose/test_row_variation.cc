// Tests that causes name the sinks, fp8 scales and columns of K of rows that are computed again.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/row_variation.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::respecify;
using test::small_problem;
using test::write_rows;

// The fit starts from an LSE that lacks the row's part of the bias, as the stated one does.
TEST(OtherSinks, LseLacksRowBias) {
  Problem problem = small_problem();
  problem.out_dtype = DType::f32;  // gives the sink with enough digits for the LSE
  problem.alibi = Alibi::standard;
  problem.mask = Mask::causal_bottom_right;
  problem.sinks = Sinks::normal;
  FilledProblem filled(problem);
  filled.geometry.side.sinks = {1, 1, 1, 1};
  RoundingSpec spec = filled.spec;
  spec.lse_without_row_bias = true;
  respecify(filled, spec);
  StatedLayout layout = layout_of(filled.geometry, false);
  layout.side->sinks[0] = 2.5F;
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(other_sinks(failing.output),
            "would be explained by other attention sinks: 2.5 instead of 1 for head 0");
}

// A scale a of K that multiplies c tanh(x / (a c)) is a softcap of a c. The bias keeps its size.
TEST(OtherFp8Scales, ScaleAfterSoftcapLeavesBias) {
  Problem problem = small_problem();
  problem.kv_dtype = DType::e4m3;
  problem.softcap = 2;
  problem.alibi = Alibi::standard;
  FilledProblem filled(problem);
  std::ranges::fill(filled.geometry.side.k_scale, 1.5F);
  respecify(filled, filled.spec);
  problem.softcap = 3;
  write_rows(filled, compute_reference(Geometry(problem, layout_of(filled.geometry, false)),
                                       filled.inputs(), filled.spec, filled.reference.selection));
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(other_fp8_scales(failing.output),
            "would be explained if K's fp8 scale multiplied logits after the softcap");
}

}  // namespace
}  // namespace plumbline
