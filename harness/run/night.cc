// Gathers the runs of a night, groups their alerts and decides the night's exit code.
#include "harness/run/night.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/judge/verdict.h"
#include "harness/run/conclusion.h"
#include "harness/store/machine.h"

namespace plumbline {
namespace {

constexpr int nights_of_the_rate = 30;

// How far beyond what is allowed: of a time by its change, of anything else by its limit.
double weight(const Judgement& judgement) {
  const double of_time =
      judgement.gated_time ? 100 * (1 + std::abs(judgement.gated_time->change)) : 0;
  return std::max(judgement.percent_of_limit, of_time);
}

class Gathering {
 public:
  explicit Gathering(Store& store) : store_(store) {}

  Result<NightSummary> run(const std::string& night_id) {
    auto night = store_.night(night_id);
    if (!night) return tl::unexpected(night.error());
    summary_.night = std::move(*night);
    for (const StoredRun& run : summary_.night.runs) {
      if (auto added = add(run); !added) return tl::unexpected(added.error());
    }
    summary_.groups = group_alerts(inputs_);
    if (auto rate = add_rate(); !rate) return tl::unexpected(rate.error());
    const auto worst = std::min_element(summary_.states.begin(), summary_.states.end());
    if (worst != summary_.states.end()) summary_.state = *worst;
    return std::move(summary_);
  }

 private:
  Result<void> add(const StoredRun& run) {
    const std::string& id = run.info.run_id;
    auto outcomes = store_.outcomes(id);
    auto diffs = store_.diffs(id);
    auto invariances = store_.invariances(id);
    auto scores = store_.suite_scores(id);
    auto changes = store_.changes(id);
    auto times = store_.night_times(id);
    if (!outcomes) return tl::unexpected(outcomes.error());
    if (!diffs) return tl::unexpected(diffs.error());
    if (!invariances) return tl::unexpected(invariances.error());
    if (!scores) return tl::unexpected(scores.error());
    if (!changes) return tl::unexpected(changes.error());
    if (!times) return tl::unexpected(times.error());
    summary_.states.push_back(state_of({*outcomes, *diffs, *invariances, *scores, *changes, *times,
                                        run.finished, has_wrong_clock(run.info)}));
    summary_.incomplete.add(run, outcomes->size());
    summary_.times.insert(summary_.times.end(), times->begin(), times->end());
    for (const RunChange& change : *changes)
      if (wants_attention(change.change.standing)) summary_.failing_changes.push_back(change);
    for (const SuiteScore& score : *scores)
      if (score.status == "fail") summary_.failing_scores.emplace_back(id, score);
    kept_.push_back(std::move(*outcomes));
    for (const StoredOutcome& stored : kept_.back()) {
      ++summary_.cases;
      summary_.timed += stored.outcome.timed;
      if (!wants_attention(stored.judgement.verdict)) continue;
      const SeriesName series = series_of(stored.outcome, run.info.machine);
      auto baseline = store_.baseline(series, id);
      if (!baseline) return tl::unexpected(baseline.error());
      AlertInput input{&run.info, &stored, describe(series.machine), "", baseline->has_value()};
      if (*baseline) {
        auto commit = commit_of((*baseline)->run_id);
        if (!commit) return tl::unexpected(commit.error());
        input.since = *commit;
      }
      inputs_.push_back(std::move(input));
    }
    return {};
  }

  Result<std::string> commit_of(const std::string& run_id) {
    const auto [at, fresh] = commits_.try_emplace(run_id);
    if (fresh) {
      auto run = store_.run(run_id);
      if (!run) return tl::unexpected(run.error());
      at->second = run->info.commit;
    }
    return at->second;
  }

  Result<void> add_rate() {
    for (const NightTimes& row : summary_.times)
      summary_.expected_false_alerts += row.expected_false_alerts;
    auto nights = store_.nights(0);
    if (!nights) return tl::unexpected(nights.error());
    const auto at = std::find(nights->begin(), nights->end(), summary_.night.night_id);
    const auto last = at + std::min<std::ptrdiff_t>(nights_of_the_rate, nights->end() - at);
    for (auto night = at; night != last; ++night) {
      auto stored = store_.night(*night);
      if (!stored) return tl::unexpected(stored.error());
      for (const StoredRun& run : stored->runs) {
        auto times = store_.night_times(run.info.run_id);
        if (!times) return tl::unexpected(times.error());
        for (const NightTimes& row : *times) {
          summary_.second_pairs += row.second_pairs;
          summary_.second_alarms += row.second_alarms;
        }
      }
    }
    return {};
  }

  Store& store_;
  NightSummary summary_;
  std::vector<std::vector<StoredOutcome>> kept_;  // what inputs_ point into
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
    std::stable_sort(group.alerts.begin(), group.alerts.end(), [](const Alert& a, const Alert& b) {
      return weight(a.judgement) > weight(b.judgement);
    });
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const AlertGroup& a, const AlertGroup& b) {
    return std::pair(!is_failure(a.verdict), b.alerts.size()) <
           std::pair(!is_failure(b.verdict), a.alerts.size());
  });
  return groups;
}

Result<NightSummary> summarise_night(Store& store, const std::string& night_id) {
  return Gathering(store).run(night_id);
}

}  // namespace plumbline
