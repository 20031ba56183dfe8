// Tests that sentences about few wrong places count what was compared.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "harness/diagnose/single_places.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;
using testing::StartsWith;

// All rows are right, and the reference has some of them.
FilledProblem sampled_problem() {
  Problem problem = small_problem();
  problem.seq_q = 200;
  FilledProblem filled(problem);
  filled.reference =
      compute_reference(filled.geometry, filled.inputs(), filled.spec,
                        select_rows(filled.geometry, 400 * 20 * 32));  // 400 rows of 20 keys
  return filled;
}

// Writes other numbers into a row.
void spoil_row(FilledProblem& filled, std::size_t r) {
  for (std::int64_t j = 0; j < filled.reference.columns; ++j)
    filled.set(filled.reference.selection.rows[r], j,
               1 + filled.expected(r, static_cast<std::size_t>(j)));
}

TEST(FewRows, SampledRowsAreCounted) {
  FilledProblem filled = sampled_problem();
  const std::size_t compared = filled.reference.selection.rows.size();
  ASSERT_TRUE(filled.reference.selection.sampled);
  ASSERT_GE(compared, 100U);
  spoil_row(filled, 7);
  const RowId& id = filled.reference.selection.rows[7];
  FailingProblem failing(filled);
  const std::string sentence = fmt::format(
      "one row is wrong, all others of {} compared ones are right: row {}, head {}, "
      "sample {}",
      compared, id.row, id.head, id.sample);
  EXPECT_EQ(few_rows(failing.output), sentence);
  Comparison comparison = failing.comparison;
  failing.output.comparison = &comparison;
  comparison.statistics.has_elsewhere = true;
  EXPECT_EQ(few_rows(failing.output), sentence);
  comparison.statistics.elsewhere = 2 * failing.limits.elsewhere;
  EXPECT_EQ(few_rows(failing.output), "") << "other rows are wrong, too";
}

TEST(FewElements, SampledElementsAreCounted) {
  FilledProblem filled = sampled_problem();
  filled.set(filled.reference.selection.rows[7], 3, 1 + filled.expected(7, 3));
  EXPECT_THAT(few_elements(FailingProblem(filled).output),
              StartsWith(fmt::format(
                  "one element is wrong, all others of {} compared ones are right: column 3 of row",
                  filled.reference.o.size())));
}

TEST(Locate, SampledPositionsAreCounted) {
  FilledProblem filled = sampled_problem();
  std::set<std::int32_t> positions;
  const std::vector<RowId>& rows = filled.reference.selection.rows;
  for (const RowId& id : rows) positions.insert(id.row);
  const std::int32_t last = *positions.rbegin();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].row == last) spoil_row(filled, r);
  }
  EXPECT_THAT(FailingProblem(filled).location.text,
              StartsWith(fmt::format("row {} of {} compared is wrong, the others right", last,
                                     positions.size())));
}

}  // namespace
}  // namespace plumbline
