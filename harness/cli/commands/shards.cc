// Reduces a plan to a shard, and ends a shard without cases.
#include "harness/cli/commands/shards.h"

#include <fmt/format.h>

#include "harness/cli/command_end.h"
#include "harness/cli/envelope.h"
#include "harness/cli/session.h"
#include "harness/judge/exit_code.h"
#include "harness/store/queries/case_history.h"

namespace plumbline::cli {

ShardFacts take_part(const CaseFilter& filter, const std::filesystem::path& costs, int repetitions,
                     Plan& plan) {
  if (filter.shards == 1) return ShardFacts{};
  CaseCosts recorded;
  if (!costs.empty()) {
    auto past = need(Store::open(costs, true));
    recorded = need(recorded_milliseconds(*past));
  }
  const Partition partition = partition_of(plan, filter.shards, recorded, repetitions);
  const ShardFacts facts = shard_facts(plan, partition);
  plan = part_of(plan, partition, filter.shard);
  return facts;
}

int finish_empty_shard(Store* store, const RunInfo& run) {
  if (store != nullptr) {
    need(store->begin_run(run));
    need(store->finish_run(run.run_id, exit_fine, true));
  }
  if (!envelope().is_asked_for()) fmt::print("shard {} has no case\n", run.shard);
  return exit_fine;
}

}  // namespace plumbline::cli
