// Computes each row's amplification by direct sums, and its rank correlation with the differences.
#include "harness/check/amplification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/reference/row_replay.h"

namespace plumbline {
namespace {

constexpr std::size_t min_correlation_rows = 8;

// Returns the rank of each value, from 0. Ties share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      rank[order[i]] = static_cast<double>(first + last - 1) / 2;
    first = last;
  }
  return rank;
}

double cost_of(const Geometry& geometry, const RowId& row) {
  const Problem& problem = geometry.problem();
  return static_cast<double>(geometry.visible_keys(row.sample, row.row, row.head).size()) *
         static_cast<double>(problem.head_dim_qk + 2 * problem.head_dim_vo);
}

// Returns every n-th difference, so that all together cost at most the limit.
std::vector<RowDifference> affordable(const Geometry& geometry,
                                      const std::vector<RowDifference>& differences,
                                      double cost_limit) {
  double cost = 0;
  for (const RowDifference& d : differences) cost += cost_of(geometry, d.row);
  const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(cost / cost_limit)));
  std::vector<RowDifference> chosen;
  for (std::size_t i = 0; i < differences.size(); i += step) chosen.push_back(differences[i]);
  return chosen;
}

}  // namespace

double softmax_amplification(const Geometry& geometry, const InputView& inputs,
                             const RoundingSpec& spec, RowId row) {
  const ReferenceContext context(geometry, inputs, spec);
  RowReplay replay(context, row);
  const RowDetail detail = replay.row(row);
  if (detail.keys.size() == 0) return 0;
  double change = 0, output = 0;
  for (std::int64_t key = detail.keys.begin; key < detail.keys.end; ++key) {
    const double p = detail.p[static_cast<std::size_t>(key - detail.keys.begin)];
    const auto v = replay.value(key);
    for (std::size_t j = 0; j < v.size(); ++j)
      change += p * p * (v[j] - detail.o[j]) * (v[j] - detail.o[j]);
  }
  for (const double o : detail.o) output += o * o;
  return change > 0 ? std::sqrt(change / output) : 0;
}

Amplification softmax_amplification(const Geometry& geometry, const InputView& inputs,
                                    const RoundingSpec& spec,
                                    const std::vector<RowDifference>& differences,
                                    double cost_limit) {
  Amplification result;
  if (differences.empty()) return result;
  std::vector<double> kappas, relatives;
  const auto look_at = [&](const RowId& row) {
    const double kappa = softmax_amplification(geometry, inputs, spec, row);
    if (kappa > result.largest || kappas.empty()) result.largest = kappa, result.largest_row = row;
    return kappa;
  };
  for (const RowDifference& d : affordable(geometry, differences, cost_limit)) {
    kappas.push_back(look_at(d.row));
    relatives.push_back(d.relative);
  }
  look_at(std::ranges::max_element(differences, [](const auto& a, const auto& b) {
            return a.relative < b.relative;
          })->row);

  result.rows = static_cast<std::int64_t>(kappas.size());
  result.correlation = rank_correlation(kappas, relatives);
  result.significant =
      std::abs(result.correlation) > 3 / std::sqrt(static_cast<double>(result.rows) - 1);
  const auto middle = kappas.begin() + static_cast<std::ptrdiff_t>(kappas.size() / 2);
  std::nth_element(kappas.begin(), middle, kappas.end());
  result.median = *middle;
  return result;
}

double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto undefined = std::numeric_limits<double>::quiet_NaN();
  const auto not_a_number = [](double value) { return std::isnan(value); };
  if (x.size() < min_correlation_rows || std::ranges::any_of(x, not_a_number) ||
      std::ranges::any_of(y, not_a_number)) {
    return undefined;
  }
  const std::vector<double> rank_x = ranks(x), rank_y = ranks(y);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (rank_x[i] - mean) * (rank_y[i] - mean);
    xx += (rank_x[i] - mean) * (rank_x[i] - mean);
    yy += (rank_y[i] - mean) * (rank_y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : undefined;
}

}  // namespace plumbline
