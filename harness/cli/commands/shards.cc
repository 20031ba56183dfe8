// Reduces a plan to a shard, and ends a shard without cases.
#include "harness/cli/commands/shards.h"

#include <fmt/format.h>

#include "harness/cli/command_end.h"
#include "harness/cli/envelope.h"
#include "harness/cli/session.h"
#include "harness/judge/exit_code.h"
#include "harness/store/queries/case_history.h"

namespace plumbline::cli {

ShardInfo restrict_to_shard(const CaseFilter& filter, const std::filesystem::path& costs,
                            int repetitions, Plan& plan) {
  if (filter.shards == 1) return ShardInfo{};
  CaseCosts recorded;
  if (!costs.empty()) {
    auto past = need(Store::open(costs, true));
    recorded = need(recorded_milliseconds(*past));
  }
  const Partition partition = partition_of(plan, filter.shards, recorded, repetitions);
  const ShardInfo facts = shard_info(plan, partition);
  plan = part_of(plan, partition, filter.shard);
  return facts;
}

int finish_empty_shard(Store* store, const RunInfo& run) {
  if (store != nullptr) {
    need(store->begin_run(run));
    need(store->finish_run(run.run_id, exit_fine, true));
  }
  if (!envelope().is_requested()) fmt::print("shard {} has no case\n", run.shard);
  return exit_fine;
}

}  // namespace plumbline::cli
