// Replays the gate without fresh processes.
#include "harness/timing/replay.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/base/median.h"

namespace plumbline {
namespace {

// The unit of `deviations` is the standard deviation of one point. In normal noise, fewer than one
// series in a million has two points in a row beyond 5, or three beyond 3.5. Single points are
// spikes.
struct ConsecutiveRule {
  int points;
  double deviations;
};
constexpr ConsecutiveRule consecutive_rules[]{{2, 5.0}, {3, 3.5}};
// A pool, as in screen(), must exceed its limit by this factor, because no rerun confirms it.
constexpr double pool_beyond_limit = 1.1;
constexpr int replayed_pools[]{7, 14};
// Users do not act on steps below 1 %.
constexpr double min_change = 0.01;
// ln 1.25: a change that is found before the noise is known.
constexpr double replayed_huge_change = 0.2231;
constexpr std::size_t points_of_huge_change = 3, min_points = 10, points_before_huge_change = 3;

GateOptions options() {
  GateOptions result;
  // The series has no known second mode, so single outliers count as spikes from the start.
  result.spikes_from = static_cast<int>(min_points);
  result.persistence = 0.2;
  return result;
}

std::vector<GateNight> nights_of(std::span<const double> values) {
  std::vector<GateNight> nights;
  nights.reserve(values.size());
  for (const double value : values) nights.push_back({value, {}, false});
  return nights;
}

// Returns true if all points are beyond `limit` on one side of `level`.
bool all_beyond(std::span<const double> points, double level, double limit) {
  const double sign = points.front() > level ? 1 : -1;
  return std::ranges::all_of(points, [&](double point) { return sign * (point - level) > limit; });
}

// Returns the first index from which on all values are beyond half the change.
std::size_t begin_of_step(std::span<const double> values, double level, double change) {
  const double sign = change > 0 ? 1 : -1;
  std::size_t begin = values.size() - 1;
  while (begin > 0 && sign * (values[begin - 1] - level) > std::abs(change) / 2) --begin;
  return begin;
}

struct Step {
  std::size_t begin;  // index in the values
  double from, to;    // ln
};

Step step_from(std::span<const double> values, double level, double change) {
  const std::size_t begin = begin_of_step(values, level, change);
  return {begin, level, mean_of(values.subspan(begin))};
}

// Returns the step that the last point shows. `values`: points since the last step began, at most
// gate_window + 14.
std::optional<Step> step_now(std::span<const double> values) {
  const std::vector<GateNight> nights = nights_of(values);
  const std::span<const GateNight> all(nights);
  for (const auto& [points, deviations] : consecutive_rules) {
    const auto count = static_cast<std::size_t>(points);
    if (values.size() < min_points + count) continue;
    const GateLevel level = level_of(all.first(nights.size() - count), options());
    const auto last = values.last(count);
    if (all_beyond(last, level.level, std::max(min_change, deviations * level.spread)))
      return step_from(values, level.level, mean_of(last) - level.level);
  }
  if (values.size() >= points_before_huge_change + points_of_huge_change) {
    const auto last = values.last(points_of_huge_change);
    const GateLevel level = level_of(all.first(nights.size() - last.size()), options());
    if (all_beyond(last, level.level, replayed_huge_change))
      return step_from(values, level.level, mean_of(last) - level.level);
  }
  const Screening screening = screen(all.first(nights.size() - 1), values.back(), {}, options());
  for (const int pool : replayed_pools) {
    if (screening.pool == pool && screening.finding != GateFinding::quiet &&
        std::abs(screening.change) > std::max(min_change, pool_beyond_limit * screening.limit))
      return Step{values.size() - static_cast<std::size_t>(pool), screening.level.level,
                  screening.level.level + screening.change};
  }
  return std::nullopt;
}

}  // namespace

std::vector<ReplayAlert> replay(std::span<const double> values, bool higher_is_better) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values)
    logs.push_back(higher_is_better ? -std::log(value) : std::log(value));
  const auto in_unit = [&](double log) { return std::exp(higher_is_better ? -log : log); };
  std::vector<ReplayAlert> alerts;
  std::size_t begin = 0;
  for (std::size_t point = 0; point < logs.size(); ++point) {
    const std::size_t first = std::max(begin, point + 1 - std::min(point + 1, gate_window + 14));
    const auto step = step_now(std::span(logs).subspan(first, point + 1 - first));
    if (!step) continue;
    begin = first + step->begin;
    alerts.push_back({point, begin, in_unit(step->from), in_unit(step->to), step->to > step->from});
  }
  return alerts;
}

}  // namespace plumbline
