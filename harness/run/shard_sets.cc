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
#include "harness/store/queries/nights.h"

namespace plumbline {
namespace {

// Shared by all shards of one plan. Two GPU models with the same plan also share it, because the
// plan names both cuda:0.
struct ShardSetKey {
  std::string night_id, partition;
  int parts = 1;
  auto operator<=>(const ShardSetKey&) const = default;
};
ShardSetKey shard_set_key(const RunInfo& run) {
  return {run.night_id, parse_shard_info(run.versions_json).partition,
          std::max(1, parse_shard_number(run.shard).parts)};
}

bool is_primary_run(const RunInfo& run) {
  return run.purpose != "confirm" && run.purpose != "resources";
}

struct Shard {
  const RunInfo* run = nullptr;  // in the list of the database's runs, newest first
  int part = 1;
  bool is_wanted = false, finished = false;
  std::vector<std::string> gpus;  // empty if no case ran on a GPU
};

// Returns the first finished run of a shard, or the end.
auto find_finished(const std::vector<Shard>& shards, int part) {
  return std::ranges::find_if(
      shards, [part](const Shard& shard) { return shard.finished && shard.part == part; });
}

bool shares_gpu(const Shard& shard, const std::vector<Shard>& group) {
  return std::ranges::any_of(group, [&](const Shard& other) {
    return std::ranges::find_first_of(shard.gpus, other.gpus) != shard.gpus.end();
  });
}

// Divides shards by GPU model, so that no set is completed by shards of another model. Shards with
// a GPU model in common are in one group. A shard without GPU cases joins a group that lacks its
// part.
std::vector<std::vector<Shard>> divide_by_gpu(const std::vector<Shard>& shards) {
  std::vector<std::vector<Shard>> groups;
  for (const Shard& shard : shards) {
    if (shard.gpus.empty()) continue;
    std::vector<Shard> group{shard};
    std::erase_if(groups, [&](const std::vector<Shard>& other) {
      if (!shares_gpu(shard, other)) return false;
      group.insert(group.end(), other.begin(), other.end());
      return true;
    });
    groups.push_back(std::move(group));
  }
  if (groups.empty()) groups.emplace_back();
  for (const Shard& shard : shards) {
    if (!shard.gpus.empty()) continue;
    const auto lacks = std::ranges::find_if(
        groups, [&](const auto& group) { return find_finished(group, shard.part) == group.end(); });
    (lacks == groups.end() ? groups.front() : *lacks).push_back(shard);
  }
  for (std::vector<Shard>& group : groups) std::ranges::sort(group, {}, &Shard::run);
  return groups;
}

// Identifies the full plan. Two partitions of one plan in one night are an error.
using PlanKey = std::tuple<std::string, std::string, std::vector<std::string>, std::string,
                           std::string, std::vector<std::string>, int>;
PlanKey plan_key(const std::vector<Shard>& group) {
  const RunInfo& run = *group.front().run;
  const auto on_gpu =
      std::ranges::find_if(group, [](const Shard& shard) { return !shard.gpus.empty(); });
  return {run.night_id,
          describe(run.machine),
          on_gpu == group.end() ? std::vector<std::string>{} : on_gpu->gpus,
          run.purpose,
          run.selection,
          parse_shard_info(run.versions_json).suites,
          parse_shard_number(run.shard).parts};
}

// `shards`: the newest first. Takes the newest finished run of each shard.
ShardSet set_of(const std::vector<Shard>& shards, int parts) {
  ShardSet set;
  for (int part = 1; part <= parts; ++part) {
    const auto found = find_finished(shards, part);
    if (found != shards.end()) {
      set.run_ids.push_back(found->run->run_id);
    } else {
      set.missing.push_back(fmt::format("{}/{}", part, parts));
    }
  }
  return set;
}

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
  std::map<ShardSetKey, std::vector<Shard>> shards;
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
    auto gpus = gpus_of_run(store, run.run_id);
    if (!gpus) return tl::unexpected(gpus.error());
    shards[shard_set_key(run)].push_back(
        {&run, shard.part, is_wanted, stored->finished, std::move(*gpus)});
  }
  std::map<PlanKey, std::pair<std::string, const RunInfo*>> incomplete;
  for (const auto& [name, of_name] : shards) {
    for (const std::vector<Shard>& group : divide_by_gpu(of_name)) {
      if (std::ranges::none_of(group, &Shard::is_wanted)) continue;
      ShardSet whole = set_of(group, name.parts);
      if (!whole.missing.empty()) {
        const RunInfo& first = *group.front().run;
        const auto& [partition, run] =
            incomplete.try_emplace(plan_key(group), name.partition, &first).first->second;
        if (partition != name.partition) {
          return fail(
              fmt::format("shards of one night were divided differently: run {} is shard {} of "
                          "partition {}, run {} is shard {} of partition {}",
                          run->run_id.substr(0, 8), run->shard, partition,
                          first.run_id.substr(0, 8), first.shard, name.partition),
              "measure the shards again with the same suites, options and --costs file");
        }
      }
      wholes.push_back(std::move(whole));
    }
  }
  return wholes;
}

}  // namespace plumbline
