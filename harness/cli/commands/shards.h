// --shard: selects the part of the suites' cases that a command measures.
#pragma once

#include <filesystem>

#include "harness/run/shards.h"
#include "harness/store/store.h"

namespace plumbline::cli {

// Reduces the plan to the filter's shard, and returns the shard's facts; they have no partition
// without --shard. `costs`: a database with the times of cases, the same for all shards of a night;
// "" if there is none.
ShardInfo restrict_to_shard(const CaseFilter& filter, const std::filesystem::path& costs,
                            int repetitions, Plan& plan);

// Stores a shard without cases, because a shard set is complete only if every shard is stored.
// `store` may be null. Returns the exit code.
int finish_empty_shard(Store* store, const RunInfo& run);

}  // namespace plumbline::cli
