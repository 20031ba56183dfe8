// Tests two order statistics of the rms ratios with a sign test: docs/judging-comparisons.md.
#include "harness/judge/suite_drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "harness/base/median.h"
#include "harness/judge/digest_and_drift.h"
#include "harness/judge/suite_names.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

constexpr std::size_t min_drift_cases = 30;
constexpr double drift_chance = 1e-6;
// The median ratio is 1.18 to 1.20 for a kernel that rounds P twice, and at most 1.0995 for legal
// retilings (tiles of 16 keys with a lagging maximum, under which the largest P is no longer an
// exact 1 in some cases). evidence/judging.md, "Drift", has the distributions on both sides of the
// two limits.
constexpr double median_limit = 1.12;
// An error that is added everywhere, as by partial results in 16 bits, makes three quarters of the
// cases worse by this much: the lower quartile is 1.09 to 1.36. For legal retilings it is at most
// 1.065, because their effect depends on the inputs, and many cases hardly change.
constexpr double quartile_limit = 1.08;

// Returns P(at least `successes` of `trials` fair coins). Exact; logarithms keep 2^-trials and the
// binomials in range.
double upper_tail(std::int64_t successes, std::int64_t trials) {
  double log_probability = -static_cast<double>(trials) * std::numbers::ln2;  // of 0 successes
  double tail = 0;
  for (std::int64_t k = 0; k <= trials; ++k) {
    if (k >= successes) tail += std::exp(log_probability);
    log_probability += std::log(static_cast<double>(trials - k) / static_cast<double>(k + 1));
  }
  return tail;
}

// One-sided sign test. Ratios of exactly 1 (both errors at the floor) do not count.
struct Signs {
  std::int64_t worse = 0, better = 0;
  explicit Signs(const std::vector<double>& ratios) {
    for (const double ratio : ratios) {
      worse += ratio > 1 ? 1 : 0;
      better += ratio < 1 ? 1 : 0;
    }
  }
  bool worsened() const { return upper_tail(worse, worse + better) < drift_chance; }
  bool improved() const { return upper_tail(better, worse + better) < drift_chance; }
};

// Requires sorted values. At least three quarters of the values are at least the result.
double lower_quartile(const std::vector<double>& sorted) {
  return sorted.empty() ? 1 : sorted[(sorted.size() - 1) / 4];
}

SuiteScore drift_score(const std::string& kernel, std::string statistic, double value, double limit,
                       const std::vector<double>& ratios, bool complete) {
  SuiteScore score{"*",   kernel, "*", std::move(statistic), static_cast<int>(ratios.size()),
                   value, limit,  ""};
  if (!complete) {
    score.status = partial_suite;
  } else if (ratios.size() < min_drift_cases) {
    score.status = too_few_cases;
  } else if (!within(value, limit) && Signs(ratios).worsened()) {
    score.status = "fail";
  } else {
    score.status = "pass";
  }
  return score;
}

}  // namespace

void add_drifts(const std::vector<const Outcome*>& outcomes,
                const std::vector<const Baseline*>& pasts, std::string_view from, bool complete,
                std::vector<SuiteScore>& scores) {
  std::map<std::string, std::vector<double>> ratios;  // by kernel and device
  std::set<std::string> seen;                         // a case in two suites counts once
  for (std::size_t i = 0; i < outcomes.size() && i < pasts.size(); ++i) {
    const Outcome& outcome = *outcomes[i];
    const Baseline* past = pasts[i];
    if (!outcome.reused_from.empty()) continue;
    if (past == nullptr || outcome.status != Status::ok || outcome.errors.elements == 0 ||
        past->elements == 0)
      continue;
    if (outcome.output_digest == past->output_digest || !seen.insert(case_id(outcome.c)).second)
      continue;
    const double ratio = drift_ratio(outcome.errors.rms, past->rms);
    ratios[kernel_on_device(outcome.c)].push_back(
        std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio);
  }
  for (auto& [kernel, of_kernel] : ratios) {
    std::sort(of_kernel.begin(), of_kernel.end());
    const double middle = median(of_kernel);
    SuiteScore score = drift_score(kernel, fmt::format("drift of the median{}", from), middle,
                                   median_limit, of_kernel, complete);
    // An improvement on a pin was reported when it happened.
    if (score.status == "pass" && from.empty() && middle < 1 / median_limit &&
        Signs(of_kernel).improved())
      score.status = "improved";
    scores.push_back(std::move(score));
    scores.push_back(drift_score(kernel, fmt::format("drift of the lower quartile{}", from),
                                 lower_quartile(of_kernel), quartile_limit, of_kernel, complete));
  }
}

}  // namespace plumbline
