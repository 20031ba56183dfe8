// Tests causes that are found by computing rows again with other sinks, fp8 scales or columns of K.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/key_columns.h"
#include "harness/diagnose/row_variation.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::respecify;
using test::small_problem;
using test::write_rows;

// The fit must start from an LSE that lacks the row's part of the bias, like the kernel's LSE.
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

// Returns the cause if a kernel multiplies columns 8 to 15 of K by `factor`.
std::string cause_of_key_factor(float factor) {
  Problem problem = small_problem();
  problem.scale = 0.05;  // outputs are nearly linear in the factor
  FilledProblem filled(problem), changed(problem);
  std::vector<float> k(changed.k.size() / size_in_bytes(problem.dtype));
  decode(problem.dtype, changed.k.data(), k);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] *= i % 16 < 8 ? 1.0F : factor;
  encode(problem.dtype, k, changed.k.data());
  write_rows(filled, compute_reference(changed.geometry, changed.inputs(), filled.spec,
                                       filled.reference.selection));
  FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  failing.output.outputs.lse = nullptr;  // few steps of a fit do not reach the LSE's accuracy
  return larger_key_columns(failing.output);
}

TEST(LargerKeyColumns, TextNamesFactor) {
  EXPECT_EQ(cause_of_key_factor(0), "dimensions 8 to 15 of Q K^T are left out");
  EXPECT_EQ(cause_of_key_factor(-0.5F), "columns 8 to 15 of K (or Q) are multiplied by -0.5");
  EXPECT_EQ(cause_of_key_factor(0.4F), "columns 8 to 15 of K (or Q) weigh 2.5 times too little");
  EXPECT_EQ(cause_of_key_factor(1.1F), "columns 8 to 15 of K (or Q) weigh 10 % too much");
}

}  // namespace
}  // namespace plumbline
