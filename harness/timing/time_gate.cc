// Screens a night, and decides its candidates by the values of fresh processes.
#include "harness/timing/time_gate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/median.h"

namespace plumbline {
namespace {

constexpr std::array<int, 4> pools{1, 3, 7, 14};

// In standard deviations. tests/timing/simulation.cc measures their false alerts and power;
// evidence/nights.md has the table.
constexpr double screens_at = 2.8;         // tonight alone
constexpr double fresh_agrees_at = 2.2;    // each fresh process
constexpr double beyond_known = 0.35;      // each fresh process, beyond the known values
constexpr double nights_to_know = 20;      // with n nights, beyond_known * (1 + (20 / n)^2)
constexpr double fresh_mean_at = 2.8;      // mean of the fresh processes
constexpr double pool_screens_at = 3.15;   // a pool of nights
constexpr double pool_confirms_at = 3.65;  // a pool with the mean of fresh processes for tonight
// Fresh processes share persistent noise, so limits are multiplied by 1 + persistence * doubt, with
// the first value for a pool and the second for tonight alone.
constexpr double persistence_doubt = 0.5, persistence_doubt_tonight = 0.2;
constexpr int min_nights_beside_pool = 10;
constexpr double min_mean_share = 0.9;    // mean of the fresh processes over the pool's change
constexpr double min_fresh_share = 0.85;  // each fresh process, over that change / sqrt(nights)
// In a pool, a larger deviation of a night counts as this many spreads: a spike is not a step.
constexpr double max_night_deviation = 3.0;
// ln 1.25: a larger change is found even after a single night.
constexpr double huge_change = 0.2231;
// ln 1.08: the sum of accepted or unfound steps that is tolerated since the pin.
constexpr double max_drift = 0.07696;
constexpr double drift_beyond_noise = 3.0;  // standard deviations
// A pinned value is the median of a few nights: harness/judge takes up to 5.
constexpr int pin_nights = 5;

// A variance from n nights is multiplied by 1 + 3000 / n^3. This makes limits twice as wide at 10
// nights, and 17 % wider at 20.
constexpr double doubtful_spread = 3000;

// Returns n times the variance of the mean of n nights, over that of one night.
double correlated(int n, double persistence) {
  double sum = 1, power = 1;
  for (int lag = 1; lag < n; ++lag) {
    power *= persistence;
    if (power < 1e-4) break;
    sum += 2 * (1 - static_cast<double>(lag) / n) * power;
  }
  return sum;
}

double variance_of_mean(int n, double persistence) {
  return n == 0 ? 1 : correlated(n, persistence) / n;
}

// Returns the machine class's persistence or, if the series' own is higher, the mean of both,
// because 60 nights determine the series' own only within 0.13.
double persistence_of(const GateLevel& level, const GateOptions& options) {
  return options.persistence + std::max(0.0, level.persistence - options.persistence) / 2;
}

// Returns the standard deviation of the difference of two means, over `nights` and `others` nights.
// The spread of few nights is uncertain, so doubtful_spread increases it.
double noise_of(const GateLevel& level, int nights, int others, const GateOptions& options) {
  const double persistence = persistence_of(level, options);
  const double n = level.total_nights;
  return level.spread *
         std::sqrt((1 + doubtful_spread / (n * n * n)) *
                   (variance_of_mean(nights, persistence) + variance_of_mean(others, persistence)));
}

struct Pool {
  int nights = 1;
  GateLevel level;   // before the pooled nights
  double noise = 0;  // standard deviation of `change`
  double change = 0, limit = 0;
  double doubt = 1;  // factor by which the limits of a pool are wider
  bool usable = false;
};

// `tonight`: the value of the night's own process, or the mean of its fresh ones. `level`: the
// level of `past`, if it is known.
Pool pool_of(int nights, std::span<const GateNight> past, double tonight,
             const GateOptions& options, const GateLevel* level = nullptr) {
  Pool pool;
  pool.nights = nights;
  const auto earlier = static_cast<std::size_t>(nights - 1);
  if (past.size() < earlier + min_nights) return pool;
  const auto pooled = past.last(earlier);
  for (const GateNight& night : pooled) {
    if (night.starts_level) return pool;  // a known change is not a finding
  }
  pool.level = level != nullptr && earlier == 0
                   ? *level
                   : level_of(past.first(past.size() - earlier), options);
  // A level of few nights cannot judge small steps, because its nights may include a step.
  if (nights > 1 && pool.level.nights < nights + min_nights_beside_pool) return pool;
  const double most = nights == 1 ? HUGE_VAL : max_night_deviation * pool.level.spread;
  double sum = std::clamp(tonight - pool.level.level, -most, most);
  for (const GateNight& night : pooled)
    sum += std::clamp(shown(night) - pool.level.level, -most, most);
  pool.change = sum / nights;
  pool.noise = noise_of(pool.level, nights, pool.level.nights, options);
  pool.doubt = 1 + persistence_of(pool.level, options) * persistence_doubt;
  pool.limit = (nights == 1 ? screens_at : pool_screens_at * pool.doubt) * pool.noise;
  pool.usable = true;
  return pool;
}

void take(Screening& screening, const Pool& pool, GateFinding finding) {
  screening.finding = finding;
  screening.pool = pool.nights;
  screening.change = pool.change;
  screening.limit = pool.limit;
  screening.deviation = pool.noise > 0 ? pool.change / pool.noise : 0;
  screening.level = pool.level;
}

GateFinding direction(double change) {
  return change > 0 ? GateFinding::slower : GateFinding::faster;
}

// Screens a night after too few earlier nights for limits that the series determines.
Screening screen_short_series(std::span<const GateNight> past, double tonight,
                              const GateOptions& options) {
  Screening result;
  result.level = level_of(past, options);
  result.limit = huge_change;
  if (past.empty()) return result;
  result.change = tonight - result.level.level;
  result.deviation = result.change / result.level.spread;
  result.change_tonight = result.change;
  result.deviation_tonight = result.deviation;
  if (std::abs(result.change) > huge_change) result.finding = direction(result.change);
  return result;
}

// Returns the distance of the current level, tonight included, from the pin.
Pool drift_of(std::span<const GateNight> past, double tonight, double pinned,
              const GateOptions& options) {
  std::vector<GateNight> nights(past.begin(), past.end());
  nights.push_back({tonight, {}, false});
  Pool pool;
  GateOptions accepted = options;
  accepted.changes_from = static_cast<int>(gate_window) + 1;  // unaccepted steps are noise here
  pool.level = level_of(nights, accepted);
  pool.nights = 1;
  pool.change = pool.level.level - pinned;
  pool.noise = noise_of(pool.level, pin_nights, pool.level.nights, options);
  pool.limit = std::max(max_drift, drift_beyond_noise * pool.noise);
  pool.usable = true;
  return pool;
}

double known_margin(const GateLevel& level, double sign) {
  if (level.total_nights < static_cast<int>(min_nights)) return 0;
  const double young = nights_to_know / level.total_nights;
  return (sign > 0 ? level.high - level.level : level.level - level.low) +
         beyond_known * (1 + young * young) * level.spread;
}

Confirmation confirm_tonight(const GateLevel& level, double change, double size_of_one,
                             double size_of_mean, std::span<const double> fresh) {
  const double sign = change > 0 ? 1 : -1;
  const double least = std::max(size_of_one, known_margin(level, sign));
  std::size_t agree = 0;
  for (const double value : fresh) agree += sign * (value - level.level) > least ? 1 : 0;
  const double mean = sign * (mean_of(fresh) - level.level);
  if (agree == fresh.size() && mean > size_of_mean) return Confirmation::confirmed;
  return 2 * agree >= fresh.size() ? Confirmation::disagree : Confirmation::refuted;
}

// Confirms a small step if the pool is beyond pool_confirms_at with the fresh processes' mean as
// the value of tonight. That mean did not select the pool, and must be at least min_mean_share of
// the pool's change.
Confirmation confirm_pool(const Pool& pool, std::span<const GateNight> past,
                          std::span<const double> fresh, const GateOptions& options) {
  const double sign = pool.change > 0 ? 1 : -1;
  const double shown = mean_of(fresh);
  const Pool with = pool_of(pool.nights, past, shown, options);
  const double mean = sign * (shown - pool.level.level);
  bool all = true;
  const double least = min_fresh_share / std::sqrt(pool.nights) * sign * pool.change;
  for (const double value : fresh) all = all && sign * (value - pool.level.level) > least;
  const bool mean_agrees = mean > min_mean_share * sign * pool.change;
  if (all && mean_agrees && sign * with.change > pool_confirms_at * with.doubt * with.noise)
    return Confirmation::confirmed;
  return mean_agrees ? Confirmation::disagree : Confirmation::refuted;
}

Confirmation confirm_drift(const Pool& drift, double pinned, std::span<const double> fresh) {
  std::size_t agree = 0;
  for (const double value : fresh) agree += value - pinned > drift.limit / 2 ? 1 : 0;
  if (agree == fresh.size() && mean_of(fresh) - pinned > 0.9 * drift.limit)
    return Confirmation::confirmed;
  return 2 * agree >= fresh.size() ? Confirmation::disagree : Confirmation::refuted;
}

Confirmation stronger(Confirmation a, Confirmation b) {
  if (a == Confirmation::confirmed || b == Confirmation::confirmed) return Confirmation::confirmed;
  if (a == Confirmation::disagree || b == Confirmation::disagree) return Confirmation::disagree;
  return Confirmation::refuted;
}

}  // namespace

Screening screen(std::span<const GateNight> past, double tonight, std::optional<double> pinned,
                 const GateOptions& options, const GateLevel* level) {
  tonight -= options.common_shift;
  if (past.size() < min_nights) return screen_short_series(past, tonight, options);
  Screening result;
  for (const int nights : pools) {
    const Pool pool = pool_of(nights, past, tonight, options, level);
    if (!pool.usable) continue;
    if (nights == 1) {
      take(result, pool, GateFinding::quiet);
      result.change_tonight = result.change;
      result.deviation_tonight = result.deviation;
    }
    if (std::abs(pool.change) > pool.limit) {
      take(result, pool, direction(pool.change));
      return result;
    }
  }
  if (pinned) {
    const Pool drift = drift_of(past, tonight, *pinned, options);
    if (drift.change > drift.limit) take(result, drift, GateFinding::drifted);
  }
  return result;
}

Screening screen_drift(std::span<const GateNight> past, double tonight, double pinned,
                       const GateOptions& options) {
  Screening result;
  const Pool drift = drift_of(past, tonight - options.common_shift, pinned, options);
  take(result, drift, drift.change > drift.limit ? GateFinding::drifted : GateFinding::quiet);
  return result;
}

Confirmation confirm(const Screening& screening, std::span<const GateNight> past, double tonight,
                     std::span<const double> measured, std::optional<double> pinned,
                     const GateOptions& options) {
  if (measured.empty()) return Confirmation::disagree;
  tonight -= options.common_shift;
  std::vector<double> fresh(measured.begin(), measured.end());
  for (double& value : fresh) value -= options.common_shift;
  if (screening.finding == GateFinding::drifted) {
    if (!pinned) return Confirmation::disagree;
    return confirm_drift(drift_of(past, tonight, *pinned, options), *pinned, fresh);
  }
  if (past.size() < min_nights) {
    return confirm_tonight(screening.level, screening.change, huge_change, huge_change, fresh);
  }
  // A pool may confirm what tonight alone leaves undecided.
  Confirmation result = Confirmation::refuted;
  for (const int nights : pools) {
    const Pool pool = pool_of(nights, past, tonight, options);
    if (!pool.usable || std::abs(pool.change) <= pool.limit ||
        direction(pool.change) != screening.finding)
      continue;
    const double unsure =
        pool.noise * (1 + persistence_of(pool.level, options) * persistence_doubt_tonight);
    result = stronger(
        result, nights == 1 ? confirm_tonight(pool.level, pool.change, fresh_agrees_at * unsure,
                                              fresh_mean_at * unsure, fresh)
                            : confirm_pool(pool, past, fresh, options));
  }
  return result;
}

}  // namespace plumbline
