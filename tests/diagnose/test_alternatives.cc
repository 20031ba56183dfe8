// Tests alternatives for stated keys, for tiles of queries, for some rows, and beside an LSE that
// lacks the row's bias.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_problems.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/causes.h"
#include "harness/reference/reference_context.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::respecify;
using test::small_problem;
using test::write_rows;
using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

Problem square_problem(std::int64_t tokens) {
  Problem problem = small_problem();
  problem.seq_q = problem.seq_kv = tokens;
  return problem;
}

// Returns the sentences of all alternatives if a tensor states these keys for each row.
template <class KeysOfRow>
std::vector<std::string> sentences_for(const Problem& problem, const KeysOfRow& keys) {
  StatedLayout layout = layout_of(Geometry(problem), false);
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t row = 0; row < problem.seq_q; ++row) layout.visible.push_back(keys(row));
  }
  const Geometry geometry(problem, layout);
  FailingOutput failing;
  failing.geometry = &geometry;
  failing.keys_stated = true;
  std::vector<std::string> sentences;
  visit_alternatives(failing, [&](const AlternativeProblem& other) {
    sentences.push_back(other.sentence);
    return true;
  });
  return sentences;
}

TEST(Alternatives, CausalMaskReplacesStatedKeys) {
  const Problem problem = square_problem(12);
  EXPECT_THAT(sentences_for(problem,
                            [](std::int64_t) {
                              return KeyRange{0, 5};
                            }),
              Contains("if the mask were causal"));
  const auto causal = sentences_for(problem, [](std::int64_t row) { return KeyRange{0, row + 1}; });
  EXPECT_THAT(causal, Contains("if the mask were not applied"));
  EXPECT_THAT(causal, Not(Contains("if the mask were causal")));
}

TEST(Alternatives, WindowOfFirstQueryOfTile) {
  Problem problem = square_problem(64);
  problem.batch = 1;
  problem.mask = Mask::causal_bottom_right;
  problem.window_left = 15;
  FilledProblem filled(problem);
  StatedLayout layout = layout_of(filled.geometry, true);
  for (std::int64_t row = 0; row < 64; ++row)
    layout.visible[static_cast<std::size_t>(row)].begin =
        std::max<std::int64_t>(0, row / 16 * 16 - 15);
  write_rows(filled, compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(causes(failing.output).front(),
            "would be explained if the window began where it does for the first query of each tile "
            "of 16");
}

TEST(Alternatives, MaskOfSomeRowsIsMissing) {
  Problem problem = square_problem(48);
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  problem.mask = Mask::none;
  RowSelection rows = filled.reference.selection;
  std::erase_if(rows.rows, [](const RowId& id) { return id.row < 16 || id.row >= 32; });
  write_rows(filled,
             compute_reference(Geometry(problem), filled.inputs(), filled.spec, std::move(rows)));
  const FailingProblem failing(filled);
  ASSERT_EQ(failing.location.kind, LocationKind::row) << failing.location.description;
  EXPECT_EQ(causes(failing.output).front(),
            "rows 16 to 31 of 48 are wrong, the others right: would be explained without the "
            "causal mask");
}

// An alternative also explains values out of range, but not wrong padded rows.
TEST(Causes, AlternativeLeavesNoPlace) {
  Problem problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  problem.mask = Mask::none;
  write_rows(filled, compute_reference(Geometry(problem), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  FailingProblem failing(filled);
  Faults faults;
  faults.out_of_range = faults.padded_rows = 1;
  failing.output.faults = &faults;
  std::vector<std::string> sentences = causes(failing.output);
  ASSERT_GE(sentences.size(), 2U);
  EXPECT_THAT(sentences.back(), StartsWith("padded query rows"));
  sentences.pop_back();
  EXPECT_THAT(sentences, Each(StartsWith("would be explained")));
}

// The lost keys need a mask of bits instead of the causal mask. References omit the row's bias from
// the LSE only under a causal mask, so the test adds it.
TEST(Alternatives, LostKeysBesideLseWithoutRowBias) {
  Problem problem = small_problem();
  problem.alibi = Alibi::standard;
  problem.mask = Mask::causal_bottom_right;
  problem.seq_kv = 32;
  FilledProblem filled(problem);
  RoundingSpec spec = filled.spec;
  spec.lse_without_row_bias = true;
  respecify(filled, spec);
  StatedLayout layout = layout_of(filled.geometry, false);
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t row = 0; row < problem.seq_q; ++row) {
      std::uint32_t bits = 0;
      for (std::int64_t key = 0; key < filled.geometry.visible_keys(sample, row).end; ++key)
        bits |= key % 4 == 3 ? 0U : 1U << key;
      layout.mask_bits.push_back(bits);
    }
  }
  problem.mask = Mask::custom;
  const Reference lost = compute_reference(Geometry(problem, layout), filled.inputs(), filled.spec,
                                           filled.reference.selection);
  write_rows(filled, lost);
  for (std::size_t r = 0; r < lost.lse.size(); ++r) {
    const RowId& id = lost.selection.rows[r];
    filled.set_lse(
        id, lost.lse[r] + logit_shape(filled.geometry, filled.geometry.side, id).bias_of_row(0));
  }
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(causes(failing.output).front(),
            "would be explained if every 4th key, from key 3 on, were not seen");
}

}  // namespace
}  // namespace plumbline
