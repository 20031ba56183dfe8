// Tests that causes name ALiBi slopes of other heads and of other numbers of heads.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/row_variation.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using test::write_rows;

Problem problem_with_slopes(std::int64_t heads) {
  Problem problem = small_problem();
  problem.heads_q = heads;
  problem.alibi = Alibi::standard;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

// Returns the cause if a kernel uses `slopes`.
std::string cause_of_slopes(const Problem& problem, const std::vector<float>& slopes) {
  FilledProblem filled(problem);
  StatedLayout layout = layout_of(filled.geometry, false);
  layout.side->alibi_slopes = slopes;
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  const FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  return other_slopes(failing.output);
}

TEST(OtherSlopes, SlopeOfKeyHead) {
  const Problem problem = problem_with_slopes(4);
  const std::vector<float> slopes = Geometry(problem).side.alibi_slopes;
  EXPECT_EQ(cause_of_slopes(problem, {slopes[0], slopes[0], slopes[1], slopes[1]}),
            "would be explained if query head h had ALiBi slope h / 2: that of its key head's "
            "number");
  EXPECT_EQ(cause_of_slopes(problem, {slopes[0], slopes[1], slopes[0], slopes[1]}),
            "would be explained if query head h had ALiBi slope h % 2: that of its place beside "
            "its key head");
}

TEST(OtherSlopes, SixHeadsAsPowerOfTwo) {
  const Problem problem = problem_with_slopes(6);
  EXPECT_EQ(cause_of_slopes(problem, {0.5F, 0.25F, 0.125F, 0x1p-4F, 0x1p-5F, 0x1p-6F}),
            "would be explained if the ALiBi slopes were those of 8 heads, the next power of two");
  std::vector<float> slopes;
  for (int head = 1; head <= 6; ++head) slopes.push_back(std::exp2(-8.0F * head / 6));
  EXPECT_EQ(cause_of_slopes(problem, slopes),
            "would be explained if the ALiBi slopes were 2^(-8 (h + 1) / 6), as for a power of "
            "two");
}

// A dump may state slopes for each sample.
TEST(OtherSlopes, SlopesBySample) {
  const Problem problem = problem_with_slopes(4);
  FilledProblem filled(problem);
  std::vector<float>& slopes = filled.geometry.side.alibi_slopes;
  slopes = {0.5F, 0.25F, 0.125F, 0.0625F, 0.3F, 0.2F, 0.1F, 0.4F};
  test::respecify(filled, filled.spec);
  StatedLayout layout = layout_of(filled.geometry, false);
  layout.side->alibi_slopes = {0.25F, 0.125F, 0.0625F, 0.5F, 0.2F, 0.1F, 0.4F, 0.3F};
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(other_slopes(failing.output),
            "would be explained if each head had the ALiBi slope of the next head");
}

}  // namespace
}  // namespace plumbline
