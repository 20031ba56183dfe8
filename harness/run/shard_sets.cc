// Finds the runs of a database that are shards of one plan.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/run/judge_runs.h"
#include "harness/run/open_cases.h"
#include "harness/run/shards.h"
#include "harness/store/machine.h"

namespace plumbline {
namespace {

// Shared by all shards of one plan.
struct ShardSetKey {
  std::string night_id, partition;
  int parts = 1;
  auto operator<=>(const ShardSetKey&) const = default;
};
ShardSetKey shard_set_key(const RunInfo& run) {
  return {run.night_id, parse_shard_info(run.versions_json).partition,
          std::max(1, parse_shard_number(run.shard).parts)};
}

// Identifies the full plan. Two partitions of one plan in one night are an error.
using PlanKey =
    std::tuple<std::string, std::string, std::string, std::string, std::vector<std::string>, int>;
PlanKey plan_key(const RunInfo& run) {
  return {run.night_id,
          describe(run.machine),
          run.purpose,
          run.selection,
          parse_shard_info(run.versions_json).suites,
          parse_shard_number(run.shard).parts};
}

bool is_primary_run(const RunInfo& run) {
  return run.purpose != "confirm" && run.purpose != "resources";
}

struct Part {
  std::string run_id;
  bool finished = false;
};
struct Parts {
  const RunInfo* first = nullptr;
  std::map<int, Part> of;  // by shard number: the newest finished run, otherwise the newest run

  ShardSet whole(int parts) const {
    ShardSet whole;
    for (int i = 1; i <= parts; ++i) {
      const auto found = of.find(i);
      if (found != of.end() && found->second.finished) {
        whole.run_ids.push_back(found->second.run_id);
      } else {
        whole.missing.push_back(fmt::format("{}/{}", i, parts));
      }
    }
    return whole;
  }
};

}  // namespace

Result<std::vector<ShardSet>> group_shards(Store& store, const std::vector<RunInfo>& given) {
  std::set<std::string> wanted;
  for (const RunInfo& run : given) {
    if (is_primary_run(run)) wanted.insert(run.run_id);
    if (run.purpose != "confirm") continue;
    for (const std::string& id : read_confirmed_runs(run.versions_json)) wanted.insert(id);
  }
  auto known = store.runs(0);  // newest first
  if (!known) return tl::unexpected(known.error());

  std::set<ShardSetKey> named;
  for (const RunInfo& run : *known) {
    if (wanted.contains(run.run_id) && parse_shard_number(run.shard).parts > 1)
      named.insert(shard_set_key(run));
  }
  std::vector<ShardSet> wholes;
  std::map<ShardSetKey, Parts> shards;
  for (const RunInfo& run : *known) {
    const ShardNumber shard = parse_shard_number(run.shard);
    const bool is_wanted = wanted.contains(run.run_id);
    // Without a night id, yesterday's shards look like today's.
    const bool belongs = is_wanted || (!run.night_id.empty() && is_primary_run(run) &&
                                       shard.parts > 1 && named.contains(shard_set_key(run)));
    if (!belongs) continue;
    const auto stored = store.run(run.run_id);
    if (!stored) return tl::unexpected(stored.error());
    if (shard.parts <= 1) {
      wholes.push_back(stored->finished ? ShardSet{{run.run_id}, {}} : ShardSet{{}, {run.shard}});
      continue;
    }
    Parts& parts = shards[shard_set_key(run)];
    if (parts.first == nullptr) parts.first = &run;
    Part& part = parts.of[shard.part];
    if (part.run_id.empty() || (stored->finished && !part.finished))
      part = {run.run_id, stored->finished};
  }
  std::map<PlanKey, std::pair<std::string, const RunInfo*>> incomplete;
  for (const auto& [name, parts] : shards) {
    ShardSet whole = parts.whole(name.parts);
    if (!whole.missing.empty()) {
      const auto [other, fresh] =
          incomplete.try_emplace(plan_key(*parts.first), name.partition, parts.first);
      if (!fresh) {
        return fail(
            fmt::format("shards of one night were divided differently: run {} is shard {} of "
                        "partition {}, run {} is shard {} of partition {}",
                        other->second.second->run_id.substr(0, 8), other->second.second->shard,
                        other->second.first, parts.first->run_id.substr(0, 8), parts.first->shard,
                        name.partition),
            "measure the shards again with the same suites, options and --costs file");
      }
    }
    wholes.push_back(std::move(whole));
  }
  return wholes;
}

}  // namespace plumbline
