// Tests that a planted key, scale, denominator or column is located, and nothing in a legal output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/contract/limits.h"
#include "harness/diagnose/locate.h"
#include "tests/compare/filled_problem.h"

namespace plumbline {
namespace {

using test::FilledProblem;
using test::small_problem;
using testing::HasSubstr;
using testing::StartsWith;

Location location_of(const FilledProblem& filled) {
  const auto comparison = compare(filled.geometry, filled.outputs(), filled.reference);
  return locate(
      {&filled.geometry, filled.inputs(), &filled.spec, &filled.reference, &comparison,
       default_limits(filled.spec, filled.geometry.problem(), comparison.statistics.elements)});
}

std::vector<double> value(const FilledProblem& filled, const RowId& id, std::int64_t key) {
  std::vector<double> v(16);
  decode(DType::f16,
         filled.v.data() +
             static_cast<std::size_t>(filled.geometry.v_offset(id.sample, key, id.head / 2)) * 2,
         v);
  return v;
}

// Multiplies the weight of one key of each row by `factor` and renormalises. `choose` returns the
// key, given the row and its visible keys; -1: none.
template <class Choose>
void reweigh(FilledProblem& filled, double factor, Choose choose) {
  for (const auto& id : filled.reference.selection.rows) {
    const auto detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    const std::int64_t key = choose(id, detail.keys);
    if (key < 0) continue;
    const double p = detail.p[static_cast<std::size_t>(key - detail.keys.begin)];
    const double change = p * (factor - 1) / (1 + p * (factor - 1));
    const auto v = value(filled, id, key);
    for (std::size_t j = 0; j < 16; ++j)
      filled.set(id, static_cast<std::int64_t>(j), detail.o[j] + change * (v[j] - detail.o[j]));
  }
}

Problem causal() {
  auto problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

TEST(Locate, NothingInLegalOutput) {
  EXPECT_EQ(location_of(FilledProblem(small_problem())).kind, LocationKind::none);
}

TEST(Locate, LastVisibleKeyDropped) {
  FilledProblem filled(causal());
  reweigh(filled, 0, [](const RowId&, const KeyRange& keys) { return keys.end - 1; });
  const auto location = location_of(filled);
  EXPECT_EQ(location.kind, LocationKind::edge);
  EXPECT_THAT(location.description, HasSubstr("the last visible key weighs too little"));
}

TEST(Locate, OneKeyOfOneHead) {
  FilledProblem filled(causal());
  reweigh(filled, 0.5,
          [](const RowId& id, const KeyRange&) { return id.sample == 1 && id.head == 2 ? 7 : -1; });
  const auto location = location_of(filled);
  EXPECT_EQ(location.kind, LocationKind::key);
  EXPECT_THAT(location.description, HasSubstr("key 7 of key head 1 in sample 1 weighs too little"));
  EXPECT_THAT(location.description, HasSubstr("in head 2 of sample 1"));
}

TEST(Locate, WrongSoftmaxScale) {
  auto problem = small_problem();
  FilledProblem filled(problem);
  problem.scale = 1.02 * problem.softmax_scale();
  const FilledProblem hot(problem);
  filled.out = hot.out;
  const auto location = location_of(filled);
  EXPECT_EQ(location.kind, LocationKind::scale);
  EXPECT_THAT(location.description, HasSubstr("too large"));
}

TEST(Locate, WrongDenominator) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    for (std::size_t j = 0; j < 16; ++j)
      filled.set(filled.reference.selection.rows[r], static_cast<std::int64_t>(j),
                 0.97 * filled.expected(r, j));
  }
  EXPECT_EQ(location_of(filled).kind, LocationKind::denominator);
}

TEST(Locate, WrongColumnIsNamed) {
  FilledProblem filled(small_problem());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    filled.set(filled.reference.selection.rows[r], 9, filled.expected(r, 9) * 0.5);
  }
  EXPECT_THAT(location_of(filled).description, HasSubstr("in column 9"));
}

// Lets the weights of each row err independently, as by rounding: adds a normal number to each
// logit.
void shake_logits(FilledProblem& filled, double deviation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (const auto& id : filled.reference.selection.rows) {
    const auto detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    std::vector<double> o(16, 0.0);
    double sum = 0;
    for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
      const double p =
          detail.p[static_cast<std::size_t>(key - detail.keys.begin)] * std::exp(normal(random));
      const auto v = value(filled, id, key);
      for (std::size_t j = 0; j < 16; ++j) o[j] += p * v[j];
      sum += p;
    }
    for (std::size_t j = 0; j < 16; ++j) filled.set(id, static_cast<std::int64_t>(j), o[j] / sum);
  }
}

// A threshold of 4 in units of sigma would name a key in most of these outputs.
TEST(Locate, NothingIfRowsErrIndependently) {
  auto problem = causal();
  for (const double deviation : {0.0003, 0.003, 0.03}) {
    int named = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      problem.seed = seed;
      FilledProblem filled(problem);
      shake_logits(filled, deviation, seed);
      const auto location = location_of(filled);
      named += location.kind == LocationKind::none ? 0 : 1;
      if (location.kind == LocationKind::none) {
        EXPECT_THAT(location.description, StartsWith("no location: the best of "));
      }
    }
    EXPECT_LE(named, 1) << deviation;
  }
}

TEST(Locate, NothingIfOnlyLseIsWrong) {
  FilledProblem filled(causal());
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r)
    filled.set_lse(filled.reference.selection.rows[r], filled.reference.lse[r] + 0.01);
  const auto location = location_of(filled);
  EXPECT_EQ(location.kind, LocationKind::none);
  EXPECT_EQ(location.description, "no location: only the LSE is beyond its limit");
}

// One key is more and more wrong in the same rows. The key is named once its error exceeds chance.
TEST(Locate, KeyIsNamedAboveChance) {
  bool was_named = false;
  for (const double factor : {0.9999, 0.999, 0.99, 0.9, 0.5, 0.0}) {
    FilledProblem filled(causal());
    reweigh(filled, factor, [](const RowId& id, const KeyRange&) {
      return id.sample == 1 && id.head / 2 == 1 ? 7 : -1;
    });
    const auto location = location_of(filled);
    if (location.kind != LocationKind::none) {
      EXPECT_THAT(location.description, HasSubstr("key 7 of key head 1 in sample 1")) << factor;
    }
    EXPECT_FALSE(was_named && location.kind == LocationKind::none)
        << factor << ": " << location.description;
    was_named = was_named || location.kind != LocationKind::none;
    if (factor == 0.9999) {
      EXPECT_FALSE(was_named);
    }
  }
  EXPECT_TRUE(was_named);
}

}  // namespace
}  // namespace plumbline
