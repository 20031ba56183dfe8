// Tests that causes name infinite LSEs and their sign, and no overflow of the output.
#include <gmock/gmock.h>

#include <limits>

#include "harness/diagnose/causes.h"
#include "harness/diagnose/lse_faults.h"
#include "tests/diagnose/faulty_output.h"

namespace plumbline {
namespace {

using test::FaultyOutput;
using test::FilledProblem;
using test::small_problem;
using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

constexpr double infinite = std::numeric_limits<double>::infinity();

// Writes an infinite LSE into two rows of sample 0.
FilledProblem with_infinite_lses(double lse) {
  FilledProblem filled(small_problem());
  RowId id;
  id.head = 2, id.row = 1;
  filled.set_lse(id, lse);
  id.row = 4;
  filled.set_lse(id, lse);
  return filled;
}

TEST(InfiniteLse, RightOutputIsNoOverflow) {
  EXPECT_EQ(infinite_lse(FaultyOutput(FilledProblem(small_problem())).problem.output), "");
  EXPECT_THAT(causes(FaultyOutput(with_infinite_lses(-infinite)).problem.output),
              ElementsAre("LSE of -infinity where keys are visible: rows 1, 4 of sample 0; O is "
                          "right"));
  EXPECT_THAT(causes(FaultyOutput(with_infinite_lses(infinite)).problem.output),
              ElementsAre("LSE of +infinity where keys are visible: rows 1, 4 of sample 0; O is "
                          "right"));
}

TEST(InfiniteLse, RowsWithoutReferenceMayBeWrong) {
  const FilledProblem filled = with_infinite_lses(-infinite);
  FaultyOutput failing(filled);
  Comparison comparison = failing.problem.comparison;
  comparison.statistics.has_elsewhere = true;
  comparison.statistics.elsewhere = infinite;
  failing.problem.output.comparison = &comparison;
  EXPECT_EQ(infinite_lse(failing.problem.output),
            "LSE of -infinity where keys are visible: rows 1, 4 of sample 0");
}

TEST(InfiniteLse, WrongOutputIsAnotherFault) {
  FilledProblem filled = with_infinite_lses(-infinite);
  const RowId& id = filled.reference.selection.rows.front();
  for (std::int64_t j = 0; j < 16; ++j) filled.set(id, j, j == 0 ? infinite : 0.0);
  const FaultyOutput failing(filled);
  EXPECT_EQ(infinite_lse(failing.problem.output), "");
  const auto sentences = causes(failing.problem.output);
  EXPECT_THAT(sentences,
              Contains("LSE of -infinity where keys are visible: rows 1, 4 of sample 0"));
  EXPECT_THAT(sentences, Contains(StartsWith("infinity: an overflow")));
}

TEST(InfiniteLse, OtherLsesMustBeRight) {
  FilledProblem filled = with_infinite_lses(-infinite);
  filled.set_lse(filled.reference.selection.rows.front(), filled.reference.lse.front() + 0.01);
  EXPECT_EQ(infinite_lse(FaultyOutput(filled).problem.output), "");
}

TEST(InfiniteLse, SignOfEmptyRows) {
  Problem problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  problem.seq_q = 24;
  FilledProblem filled(problem);
  EXPECT_EQ(FaultyOutput(filled).faults.total(), 0);
  for (std::size_t r = 0; r < filled.reference.lse.size(); ++r) {
    if (filled.reference.visible[r] == 0)
      filled.set_lse(filled.reference.selection.rows[r], infinite);
  }
  const FaultyOutput failing(filled);
  EXPECT_GT(failing.faults.empty_rows, 0);
  EXPECT_THAT(causes(failing.problem.output),
              ElementsAre("the LSE of a row that sees no key is +infinity, -infinity is asked"));
}

}  // namespace
}  // namespace plumbline
