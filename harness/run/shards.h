// Divides a plan into shards, for example for several machines. A problem stays in one shard, so
// its reference is computed once. Shards are balanced by cost.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/suite/plan.h"

namespace plumbline {

// Milliseconds that a case took to measure, by case id: recorded_milliseconds() of a database.
using CaseCosts = std::map<std::string, double, std::less<>>;

// Assigns every case and diff to a shard. Depends only on the arguments of partition_of(), so all
// shards of a night compute the same partition.
struct Partition {
  std::vector<int> of_case, of_diff;  // the shard, from 1, of each case and diff
  std::vector<double> milliseconds;   // the expected time of each shard
  // 16 hexadecimal digits of XXH3-128 over the number of shards and the shard of each case and diff
  std::string digest;
};

// Cases of one problem, and problems that a diff compares, stay together. The most expensive group
// goes first to the shard with the least cost (longest processing time first: at most 4/3 of the
// optimum, Graham 1969). Ties are broken by problem id. The cost of a case without a record is
// estimated from its work, scaled to the recorded ones. `repetitions`: per timed case.
Partition partition_of(const Plan& whole, int parts, const CaseCosts& recorded, int repetitions);

// Returns shard `part` of the plan, in the plan's order. Its `absent` is the full plan's.
Plan part_of(const Plan& whole, const Partition& partition, int part);

// Returns shard `part` of `parts`, without recorded costs.
Plan part_of(const Plan& whole, int part, int parts);

// Returns the minimum number of references that a plan computes: one for each problem of its
// untimed cases, each timed case and each side of a diff. Contracts with other roundings, and
// failures, add more.
std::size_t references_of(const Plan& plan);

// Identifies a shard: its partition and the suites of the full plan. Stored in
// RunInfo::versions_json.
struct ShardInfo {
  std::string partition;  // Partition::digest; "" if the run is not a shard
  // The names of the full plan's suites, sorted. Shards of two partitions are an error if the
  // suites are equal; otherwise they belong to different runs.
  std::vector<std::string> suites;
  bool operator==(const ShardInfo&) const = default;
};
ShardInfo shard_info(const Plan& whole, const Partition& partition);
std::string add_shard_info(const std::string& versions_json, const ShardInfo& facts);
ShardInfo parse_shard_info(const std::string& versions_json);

// Parses "3/20". Returns {0, 0} if the text is not a shard number.
struct ShardNumber {
  int part = 0, parts = 0;
};
ShardNumber parse_shard_number(const std::string& shard);

}  // namespace plumbline
