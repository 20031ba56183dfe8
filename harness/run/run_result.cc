// Computes a run's state and changes, and merges the histories that two databases hold of a case.
#include "harness/run/run_result.h"

#include <algorithm>
#include <map>
#include <set>

#include "harness/judge/judge.h"
#include "harness/store/stored.h"
#include "harness/timing/time_gate.h"

namespace plumbline {
namespace {

using CaseName = std::pair<std::string, std::string>;  // suite, case id

// Merges two time histories, newest first. If both have an entry of one run, `own` wins.
TimeHistory merge_pasts(const TimeHistory& own, const TimeHistory& other) {
  struct Entry {
    double ratio;
    std::vector<double> fresh;
    bool starts_level;
  };
  std::map<std::string, Entry, std::greater<>> by_order;
  for (const auto* history : {&own, &other}) {
    for (std::size_t i = 0; i < history->ratios.size(); ++i) {
      by_order.emplace(history->run_orders.at(i), Entry{history->ratios[i], history->fresh.at(i),
                                                        history->starts_level.at(i)});
    }
  }
  TimeHistory result;
  for (auto& [order, entry] : by_order) {
    if (result.ratios.size() == gate_window) break;
    result.ratios.push_back(entry.ratio);
    result.run_orders.push_back(order);
    result.fresh.push_back(std::move(entry.fresh));
    result.starts_level.push_back(entry.starts_level);
  }
  return result;
}

std::set<std::string> suites_of(const std::vector<StoredOutcome>& outcomes) {
  std::set<std::string> suites;
  for (const auto& stored : outcomes) suites.insert(stored.outcome.suite);
  return suites;
}

RunChange vanished(const CaseName& name, Standing standing) {
  return {name.first,
          name.second,
          {ChangeKind::vanished, 0, 0,
           "was measured in the last run of its suite, and is not in this one", standing}};
}

}  // namespace

RunState state_of(const RunParts& parts) {
  std::vector<Verdict> verdicts;
  bool measured = false;
  const auto add = [&](Status status, const Judgement& judgement) {
    measured = measured || status != Status::unsupported;
    verdicts.push_back(judgement.verdict);
  };
  for (const auto& [outcome, judgement] : parts.outcomes) add(outcome.status, judgement);
  for (const auto& [outcome, judgement] : parts.diffs) add(outcome.status, judgement);
  for (const auto& [outcome, judgement] : parts.invariances) add(outcome.status, judgement);
  const bool suspect =
      parts.clock_behind || std::ranges::any_of(parts.night_times, [](const NightTimes& of_class) {
        return of_class.suspect;
      });
  return run_state({verdicts, parts.scores, parts.changes, parts.finished, measured, suspect});
}

Past merge_pasts(Past own, const Past& other) {
  if (other.baseline && (!own.baseline || other.baseline->run_order > own.baseline->run_order))
    own.baseline = other.baseline;
  if (other.pin && (!own.pin || other.pin->outcome.run_order > own.pin->outcome.run_order))
    own.pin = other.pin;
  own.times = merge_pasts(own.times, other.times);
  own.refusal_accepted = own.refusal_accepted || other.refusal_accepted;
  return own;
}

Result<std::vector<std::vector<RunChange>>> changes_of(const ChangesInput& input) {
  std::set<CaseName> held;
  for (const auto& stored : input.outcomes)
    held.insert({stored.outcome.suite, stored.outcome.case_id});
  const auto suites = suites_of(input.outcomes);
  std::vector<std::vector<RunChange>> result;
  for (const RunInfo* run : input.runs) {
    auto& changes = result.emplace_back();
    for (std::size_t i = 0; i < input.outcomes.size(); ++i) {
      const auto& [outcome, judgement] = input.outcomes[i];
      if (input.run_of[i] != run->run_id) continue;
      for (const Change& change : judgement.changes)
        changes.push_back({outcome.suite, outcome.case_id, change});
    }
  }
  // Cases that one shard lacks may be in another, so a shard alone has no vanished cases.
  const bool is_whole = input.runs.size() > 1 || input.runs.front()->shard == "1/1";
  if (!input.complete || !is_whole) return result;
  std::vector<std::string> together;
  for (const RunInfo* run : input.runs) together.push_back(run->run_id);
  std::set<CaseName> named;
  for (Store* store : input.stores) {
    const RunInfo* run = input.runs.front();
    auto expected = store->expected_cases(*run, {suites.begin(), suites.end()}, together);
    if (!expected) return tl::unexpected(expected.error());
    for (const CaseName& name : *expected) {
      if (!held.contains(name) && named.insert(name).second)
        result.front().push_back(
            vanished(name, run->purpose == "nightly" ? Standing::open : Standing::fine));
    }
  }
  return result;
}

}  // namespace plumbline
