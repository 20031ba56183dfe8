// Tests that NaN in keys that no row sees is named as the cause only if the output is NaN exactly
// in the elements that the keys' NaN reaches.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "harness/diagnose/nan_keys.h"
#include "tests/diagnose/faulty_output.h"

namespace plumbline {
namespace {

using test::FaultyOutput;
using test::FilledProblem;
using test::small_problem;

constexpr float nan_of_input = std::numeric_limits<float>::quiet_NaN();

// Writes NaN into one number of K or V. Keys may lie after the end of a sample.
void set_nan(std::vector<std::byte>& tensor, const TensorShape& shape, std::int64_t offset) {
  encode(shape.dtype, {&nan_of_input, 1},
         tensor.data() + static_cast<std::size_t>(offset) * size_in_bytes(shape.dtype));
}
void set_nan_in_v(FilledProblem& filled, const RowId& id, std::int64_t key, std::int64_t column) {
  const Geometry& geometry = filled.geometry;
  set_nan(filled.v, geometry.v, geometry.v_offset(id.sample, key, id.head) + column);
}

// Writes NaN into a column of the chosen rows; column -1: into all of them.
void spoil(FilledProblem& filled, std::int64_t column,
           const std::function<bool(const RowId&)>& chosen) {
  for (const RowId& id : filled.reference.selection.rows) {
    for (std::int64_t j = 0; j < filled.reference.columns && chosen(id); ++j) {
      if (column < 0 || j == column) filled.set(id, j, double{nan_of_input});
    }
  }
}

std::string cause_of_nan(const FilledProblem& filled) {
  return nan_of_hidden_keys(FaultyOutput(filled).problem.output);
}

// Keys 20 to 31 of a sample are the tail of its second page.
Problem problem_with_tails() {
  Problem problem = small_problem();
  problem.layout = Layout::paged_nhd;
  problem.page_size = 16;
  problem.fill = Fill::zeros;
  return problem;
}

// Query heads 2 and 3 of sample 1 read key head 1.
const RowId spoiled_key{1, 1, 0};
bool reads_it(const RowId& id) { return id.sample == 1 && id.head / 2 == 1; }

TEST(NanOfHiddenKeys, TailOfPageIsNamed) {
  FilledProblem filled(problem_with_tails());
  set_nan_in_v(filled, spoiled_key, 25, 3);
  spoil(filled, 3, reads_it);
  EXPECT_EQ(cause_of_nan(filled),
            "NaN of the tail of a page reaches the output: V of key 25, head 1, sample 1 is NaN, "
            "and 0 times NaN is NaN");
}

TEST(NanOfHiddenKeys, ColumnsOfVMustAgree) {
  FilledProblem filled(problem_with_tails());
  set_nan_in_v(filled, spoiled_key, 25, 3);
  spoil(filled, -1, reads_it);
  EXPECT_EQ(cause_of_nan(filled), "") << "NaN of V is in one column";
  set_nan(filled.k, filled.geometry.k, filled.geometry.k_offset(1, 25, 1));
  EXPECT_EQ(cause_of_nan(filled),
            "NaN of the tail of a page reaches the output: K of key 25, head 1, sample 1 is NaN");
}

TEST(NanOfHiddenKeys, EachRowInReachHasNan) {
  FilledProblem filled(problem_with_tails());
  set_nan_in_v(filled, spoiled_key, 25, 3);
  spoil(filled, 3, [](const RowId& id) { return reads_it(id) && id.row < 5; });
  EXPECT_EQ(cause_of_nan(filled), "") << "row 5 reads the same keys";
}

TEST(NanOfHiddenKeys, OtherRowsHaveAnotherCause) {
  FilledProblem filled(problem_with_tails());
  set_nan_in_v(filled, spoiled_key, 25, 3);
  spoil(filled, 3, [](const RowId& id) { return reads_it(id) || id.sample == 0; });
  EXPECT_EQ(cause_of_nan(filled), "") << "sample 0 has no NaN";
}

// Row 0 sees keys 0 to 14, so it reads only the first tile of 16 keys, which has no NaN.
TEST(NanOfHiddenKeys, RowsReadWholeTiles) {
  Problem problem = problem_with_tails();
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  set_nan_in_v(filled, spoiled_key, 25, 3);
  spoil(filled, 3, [](const RowId& id) { return reads_it(id) && id.row >= 2; });
  EXPECT_NE(cause_of_nan(filled), "") << "rows 2 to 5 see keys from 16 on";
}

TEST(NanOfHiddenKeys, PaddedKeysAreNamed) {
  for (const Padding padding : {Padding::right, Padding::left}) {
    Problem problem = small_problem();
    problem.seq_kv = 64;
    problem.lengths = Lengths::one_long;
    problem.padding = padding;
    problem.fill = Fill::zeros;
    FilledProblem filled(problem);
    const std::int64_t length = filled.geometry.length_kv(1);
    ASSERT_LT(length, 64);
    const RowId padded{1, 0, 0};
    const bool is_left = padding == Padding::left;
    for (std::int64_t column = 0; column < 16; ++column)
      set_nan_in_v(filled, padded, is_left ? -1 : length, column);
    spoil(filled, -1, [](const RowId& id) { return id.sample == 1 && id.head < 2; });
    EXPECT_EQ(cause_of_nan(filled),
              fmt::format("NaN of padded keys reaches the output: V of {} {}, head 0, sample 1 is "
                          "NaN, and 0 times NaN is NaN",
                          is_left ? "padded key" : "key", is_left ? 63 - length : length));
  }
}

}  // namespace
}  // namespace plumbline
