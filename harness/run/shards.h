// The parts of a plan that are measured apart, on several machines say: whole problems, so that a
// reference is computed in one part only, spread by what they cost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

// Milliseconds that measuring a case took, by case id: recorded_milliseconds() of a database.
using CaseCosts = std::map<std::string, double, std::less<>>;

// Which part measures what. It follows from the plan, the number of parts and the costs alone: all
// parts of a night find the same one where these are the same.
struct Partition {
  std::vector<int> of_case, of_diff;  // the part, from 1, of each case and diff of the plan
  std::vector<double> milliseconds;   // of each part: what it is expected to take
  // names the partition: 16 hexadecimal digits of XXH3-128 over parts, cases and diffs
  std::string digest;
};

// Cases of one problem, and problems that a diff compares, stay together. These groups go to the
// part with the least cost so far, the most expensive first (longest processing time first: at most
// 4/3 of the best, Graham 1969); where costs are equal, in the order of their problems' ids. A case
// of which no cost is recorded is estimated from its work, in proportion to the recorded ones.
// `repetitions`: of a timed case.
Partition partition_of(const Plan& whole, int parts, const CaseCosts& recorded, int repetitions);

// What part `part` of the partition measures, in the plan's order. `absent` stays the plan's.
Plan part_of(const Plan& whole, const Partition& partition, int part);

// Part `part` of `parts` of a plan of which no cost is recorded.
Plan part_of(const Plan& whole, int part, int parts);

// References that measuring a plan computes at least: one for each problem of its untimed cases,
// each timed case and each side of a diff. Contracts that pin other roundings, and failures, add
// some.
std::size_t references_of(const Plan& plan);

// How a run says which part of what it is; kept in RunInfo::versions_json.
struct ShardFacts {
  std::string partition;  // Partition::digest; "" where the run is no shard
  // names of the whole plan's suites, sorted; shards of two partitions of the same suites are a
  // mistake, of other suites another run
  std::vector<std::string> suites;
  bool operator==(const ShardFacts&) const = default;
};
ShardFacts shard_facts(const Plan& whole, const Partition& partition);
std::string with_shard_facts(const std::string& versions_json, const ShardFacts& facts);
ShardFacts read_shard_facts(const std::string& versions_json);

// "3/20" as numbers; {0, 0} where it is none.
struct ShardNumber {
  int part = 0, parts = 0;
};
ShardNumber read_shard(const std::string& shard);

}  // namespace plumbline
