// Tests that a wrong LSE beside a right output is named: a part of it, some of the keys, or the LSE
// of another row.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "harness/diagnose/wrong_lse.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::small_problem;

// Returns the cause if each row stores another LSE, given its place in the reference.
std::string cause_of_lses(const std::function<double(const FilledProblem&, std::size_t)>& lse) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.lse.size(); ++r)
    filled.set_lse(filled.reference.selection.rows[r], lse(filled, r));
  const FailingProblem failing(filled);
  EXPECT_TRUE(failing.fails());
  return wrong_lse(failing.output);
}

RowDetail detail_of(const FilledProblem& filled, std::size_t r) {
  return reference_row(filled.geometry, filled.inputs(), filled.spec,
                       filled.reference.selection.rows[r]);
}
double maximum_of(const FilledProblem& filled, std::size_t r) {
  const RowDetail detail = detail_of(filled, r);
  return *std::ranges::max_element(detail.s);
}

TEST(WrongLse, OnePartIsMissing) {
  EXPECT_EQ(cause_of_lses(maximum_of),
            "only the LSE is wrong: it is the maximum alone, without ln l");
  EXPECT_EQ(cause_of_lses([](const FilledProblem& filled, std::size_t r) {
              return filled.reference.lse[r] - maximum_of(filled, r);
            }),
            "only the LSE is wrong: it is ln l without the maximum");
}

// Returns the LSE of some of a row's keys.
double lse_of(const FilledProblem& filled, std::size_t r, std::size_t begin, std::size_t end) {
  const RowDetail detail = detail_of(filled, r);
  double sum = 0;
  for (std::size_t key = begin; key < end; ++key) sum += std::exp(detail.s[key]);
  return std::log(sum);
}

TEST(WrongLse, SplitsAreMissing) {
  EXPECT_EQ(
      cause_of_lses([](const auto& filled, std::size_t r) { return lse_of(filled, r, 0, 10); }),
      "only the LSE is wrong: it is that of keys 0 to 9: the last keys or splits are missing");
  EXPECT_EQ(
      cause_of_lses([](const auto& filled, std::size_t r) { return lse_of(filled, r, 10, 20); }),
      "only the LSE is wrong: it is that of keys 10 to 19: that of the last split, or the first "
      "keys are missing");
}

// Returns the cause if each row stores the LSE of another row of its sample.
std::string cause_of_exchange(const std::function<RowId(RowId)>& other) {
  return cause_of_lses([&](const FilledProblem& filled, std::size_t r) {
    const auto& rows = filled.reference.selection.rows;
    const auto found = std::ranges::find(rows, other(rows[r]));
    return filled.reference
        .lse[found == rows.end() ? r : static_cast<std::size_t>(found - rows.begin())];
  });
}

TEST(WrongLse, OtherRowsAreStored) {
  EXPECT_EQ(cause_of_exchange([](RowId id) { return ++id.row, id; }),
            "only the LSE is wrong: each row has that of the next row");
  EXPECT_EQ(cause_of_exchange([](RowId id) { return id.head = 3 - id.head, id; }),
            "only the LSE is wrong: its heads are reversed");
  EXPECT_EQ(cause_of_exchange([](RowId id) { return id.sample = 1 - id.sample, id; }),
            "only the LSE is wrong: each sample has that of the next sample");
}

// The small problem has 6 rows of 4 heads.
TEST(WrongLse, HeadsAreTransposed) {
  EXPECT_EQ(
      cause_of_exchange([](RowId id) {
        const std::int32_t at = id.row * 4 + id.head;
        return id.head = at / 6, id.row = at % 6, id;
      }),
      "only the LSE is wrong: it is transposed: heads before rows, read as rows before heads");
  EXPECT_EQ(
      cause_of_exchange([](RowId id) {
        const std::int32_t at = id.head * 6 + id.row;
        return id.row = at / 4, id.head = at % 4, id;
      }),
      "only the LSE is wrong: it is transposed: rows before heads, read as heads before rows");
}

}  // namespace
}  // namespace plumbline
