// Collects the runs of a night, groups their alerts and determines the night's state.
#include "harness/run/night.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/base/attempt.h"
#include "harness/judge/verdict.h"
#include "harness/run/run_result.h"
#include "harness/store/machine.h"

namespace plumbline {
namespace {

constexpr int rate_nights = 30;

// Returns a finding's size: its percentage of the limit or 100 plus its time's change in percent,
// whichever is larger.
double weight(const Judgement& judgement) {
  const double of_time =
      judgement.gated_time ? 100 * (1 + std::abs(judgement.gated_time->change)) : 0;
  return std::max(judgement.percent_of_limit, of_time);
}

class NightCollector {
 public:
  explicit NightCollector(Store& store) : store_(store) {}

  NightSummary run(const std::string& night_id) {
    summary_.night = unwrap(store_.night(night_id));
    for (const StoredRun& run : summary_.night.runs) add(run);
    summary_.groups = group_alerts(inputs_);
    add_rate();
    const auto worst = std::ranges::min_element(summary_.states);
    if (worst != summary_.states.end()) summary_.state = *worst;
    return std::move(summary_);
  }

 private:
  void add(const StoredRun& run) {
    const std::string& id = run.info.run_id;
    auto outcomes = unwrap(store_.outcomes(id));
    const auto diffs = unwrap(store_.diffs(id));
    const auto invariances = unwrap(store_.invariances(id));
    const auto scores = unwrap(store_.suite_scores(id));
    const auto changes = unwrap(store_.changes(id));
    const auto times = unwrap(store_.night_times(id));
    summary_.states.push_back(state_of({outcomes, diffs, invariances, scores, changes, times,
                                        run.finished, has_wrong_clock(run.info)}));
    summary_.incomplete.add(run, outcomes.size());
    summary_.times.insert(summary_.times.end(), times.begin(), times.end());
    for (const RunChange& change : changes)
      if (needs_attention(change.change.standing)) summary_.failing_changes.push_back(change);
    for (const SuiteScore& score : scores)
      if (score.status == "fail") summary_.failing_scores.emplace_back(id, score);
    kept_.push_back(std::move(outcomes));
    for (const StoredOutcome& stored : kept_.back()) {
      ++summary_.cases;
      summary_.timed += stored.outcome.timed;
      if (!needs_attention(stored.judgement.verdict)) continue;
      const SeriesName series = series_of(stored.outcome, run.info.machine);
      auto baseline = unwrap(store_.baseline(series, id));
      AlertInput input{&run.info, &stored, describe(series.machine), "", baseline.has_value()};
      if (baseline) input.since = commit_of(baseline->run_id);
      inputs_.push_back(std::move(input));
    }
  }

  std::string commit_of(const std::string& run_id) {
    const auto [at, fresh] = commits_.try_emplace(run_id);
    if (fresh) at->second = unwrap(store_.run(run_id)).info.commit;
    return at->second;
  }

  void add_rate() {
    for (const NightTimes& row : summary_.times)
      summary_.expected_false_alerts += row.expected_false_alerts;
    auto nights = unwrap(store_.nights(0));
    const auto at = std::ranges::find(nights, summary_.night.night_id);
    const auto last = at + std::min<std::ptrdiff_t>(rate_nights, nights.end() - at);
    for (auto night = at; night != last; ++night) {
      auto stored = unwrap(store_.night(*night));
      for (const StoredRun& run : stored.runs) {
        auto times = unwrap(store_.night_times(run.info.run_id));
        for (const NightTimes& row : times) {
          summary_.second_pairs += row.second_pairs;
          summary_.second_alarms += row.second_alarms;
        }
      }
    }
  }

  Store& store_;
  NightSummary summary_;
  std::vector<std::vector<StoredOutcome>> kept_;  // inputs_ points into these
  std::vector<AlertInput> inputs_;
  std::map<std::string, std::string> commits_;
};

}  // namespace

std::vector<AlertGroup> group_alerts(const std::vector<AlertInput>& inputs) {
  using Key = std::tuple<std::string, std::string, std::string, Verdict, std::string, std::string>;
  std::map<Key, AlertGroup> by_key;
  for (const AlertInput& input : inputs) {
    const Outcome& outcome = input.stored->outcome;
    const Verdict verdict = input.stored->judgement.verdict;
    const std::string dtype(name(outcome.c.problem.dtype));
    std::string arch = arch_of(outcome);
    if (arch.empty()) arch = input.run->machine.arch;
    AlertGroup& group =
        by_key[{outcome.c.kernel, dtype, arch, verdict, input.since, input.run->commit}];
    group.kernel = outcome.c.kernel;
    group.dtype = dtype;
    group.arch = arch;
    group.verdict = verdict;
    group.since = input.since;
    group.commit = input.run->commit;
    group.alerts.push_back({outcome.suite, outcome.case_id, input.run->run_id, input.machine,
                            input.stored->judgement, input.has_past});
  }
  std::vector<AlertGroup> groups;
  for (auto& [key, group] : by_key) {
    std::ranges::stable_sort(group.alerts, [](const Alert& a, const Alert& b) {
      return weight(a.judgement) > weight(b.judgement);
    });
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, [](const AlertGroup& a, const AlertGroup& b) {
    return std::pair(!is_failure(a.verdict), b.alerts.size()) <
           std::pair(!is_failure(b.verdict), a.alerts.size());
  });
  return groups;
}

Result<NightSummary> summarise_night(Store& store, const std::string& night_id) {
  return attempt([&] { return NightCollector(store).run(night_id); });
}

}  // namespace plumbline
