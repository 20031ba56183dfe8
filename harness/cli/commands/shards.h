// --shard: which part of its suites' cases a command takes.
#pragma once

#include <filesystem>

#include "harness/run/shards.h"
#include "harness/store/store.h"

namespace plumbline::cli {

// Leaves of the plan what the filter's shard measures; facts without a partition where it names no
// shard. `costs`: the database that says what cases took, the same one for all shards of a night;
// "" = nobody knows.
ShardFacts take_part(const CaseFilter& filter, const std::filesystem::path& costs, int repetitions,
                     Plan& plan);

// A shard without a case is stored, too: that all parts are there is what makes them the whole.
// `store` may be null. Answers the exit code.
int finish_empty_shard(Store* store, const RunInfo& run);

}  // namespace plumbline::cli
