// Sums scores over many cases, which shows small errors that no single case can show.
// docs/judging-comparisons.md, "Over a suite".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "harness/contract/contract.h"
#include "harness/judge/judge.h"
#include "harness/judge/shared_rows.h"
#include "harness/judge/suite_drift.h"
#include "harness/judge/suite_names.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr std::size_t min_scored_cases = 4;
constexpr double score_clip = 6;

using Key = std::tuple<std::string, std::string, std::string>;  // suite, kernel, dtype
struct Scores {
  // Digests and scores of the counted outputs. Problems that differ only in layout or pages have
  // the same inputs, so an equal output is not new evidence.
  std::set<std::tuple<std::string, double, double>> counted;
  std::vector<double> shrink, temperature;
  SharedRows rows;
  double limit = 0;
};

bool is_scored(const Outcome& outcome) {
  return outcome.errors.has_suite_scores && outcome.rows_total <= suite_score_rows &&
         outcome.reference_rows == outcome.rows_total && !excludes_suite_scores(outcome.c.problem);
}

SuiteScore summed(const Key& key, std::string statistic, const std::vector<double>& scores,
                  double variance, double limit, bool complete) {
  SuiteScore score{std::get<0>(key),
                   std::get<1>(key),
                   std::get<2>(key),
                   std::move(statistic),
                   static_cast<int>(scores.size()),
                   0,
                   limit,
                   ""};
  double sum = 0;
  for (const double z : scores) sum += std::clamp(z, -score_clip, score_clip);  // NaN stays NaN
  if (!scores.empty()) score.value = std::abs(sum) / std::sqrt(variance);
  if (!complete) {
    score.status = partial_suite;
  } else if (scores.size() < min_scored_cases) {
    score.status = too_few_cases;
  } else {
    score.status = within(score.value, limit) ? "pass" : "fail";
  }
  return score;
}

void add_sums(const std::vector<const Outcome*>& outcomes, const Contracts& contracts,
              bool complete, std::vector<SuiteScore>& result) {
  std::map<Key, Scores> groups;
  for (const Outcome* outcome : outcomes) {
    const Limits limits = contracts.limits(outcome->c.kernel, outcome->c.problem,
                                           outcome->errors.elements, target_of(*outcome));
    if (outcome->status != Status::ok || !limits.suite_judged || !outcome->reused_from.empty())
      continue;
    Scores& scores = groups[{outcome->suite, kernel_on_device(outcome->c),
                             std::string(name(outcome->c.problem.dtype))}];
    scores.limit = limits.suite;
    if (!is_scored(*outcome)) continue;
    const double shrink = outcome->errors.shrink_z, temperature = outcome->errors.temperature_z;
    const bool may_repeat = !outcome->output_digest.empty() && std::isfinite(shrink + temperature);
    if (may_repeat && !scores.counted.emplace(outcome->output_digest, shrink, temperature).second)
      continue;
    scores.rows.add(outcome->c.problem);
    scores.shrink.push_back(shrink);
    scores.temperature.push_back(temperature);
  }
  for (const auto& [key, scores] : groups) {
    const double variance = scores.rows.variance();
    result.push_back(summed(key, "shrink", scores.shrink, variance, scores.limit, complete));
    result.push_back(
        summed(key, "temperature", scores.temperature, variance, scores.limit, complete));
  }
}

}  // namespace

std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes,
                                     const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete,
                                     const std::vector<const Baseline*>& pins) {
  // The last bits of a sum depend on its order. Outcomes arrive in the order in which threads
  // finish or shards are listed, so they are sorted by name.
  std::vector<std::size_t> order(outcomes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto names = [&](std::size_t i) {
    return std::tie(outcomes[i]->suite, outcomes[i]->case_id);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names(a) < names(b); });
  std::vector<const Outcome*> sorted;
  std::vector<const Baseline*> past, pinned;
  for (const std::size_t i : order) {
    sorted.push_back(outcomes[i]);
    past.push_back(i < baselines.size() ? baselines[i] : nullptr);
    pinned.push_back(i < pins.size() ? pins[i] : nullptr);
  }
  std::vector<SuiteScore> result;
  add_sums(sorted, contracts, complete, result);
  add_drifts(sorted, past, "", complete, result);
  add_drifts(sorted, pinned, " from the pin", complete, result);
  return result;
}

}  // namespace plumbline
