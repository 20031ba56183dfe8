// A failing problem shrinks in every field, to the smallest one that still fails.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "harness/problem/field_text.h"
#include "harness/run/reduce.h"

namespace plumbline {
namespace {

using ::testing::Each;
using ::testing::Truly;

Problem large() {
  Problem p;
  p.batch = 5;
  p.heads_q = 12;
  p.heads_kv = 4;
  p.seq_q = 100;
  p.seq_kv = 3000;
  p.head_dim_qk = p.head_dim_vo = 128;
  p.mask = Mask::causal_bottom_right;
  p.window_left = 700;
  p.layout = Layout::paged_hnd;
  p.lengths = Lengths::with_zero;
  p.law = Law::llm;
  p.fill = Fill::nan;
  p.seed = 9;
  return p;
}

bool never_stop() { return false; }

TEST(Reduce, ConstantFailureShrinksToMinimum) {
  const Reduced reduced = reduce(
      large(), [](const Problem&) { return true; }, never_stop);
  Problem least;
  least.seq_q = least.head_dim_qk = least.head_dim_vo = 1;
  least.seq_kv = 2;
  least.fill = Fill::zeros;
  least.lse = false;
  EXPECT_EQ(reduced.problem, canonical(least));
  EXPECT_EQ(reduced.steps.back().problem, reduced.problem);
}

TEST(Reduce, KeepsFeaturesNeededForFailure) {
  const auto fails = [](const Problem& p) {
    return p.seq_kv >= 65 && p.group() > 1 && p.is_paged() && p.law == Law::llm && p.batch > 2;
  };
  const Problem p = reduce(large(), fails, never_stop).problem;
  EXPECT_EQ(p.seq_kv, 65);
  EXPECT_EQ(p.group(), 2);
  EXPECT_TRUE(p.is_paged());
  EXPECT_EQ(p.law, Law::llm);
  EXPECT_EQ(p.batch, 3);
  EXPECT_EQ(p.mask, Mask::none);
  EXPECT_EQ(p.head_dim_qk, 1);
}

TEST(Reduce, TriesValidProblemsOnce) {
  std::vector<std::string> asked;
  reduce(
      large(),
      [&](const Problem& p) {
        EXPECT_TRUE(validate(p).empty()) << problem_id(p);
        asked.push_back(problem_id(p));
        return p.seq_kv > 40 && p.heads_kv == 4;
      },
      never_stop);
  std::set<std::string> distinct(asked.begin(), asked.end());
  EXPECT_EQ(distinct.size(), asked.size());
  EXPECT_LT(asked.size(), 200U);
}

TEST(Reduce, KeepsProblemIfNothingSmallerFails) {
  const Reduced reduced = reduce(
      large(), [](const Problem&) { return false; }, never_stop);
  EXPECT_EQ(reduced.problem, canonical(large()));
  EXPECT_TRUE(reduced.steps.empty());
  EXPECT_EQ(reduced.tried, static_cast<int>(smaller_problems(large()).size()));
}

// With one key every weight is 1, and most errors look alike.
TEST(Reduce, NeverGoesBelowTwoKeys) {
  for (const ReduceStep& step : smaller_problems(large())) EXPECT_GE(step.problem.seq_kv, 2);
  Problem two = large();
  two.seq_q = two.seq_kv = 2;
  for (const ReduceStep& step : smaller_problems(two))
    EXPECT_EQ(step.problem.seq_kv, 2) << step.what;
}

TEST(Reduce, KeepsExplainingCauseExceptNumbers) {
  const std::string would = "would be explained if ";
  EXPECT_TRUE(keeps_cause(would + "the scale were 0.693147 (ln 2)",
                          would + "the scale were 0.0866 (ln 2)"));
  EXPECT_TRUE(
      keeps_cause(would + "heads 3, 5, 7 of 8 were read", would + "heads 1 of 2 were read"));
  EXPECT_FALSE(keeps_cause(would + "each sample's last key were not seen",
                           would + "each key's weight were multiplied by V of the next key"));
  EXPECT_FALSE(keeps_cause(would + "the window were 3", ""));
}

// Descriptions name places and sizes, which a smaller case does not have.
TEST(Reduce, IgnoresChangedDescriptions) {
  EXPECT_TRUE(keeps_cause("", ""));
  EXPECT_TRUE(keeps_cause("the outputs are 20 % too large", "key 14 weighs too little"));
}

TEST(Reduce, StopsOnRequest) {
  int asked = 0;
  const Reduced reduced = reduce(
      large(), [&](const Problem&) { return ++asked > 0; }, [&] { return asked == 3; });
  EXPECT_EQ(reduced.tried, 3);
  EXPECT_EQ(reduced.steps.size(), 3U);
}

// Every field of a problem must shrink: a field that the reduction ignores would stay in the
// printed id.
TEST(SmallerProblems, EveryFieldShrinks) {
  const std::map<std::string_view, std::string_view> others{
      {"kv_dtype", "e4m3"},
      {"out_dtype", "fp32"},
      {"batch", "3"},
      {"heads", "4"},
      {"heads_q", "12"},
      {"heads_kv", "3"},
      {"seq", "9"},
      {"seq_q", "5"},
      {"seq_kv", "70"},
      {"head_dim", "128"},
      {"head_dim_qk", "192"},
      {"head_dim_vo", "32"},
      {"mask", "custom"},
      {"window", "7,3"},
      {"window_left", "4"},
      {"window_right", "2"},
      {"layout", "paged_hnd"},
      {"padding", "left"},
      {"lengths", "with_zero"},
      {"page_size", "32"},
      {"fill", "nan"},
      {"law", "needle"},
      {"v_law", "band"},
      {"k_scale", "0"},
      {"v_scale", "2"},
      {"scale", "0.1"},
      {"softcap", "30"},
      {"alibi", "random"},
      {"sinks", "large"},
      {"kv_scales", "head"},
      {"scale_block", "48"},
      {"view", "strided"},
      {"merge", "natural"},
      {"lse", "true"},
      {"seed", "7"},
  };
  for (const std::string_view field : field_names()) {
    // Recorded inputs fix the shape, and a failure depends on the dtype.
    if (field == "inputs" || field == "dtype") continue;
    ASSERT_EQ(others.count(field), 1U) << field << " is missing in this test";
    Problem problem;
    problem.heads_q = problem.heads_kv = 6;
    if (field == "page_size") problem.layout = Layout::paged_nhd;
    if (field == "kv_scales" || field == "scale_block") problem.kv_dtype = DType::e4m3;
    if (field == "scale_block") problem.kv_scales = KvScales::block;
    if (field == "merge") problem.head_dim_qk = 1;
    ASSERT_FALSE(set_field(problem, field, others.at(field)));
    ASSERT_THAT(validate(problem), testing::IsEmpty()) << field;
    const std::string before = field_text(canonical(problem), field);
    EXPECT_THAT(smaller_problems(problem), testing::Contains(Truly([&](const ReduceStep& step) {
                  return field_text(step.problem, field) != before;
                })))
        << field;
  }
}

TEST(SmallerProblems, DifferFromOriginal) {
  EXPECT_THAT(smaller_problems(large()), Each(Truly([](const ReduceStep& s) {
                return s.problem != canonical(large()) && !s.what.empty();
              })));
  Problem one;
  one.head_dim_qk = one.head_dim_vo = 1;
  one.fill = Fill::zeros;
  one.lse = false;
  EXPECT_TRUE(smaller_problems(one).empty());
}

}  // namespace
}  // namespace plumbline
