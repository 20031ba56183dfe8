// Computes what changed since earlier runs and the exit code, and joins the past of two databases.
#include "harness/run/conclusion.h"

#include <map>
#include <set>

#include "harness/judge/exit_code.h"
#include "harness/judge/judge.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

using CaseName = std::pair<std::string, std::string>;  // suite, case id

constexpr std::size_t most_times = 30;

// Merges two lists that are sorted newest first; of two entries of one run the first list's stays.
TimeHistory joined(const TimeHistory& own, const TimeHistory& other) {
  std::map<std::string, double, std::greater<>> by_order;
  for (const auto* history : {&own, &other}) {
    for (std::size_t i = 0; i < history->ratios.size(); ++i)
      by_order.emplace(history->run_orders.at(i), history->ratios[i]);
  }
  TimeHistory result;
  for (const auto& [order, ratio] : by_order) {
    if (result.ratios.size() == most_times) break;
    result.ratios.push_back(ratio);
    result.run_orders.push_back(order);
  }
  return result;
}

std::set<std::string> suites_of(const std::vector<StoredOutcome>& outcomes) {
  std::set<std::string> suites;
  for (const auto& stored : outcomes) suites.insert(stored.outcome.suite);
  return suites;
}

RunChange vanished(const CaseName& name, bool is_failure) {
  return {name.first,
          name.second,
          {ChangeKind::vanished, 0, 0,
           "was measured in the last run of its suite, and is not in this one", is_failure}};
}

}  // namespace

int exit_code_of(const RunParts& parts) {
  std::vector<Verdict> verdicts;
  bool measured = false;
  const auto add = [&](Status status, const Judgement& judgement) {
    measured = measured || status != Status::unsupported;
    verdicts.push_back(judgement.verdict);
  };
  for (const auto& [outcome, judgement] : parts.outcomes) add(outcome.status, judgement);
  for (const auto& [outcome, judgement] : parts.diffs) add(outcome.status, judgement);
  for (const auto& [outcome, judgement] : parts.invariances) add(outcome.status, judgement);
  return exit_code(verdicts, parts.scores, measured, parts.changes);
}

Past joined(Past own, const Past& other) {
  if (other.baseline && (!own.baseline || other.baseline->run_order > own.baseline->run_order))
    own.baseline = other.baseline;
  if (other.pin && (!own.pin || other.pin->outcome.run_order > own.pin->outcome.run_order))
    own.pin = other.pin;
  own.times = joined(own.times, other.times);
  own.refusal_accepted = own.refusal_accepted || other.refusal_accepted;
  return own;
}

Result<std::vector<std::vector<RunChange>>> changes_of(const ChangesInput& input) {
  std::set<CaseName> held;
  for (const auto& stored : input.outcomes)
    held.insert({stored.outcome.suite, stored.outcome.case_id});
  const auto suites = suites_of(input.outcomes);
  std::vector<std::vector<RunChange>> result;
  std::set<CaseName> named;  // shards of one run name what is missing once
  for (const RunInfo* run : input.runs) {
    auto& changes = result.emplace_back();
    for (std::size_t i = 0; i < input.outcomes.size(); ++i) {
      const auto& [outcome, judgement] = input.outcomes[i];
      if (input.run_of[i] != run->run_id) continue;
      for (const Change& change : judgement.changes)
        changes.push_back({outcome.suite, outcome.case_id, change});
    }
    if (!input.complete) continue;
    for (Store* store : input.stores) {
      auto expected = store->expected_cases(*run, {suites.begin(), suites.end()});
      if (!expected) return tl::unexpected(expected.error());
      for (const CaseName& name : *expected) {
        if (!held.contains(name) && named.insert(name).second)
          changes.push_back(vanished(name, run->purpose == "nightly"));
      }
    }
  }
  return result;
}

}  // namespace plumbline
