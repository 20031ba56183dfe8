// Sums the log-likelihood of each explanation over a few rows and picks the best.
#include "harness/diagnose/explanation_ranking.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "harness/base/median.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/looser_rung.h"

namespace plumbline {
namespace {

constexpr std::size_t max_rows = 16;  // rows of the largest errors, and as many spread evenly
constexpr double explanation_cost_limit = 2e6;  // multiply-adds of one explanation
constexpr double min_share_of_rows = 0.9;       // share of rows that an explanation must fit
// Lower limits for a row's mean (e / sigma)^2 under a spec: min_mean for its mean over all rows,
// and min_share_of_mean times that mean for its median over all rows and its mean over the rows of
// each head. If the kernel rounds as the spec says, the value is a little less than 1 in each row.
// In a row in which one key has all the weight, it is distributed as chi^2 with one degree of
// freedom, whose median is 0.45 of its mean.
constexpr double min_mean = 0.25, min_share_of_mean = 0.3;
// Returns the mean that `count` draws of this chi^2 fall below once in 1000 (Wilson and Hilferty;
// 3.09 standard deviations).
double low_mean(std::size_t count) {
  const double variance = 2 / (9 * static_cast<double>(count)),
               root = 1 - variance - 3.09 * std::sqrt(variance);
  return root > 0 ? root * root * root : 0;
}
const double thousand_to_one = std::log(1000.0);
// A row's LSE is a single fp32 number. Beyond 12 sigma, the size of its error no longer shows which
// explanation is likelier, so |z| is capped.
constexpr double max_squared = 144;
double lse_penalty(double z) { return std::min(z * z, max_squared) / 2; }
// Also caps a row's sum of (e / sigma)^2, because a few rows may be far off: a replayed rounding
// goes the other way at a tie, and a kernel may have two bugs.
double capped(double squared, std::int64_t columns) {
  return std::min(squared, max_squared * static_cast<double>(columns));
}

}  // namespace

ExplanationRanking::ExplanationRanking(const FailingOutput& failing)
    : failing_(failing),
      answers_(failing),
      rows_(informative_rows(failing, max_rows, explanation_cost_limit)) {
  std::ranges::stable_sort(rows_, [&](std::size_t a, std::size_t b) {
    return squared_error(failing, a) > squared_error(failing, b);
  });
  const auto columns = static_cast<double>(failing.reference->columns);
  for (const std::size_t r : rows_) {
    const RowId& id = answers_.row(r);
    const CalculatedRow stated = answers_.answer(id, answers_.stated(id));
    draws_.push_back(std::min(1.0, 1 / (stated.sum_p2 * columns)));
  }
}

bool ExplanationRanking::has_time() {
  is_cut_ = is_cut_ || failing_.late();
  return !is_cut_;
}

void ExplanationRanking::add(const std::string& kind, const std::string& sentence,
                             const Vary& vary) {
  add_answers(kind, sentence, [&](std::size_t n) {
    const RowId& id = answers_.row(rows_[n]);
    return answers_.answer(id, vary(id));
  });
}

void ExplanationRanking::add_answers(const std::string& kind, const std::string& sentence,
                                     const Answer& answer) {
  if (!has_time()) return;
  Entry entry{kind, sentence, 0, {}, false};
  std::size_t misfits = 0;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const RowMisfit misfit = answers_.misfit(rows_[n], answer(n));
    misfits += answers_.fits(misfit) ? 0 : 1;
    if (static_cast<double>(misfits) > (1 - min_share_of_rows) * static_cast<double>(rows_.size()))
      return;
    entry.log_likelihood -=
        draws_[n] * (capped(misfit.squared, failing_.reference->columns) / 2 + misfit.log_sigmas) +
        lse_penalty(misfit.lse);
  }
  if (std::isfinite(entry.log_likelihood)) entries_.push_back(std::move(entry));
}

void ExplanationRanking::add(const std::string& kind, const std::string& sentence,
                             const RoundingSpec& spec) {
  if (!has_time()) return;
  RowSelection selection{{}, true, failing_.reference->selection.rows_total};
  std::vector<std::size_t> order(rows_.size());  // a reference's rows ascend
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return rows_[a] < rows_[b]; });
  for (const std::size_t n : order) selection.rows.push_back(answers_.row(rows_[n]));
  const Reference reference =
      compute_reference(*failing_.geometry, failing_.inputs, spec, selection);
  if (!is_finite(reference)) return;
  const Comparison comparison = compare(*failing_.geometry, failing_.outputs, reference);
  const auto columns = static_cast<std::size_t>(reference.columns);
  Entry entry{kind, sentence, 0, spec, true};
  for (std::size_t i = 0; i < order.size(); ++i) {
    double squared = 0, log_sigmas = 0;
    for (std::size_t at = i * columns; at < (i + 1) * columns; ++at) {
      squared += std::pow(double{comparison.z[at]}, 2);
      log_sigmas += std::log(double{reference.sigma[at]});
    }
    entry.log_likelihood -=
        draws_[order[i]] * (capped(squared, reference.columns) / 2 + log_sigmas);
    if (failing_.outputs.lse == nullptr) continue;
    const double z =
        (lse_at(*failing_.geometry, failing_.outputs, selection.rows[i]) - reference.lse[i]) /
        double{reference.lse_sigma[i]};
    entry.log_likelihood -=
        lse_penalty(z) +
        std::log(reference.lse_sigma[i] / failing_.reference->lse_sigma[rows_[order[i]]]);
  }
  if (std::isfinite(entry.log_likelihood)) entries_.push_back(std::move(entry));
}

ExplanationRanking::Best ExplanationRanking::best() const {
  if (is_cut_) return {};
  const auto best = std::ranges::max_element(
      entries_, [](const Entry& a, const Entry& b) { return a.log_likelihood < b.log_likelihood; });
  if (best == entries_.end() || best->sentence.empty()) return {};
  const bool beats_all = std::ranges::all_of(entries_, [&](const Entry& other) {
    return other.kind == best->kind ||
           best->log_likelihood - other.log_likelihood >= thousand_to_one;
  });
  if (!beats_all || (best->is_spec && !has_errors_of_spec(best->spec))) return {};
  return {best->kind, best->sentence};
}

bool ExplanationRanking::has_errors_of_spec(const RoundingSpec& spec) const {
  const RowSelection rows = second_look(failing_);
  Comparison comparison;
  if (!likelihood_by(failing_, spec, rows, &comparison)) return false;
  const std::size_t columns = comparison.z.size() / std::max<std::size_t>(1, rows.rows.size());
  std::vector<double> of_rows;
  std::map<std::int32_t, std::vector<double>> of_heads;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const RowId& id = rows.rows[r];
    if (failing_.geometry->visible_count(id.sample, id.row, id.head) == 0) continue;
    const float* z = &comparison.z[r * columns];
    const double squared = std::inner_product(z, z + columns, z, 0.0);
    std::vector<double>& of_head = of_heads[id.head];
    if (!(squared > 0)) continue;  // such as a row of one key, which has no error
    of_rows.push_back(squared / static_cast<double>(columns));
    of_head.push_back(of_rows.back());
  }
  if (of_rows.empty()) return false;
  const double mean = mean_of(of_rows);
  return mean >= min_mean && median(std::move(of_rows)) >= min_share_of_mean * mean &&
         std::ranges::all_of(of_heads, [mean](const auto& head) {
           const std::vector<double>& of_head = head.second;
           return !of_head.empty() &&
                  mean_of(of_head) >= mean * std::min(min_share_of_mean, low_mean(of_head.size()));
         });
}

}  // namespace plumbline
