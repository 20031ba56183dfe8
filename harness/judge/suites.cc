// Statistics over many cases: small errors that no single case can show.
// docs/judging-comparisons.md, "Over a suite".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <tuple>

#include "harness/base/median.h"
#include "harness/contract/contract.h"
#include "harness/judge/judge.h"
#include "harness/judge/past.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr std::size_t least_scored_cases = 4;
constexpr double score_clip = 6;

constexpr std::size_t least_drift_cases = 30;
// Legal retilings of cpu/flash reach 1.072 (a lagging maximum from the end, tiles of 8 keys), a
// second rounding of P 1.20 (tests/sigma).
constexpr double drift_median_limit = 1.1;
constexpr double drift_chance = 1e-6;

constexpr std::string_view partial = "not judged: partial suite";
constexpr std::string_view too_few = "not judged: too few cases";

using Key = std::tuple<std::string, std::string, std::string>;  // suite, kernel, dtype
struct Scores {
  // What gave these: problems of other layouts or pages have the same inputs, and one answer to
  // them is evidence once.
  std::set<std::tuple<std::string, double, double>> counted;
  std::vector<double> shrink, temperature;
  double limit = 0;
};

// The same cases on two architectures share most of their errors: they are two sums, or two
// architectures would double each z. As in a case id, the device is named where it is not the CPU.
std::string kernel_on_device(const Case& c) {
  return c.device == "cpu" ? c.kernel : fmt::format("{}/device={}", c.kernel, c.device);
}

bool is_scored(const Outcome& outcome) {
  return outcome.errors.has_suite_scores && outcome.rows_total <= suite_score_rows &&
         outcome.reference_rows == outcome.rows_total && !has_tie_law(outcome.c.problem);
}

SuiteScore summed(const Key& key, std::string statistic, const std::vector<double>& scores,
                  double limit, bool complete) {
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
  if (!scores.empty()) score.value = std::abs(sum) / std::sqrt(static_cast<double>(scores.size()));
  if (!complete) {
    score.status = partial;
  } else if (scores.size() < least_scored_cases) {
    score.status = too_few;
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
                                           outcome->errors.elements, place_of(*outcome));
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
    scores.shrink.push_back(shrink);
    scores.temperature.push_back(temperature);
  }
  for (const auto& [key, scores] : groups) {
    result.push_back(summed(key, "shrink", scores.shrink, scores.limit, complete));
    result.push_back(summed(key, "temperature", scores.temperature, scores.limit, complete));
  }
}

// P(at least `successes` of `trials` fair coins): exact, in logarithms so that neither 2^-trials
// nor the binomials leave the range.
double upper_tail(std::int64_t successes, std::int64_t trials) {
  double log_probability = -static_cast<double>(trials) * std::numbers::ln2;  // of 0 successes
  double tail = 0;
  for (std::int64_t k = 0; k <= trials; ++k) {
    if (k >= successes) tail += std::exp(log_probability);
    log_probability += std::log(static_cast<double>(trials - k) / static_cast<double>(k + 1));
  }
  return tail;
}

// Sign test: ratios of exactly 1 (both at the floor) say nothing.
double chance_of_worsening(const std::vector<double>& ratios) {
  const auto worse =
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; });
  const auto better =
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
  return upper_tail(worse, worse + better);
}

SuiteScore drift(const std::string& kernel, const std::vector<double>& ratios, bool complete) {
  SuiteScore score{"*",
                   kernel,
                   "*",
                   "drift of the median",
                   static_cast<int>(ratios.size()),
                   median(ratios),
                   drift_median_limit,
                   ""};
  if (!complete) {
    score.status = partial;
  } else if (ratios.size() < least_drift_cases) {
    score.status = too_few;
  } else {
    const bool worse =
        !within(score.value, score.limit) && chance_of_worsening(ratios) < drift_chance;
    score.status = worse ? "fail" : "pass";
  }
  return score;
}

void add_drifts(const std::vector<const Outcome*>& outcomes,
                const std::vector<const Baseline*>& baselines, bool complete,
                std::vector<SuiteScore>& result) {
  std::map<std::string, std::vector<double>> ratios;  // by kernel and device
  std::set<std::string> seen;                         // a case in two suites counts once
  for (std::size_t i = 0; i < outcomes.size() && i < baselines.size(); ++i) {
    const Outcome& outcome = *outcomes[i];
    const Baseline* baseline = baselines[i];
    if (!outcome.reused_from.empty()) continue;
    if (baseline == nullptr || outcome.status != Status::ok || outcome.errors.elements == 0 ||
        baseline->elements == 0)
      continue;
    if (outcome.output_digest == baseline->output_digest || !seen.insert(case_id(outcome.c)).second)
      continue;
    const double ratio = drift_ratio(outcome.errors.rms, baseline->rms);
    ratios[kernel_on_device(outcome.c)].push_back(
        std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
  }
  for (const auto& [kernel, of_kernel] : ratios)
    result.push_back(drift(kernel, of_kernel, complete));
}

}  // namespace

std::vector<SuiteScore> judge_suites(const std::vector<const Outcome*>& outcomes,
                                     const Contracts& contracts,
                                     const std::vector<const Baseline*>& baselines, bool complete) {
  // A sum's last bits depend on its order, and outcomes come as threads finish them, shards as they
  // are named: the cases' names decide.
  std::vector<std::size_t> order(outcomes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto names = [&](std::size_t i) {
    return std::tie(outcomes[i]->suite, outcomes[i]->case_id);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names(a) < names(b); });
  std::vector<const Outcome*> sorted;
  std::vector<const Baseline*> past;
  for (const std::size_t i : order) {
    sorted.push_back(outcomes[i]);
    past.push_back(i < baselines.size() ? baselines[i] : nullptr);
  }
  std::vector<SuiteScore> result;
  add_sums(sorted, contracts, complete, result);
  add_drifts(sorted, past, complete, result);
  return result;
}

}  // namespace plumbline
