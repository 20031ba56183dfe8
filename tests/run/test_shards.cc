// Shards contain whole problems, are balanced by cost, and are the same for every process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/run/shards.h"

namespace plumbline {
namespace {

Problem problem_of(std::int64_t seq) {
  Problem problem;
  problem.seq_q = problem.seq_kv = seq;
  return problem;
}

PlannedCase planned_case(const std::string& kernel, std::int64_t seq, bool timed = false) {
  PlannedCase c;
  c.suite = "s";
  c.group = "g";
  c.c.kernel = kernel;
  c.c.problem = problem_of(seq);
  c.case_id = case_id(c.c);
  c.timed = timed;
  return c;
}

// 40 problems of two kernels, and diffs that compare every tenth problem with the next one.
Plan forty_problems() {
  Plan plan;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (const char* kernel : {"cpu/flash", "cpu/split_kv"})
      plan.cases.push_back(planned_case(kernel, 8 + 8 * i, i % 7 == 0));
    if (i % 10 != 0) continue;
    PlannedDiff diff;
    diff.suite = "s";
    diff.name = "d";
    diff.a = planned_case("cpu/flash", 8 + 8 * i);
    diff.b = planned_case("cpu/flash", 8 + 8 * (i + 1));
    plan.diffs.push_back(diff);
  }
  return plan;
}

TEST(Shards, KeepProblemsWhole) {
  const Plan whole = forty_problems();
  for (const int parts : {1, 3, 20, 64}) {
    const Partition partition = partition_of(whole, parts, {}, 10);
    std::map<std::string, std::set<int>> parts_of_problem;
    std::size_t cases = 0, diffs = 0, references = 0;
    for (int part = 1; part <= parts; ++part) {
      const Plan plan = part_of(whole, partition, part);
      cases += plan.cases.size();
      diffs += plan.diffs.size();
      references += references_of(plan);
      for (const auto& c : plan.cases) parts_of_problem[problem_id(c.c.problem)].insert(part);
      for (const auto& d : plan.diffs) {
        for (const auto* side : {&d.a, &d.b})
          parts_of_problem[problem_id(side->c.problem)].insert(part);
      }
    }
    EXPECT_EQ(cases, whole.cases.size());
    EXPECT_EQ(diffs, whole.diffs.size());
    EXPECT_EQ(references, references_of(whole)) << parts << " parts";
    for (const auto& [problem, of] : parts_of_problem) EXPECT_EQ(of.size(), 1U) << problem;
  }
}

TEST(Shards, DependOnlyOnPlanAndCosts) {
  const Plan whole = forty_problems();
  CaseCosts costs;
  for (const auto& c : whole.cases)
    costs.emplace(c.case_id, 5 + static_cast<double>(c.case_id.size() % 13));
  const Partition first = partition_of(whole, 4, costs, 10);
  EXPECT_EQ(partition_of(whole, 4, costs, 10).digest, first.digest);
  EXPECT_EQ(first.digest.size(), 16U);
  EXPECT_NE(partition_of(whole, 5, costs, 10).digest, first.digest);
  Plan other = whole;
  other.cases.pop_back();
  EXPECT_NE(partition_of(other, 4, costs, 10).digest, first.digest);
  costs[whole.cases.front().case_id] = 1e6;
  EXPECT_NE(partition_of(whole, 4, costs, 10).digest, first.digest) << "the past was another";
}

TEST(Shards, AreBalancedByRecordedCosts) {
  const Plan whole = forty_problems();
  CaseCosts costs;  // the last problem costs a third of the other 39 together
  for (const auto& c : whole.cases) costs.emplace(c.case_id, 10);
  costs[whole.cases.back().case_id] = 250;
  const Partition partition = partition_of(whole, 4, costs, 10);
  ASSERT_EQ(partition.milliseconds.size(), 4U);
  const double sum =
      std::accumulate(partition.milliseconds.begin(), partition.milliseconds.end(), 0.0);
  const double most =
      *std::max_element(partition.milliseconds.begin(), partition.milliseconds.end());
  EXPECT_LE(most, 1.34 * sum / 4) << testing::PrintToString(partition.milliseconds);
}

TEST(Shards, AreStoredInVersionsJson) {
  const Plan whole = forty_problems();
  const ShardInfo facts = shard_info(whole, partition_of(whole, 4, {}, 10));
  EXPECT_THAT(facts.suites, testing::ElementsAre("s"));
  const std::string text = add_shard_info(R"({"plumbline": "1"})", facts);
  EXPECT_EQ(parse_shard_info(text), facts);
  EXPECT_THAT(text, testing::HasSubstr("plumbline"));
  EXPECT_EQ(parse_shard_info("{}").partition, "");
  EXPECT_EQ(parse_shard_info("no JSON").partition, "");
  EXPECT_EQ(parse_shard_number("3/20").part, 3);
  EXPECT_EQ(parse_shard_number("3/20").parts, 20);
  for (const char* wrong : {"", "0/2", "3/2", "1/2/3", "a/b"})
    EXPECT_EQ(parse_shard_number(wrong).parts, 0);
}

}  // namespace
}  // namespace plumbline
