// Groups a plan by problem, spreads the groups over the shards, and computes the partition's
// digest.
#include "harness/run/shards.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "harness/base/json.h"
#include "harness/base/json_fields.h"
#include "harness/base/median.h"
#include "harness/store/keys.h"
#include "harness/store/store.h"
#include "harness/timing/time_limit.h"

namespace plumbline {
namespace {

constexpr const char* shard_member = "shard";

// Returns milliseconds on a machine like the one of docs/performance.md: two calls at 5e9
// multiply-adds a second (emulated: 5e7). A timed case adds 300 ms, and for each repetition 15 ms
// of sentinel and at least 15 ms of kernel.
double estimated_call_cost(const PlannedCase& planned, int repetitions) {
  constexpr double host = 5e9, emulated = 5e7;
  const double calls = 1e3 * multiply_adds(planned.c.problem) /
                       (planned.c.device.starts_with("emulated:") ? emulated : host);
  const double timing = planned.timed ? 300 + repetitions * (15 + std::max(15.0, calls)) : 0;
  return 3 + 2 * calls + timing;
}

// Returns milliseconds for the fp64 reference at 1e9 multiply-adds a second. Above 1e9
// multiply-adds the reference samples rows.
double estimated_reference_cost(const Problem& problem) {
  constexpr double sampled_from = 1e9, rate = 1e9;
  return 1e3 * std::min(multiply_adds(problem), sampled_from) / rate;
}

// Union-find over problems that stay together. A group is identified by its smallest problem.
class Groups {
 public:
  explicit Groups(std::size_t problems) : parent_(problems) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t of(std::size_t problem) {
    while (parent_[problem] != problem) problem = parent_[problem] = parent_[parent_[problem]];
    return problem;
  }
  void join(std::size_t a, std::size_t b) {
    a = of(a), b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

std::vector<std::string> sorted_problems(const Plan& plan) {
  std::set<std::string> ids;
  for (const auto& c : plan.cases) ids.insert(problem_id(c.c.problem));
  for (const auto& d : plan.diffs)
    ids.insert({problem_id(d.a.c.problem), problem_id(d.b.c.problem)});
  return {ids.begin(), ids.end()};
}

struct Estimate {
  double recorded = 0, estimated_too = 0;  // cases with a recorded cost
  double estimated = 0;                    // cases without one
};

}  // namespace

Partition partition_of(const Plan& whole, int parts, const CaseCosts& recorded, int repetitions) {
  const std::vector<std::string> problems = sorted_problems(whole);
  const auto number = [&](const Problem& problem) {
    return static_cast<std::size_t>(std::ranges::lower_bound(problems, problem_id(problem)) -
                                    problems.begin());
  };
  Groups groups(problems.size());
  for (const auto& d : whole.diffs) groups.join(number(d.a.c.problem), number(d.b.c.problem));

  std::vector<Estimate> estimates(problems.size());
  std::set<std::size_t> referenced;  // problems whose untimed cases share a reference
  const auto add = [&](const PlannedCase& c, bool shares_reference) {
    const std::size_t problem = number(c.c.problem);
    const std::size_t group = groups.of(problem);
    double cost = estimated_call_cost(c, repetitions);
    if (!shares_reference || referenced.insert(problem).second)
      cost += estimated_reference_cost(c.c.problem);
    if (const auto known = recorded.find(c.case_id); known != recorded.end()) {
      estimates[group].recorded += known->second;
      estimates[group].estimated_too += cost;
    } else {
      estimates[group].estimated += cost;
    }
  };
  for (const auto& c : whole.cases) add(c, !c.timed);
  for (const auto& d : whole.diffs) add(d.a, false), add(d.b, false);
  std::vector<double> ratios;
  for (const Estimate& e : estimates) {
    if (e.recorded > 0) ratios.push_back(e.recorded / e.estimated_too);
  }
  const double scale = ratios.empty() ? 1 : median(std::move(ratios));

  // Sums of integral microseconds are exact in any order.
  std::vector<std::pair<std::int64_t, std::size_t>> costs;  // cost, group
  for (std::size_t g = 0; g < problems.size(); ++g) {
    if (groups.of(g) != g) continue;
    const double milliseconds = estimates[g].recorded + scale * estimates[g].estimated;
    costs.emplace_back(std::llround(milliseconds * 1e3), g);
  }
  std::ranges::sort(costs, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::int64_t> load(static_cast<std::size_t>(parts), 0);
  std::vector<int> part_of_group(problems.size(), 0);
  for (const auto& [cost, group] : costs) {
    const auto least = std::ranges::min_element(load);
    *least += cost;
    part_of_group[group] = static_cast<int>(least - load.begin()) + 1;
  }

  Partition result;
  for (const std::int64_t l : load) result.milliseconds.push_back(static_cast<double>(l) / 1e3);
  std::string text = canonical_text({"partition", std::to_string(parts)});
  for (const auto& c : whole.cases) {
    result.of_case.push_back(part_of_group[groups.of(number(c.c.problem))]);
    text += canonical_text({c.suite, c.case_id, std::to_string(result.of_case.back())});
  }
  for (const auto& d : whole.diffs) {
    result.of_diff.push_back(part_of_group[groups.of(number(d.a.c.problem))]);
    text += canonical_text(
        {d.suite, d.name, d.a.case_id, d.b.case_id, std::to_string(result.of_diff.back())});
  }
  result.digest = hex(key_of(text)).substr(0, 16);
  return result;
}

Plan part_of(const Plan& whole, const Partition& partition, int part) {
  Plan plan;
  plan.absent = whole.absent;
  plan.partial = whole.partial;
  for (std::size_t i = 0; i < whole.cases.size(); ++i) {
    if (partition.of_case[i] == part) plan.cases.push_back(whole.cases[i]);
  }
  for (std::size_t i = 0; i < whole.diffs.size(); ++i) {
    if (partition.of_diff[i] == part) plan.diffs.push_back(whole.diffs[i]);
  }
  return plan;
}

Plan part_of(const Plan& whole, int part, int parts) {
  return parts == 1 ? whole : part_of(whole, partition_of(whole, parts, {}, 10), part);
}

std::size_t references_of(const Plan& plan) {
  std::set<std::string> problems;
  std::size_t alone = 0;
  for (const auto& c : plan.cases) {
    if (c.timed) {
      ++alone;
    } else {
      problems.insert(problem_id(c.c.problem));
    }
  }
  return problems.size() + alone + 2 * plan.diffs.size();
}

ShardInfo shard_info(const Plan& whole, const Partition& partition) {
  std::set<std::string> suites;
  for (const auto& c : whole.cases) suites.insert(c.suite);
  for (const auto& d : whole.diffs) suites.insert(d.suite);
  return {partition.digest, {suites.begin(), suites.end()}};
}

std::string add_shard_info(const std::string& versions_json, const ShardInfo& facts) {
  auto versions = parse_json_if_valid(versions_json);
  if (!versions.is_object()) versions = nlohmann::json::object();
  versions[shard_member] = {JSON_FIELDS(facts, partition, suites)};
  return write_json(versions);
}

ShardInfo parse_shard_info(const std::string& versions_json) {
  const auto versions = parse_json_if_valid(versions_json);
  if (!versions.is_object() || !versions.contains(shard_member)) return {};
  const auto& facts = versions[shard_member];
  ShardInfo result;
  if (!facts.is_object()) return result;
  result.partition = facts.value("partition", "");
  if (facts.contains("suites") && facts["suites"].is_array()) {
    for (const auto& suite : facts["suites"]) {
      if (suite.is_string()) result.suites.push_back(suite.get<std::string>());
    }
  }
  return result;
}

ShardNumber parse_shard_number(const std::string& shard) {
  ShardNumber number;
  char rest = 0;
  if (std::sscanf(shard.c_str(), "%d/%d%c", &number.part, &number.parts, &rest) != 2) return {};
  return number.part < 1 || number.part > number.parts ? ShardNumber{} : number;
}

}  // namespace plumbline
