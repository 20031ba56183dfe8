#include <gmock/gmock.h>

#include "harness/measure/reduce.h"

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

TEST(Reduce, WhateverFails_OneRowAndOneKeyAreLeft) {
  const Reduced reduced = reduce(
      large(), [](const Problem&) { return true; }, never_stop);
  Problem least;
  least.seq_q = least.seq_kv = least.head_dim_qk = least.head_dim_vo = 1;
  least.fill = Fill::zeros;
  least.lse = false;
  EXPECT_EQ(reduced.problem, canonical(least));
  EXPECT_EQ(reduced.steps.back().problem, reduced.problem);
}

TEST(Reduce, KeepsWhatTheFailureNeeds) {
  const auto fails = [](const Problem& p) { return p.seq_kv >= 65 && p.group() > 1 && p.is_paged() && p.law == Law::llm && p.batch > 2; };
  const Problem p = reduce(large(), fails, never_stop).problem;
  EXPECT_EQ(p.seq_kv, 65);
  EXPECT_EQ(p.group(), 2);
  EXPECT_TRUE(p.is_paged());
  EXPECT_EQ(p.law, Law::llm);
  EXPECT_EQ(p.batch, 3);
  EXPECT_EQ(p.mask, Mask::none);
  EXPECT_EQ(p.head_dim_qk, 1);
}

TEST(Reduce, OnlyAsksAboutValidProblemsAndNoneTwice) {
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

TEST(Reduce, NothingSmallerFails_TheProblemStays) {
  const Reduced reduced = reduce(
      large(), [](const Problem&) { return false; }, never_stop);
  EXPECT_EQ(reduced.problem, canonical(large()));
  EXPECT_TRUE(reduced.steps.empty());
  EXPECT_EQ(reduced.tried, static_cast<int>(smaller_problems(large()).size()));
}

TEST(Reduce, StopsWhenAsked) {
  int asked = 0;
  const Reduced reduced = reduce(
      large(), [&](const Problem&) { return ++asked > 0; }, [&] { return asked == 3; });
  EXPECT_EQ(reduced.tried, 3);
  EXPECT_EQ(reduced.steps.size(), 3U);
}

TEST(SmallerProblems, DifferFromTheProblem) {
  EXPECT_THAT(smaller_problems(large()),
              Each(Truly([](const ReduceStep& s) { return s.problem != canonical(large()) && !s.what.empty(); })));
  Problem one;
  one.head_dim_qk = one.head_dim_vo = 1;
  one.fill = Fill::zeros;
  one.lse = false;
  EXPECT_TRUE(smaller_problems(one).empty());
}

}  // namespace
}  // namespace plumbline
