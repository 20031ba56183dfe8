// Estimates the level of a series and its noise.
#include <algorithm>
#include <cmath>

#include "harness/timing/level_changes.h"
#include "harness/timing/time_gate.h"

namespace plumbline {
namespace {

// For a normal distribution: the standard deviation divided by the median absolute deviation, and
// divided by the standard deviation without the 5 % of largest deviations.
constexpr double sd_of_mad = 1.4826, sd_of_trimmed = 1.15;
// One night in 20 may be a spike, which does not count in the spread.
constexpr std::size_t nights_per_spike = 20;
// The known values of a series leave out one night in 30 on each side.
constexpr std::size_t nights_per_stray = 30;
// Series needed for the persistence of a machine class, which is then known within 0.15 / sqrt(20)
// = 0.03 after 60 nights. Smaller persistences than the minimum may be chance.
constexpr std::size_t min_series = 20;
constexpr double min_persistence = 0.05;
// A night counts in the level with at most this deviation, in spreads.
constexpr double level_clip = 2.5;

double median_in_place(std::vector<double>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

// Returns the largest of two robust estimates and a floor. The median deviation alone would take a
// series with two modes for a quiet one.
double spread_of(const std::vector<double>& residuals, std::size_t levels,
                 const GateOptions& options) {
  std::vector<double> sizes;
  sizes.reserve(residuals.size());
  for (const double residual : residuals) sizes.push_back(std::abs(residual));
  const double mad = median_in_place(sizes);
  const std::size_t n = sizes.size();
  const bool trims = n >= static_cast<std::size_t>(std::max(1, options.spikes_from));
  const std::size_t spikes = trims ? std::max<std::size_t>(1, n / nights_per_spike) : 0;
  const std::size_t kept = n - spikes;
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(kept);
  if (spikes > 0) std::nth_element(sizes.begin(), end, sizes.end());
  double squares = 0;
  for (auto size = sizes.begin(); size != end; ++size) squares += *size * *size;
  const double freedom = static_cast<double>(kept > levels ? kept - levels : 1);
  const double trimmed = (spikes > 0 ? sd_of_trimmed : 1) * std::sqrt(squares / freedom);
  return std::max({options.min_spread, sd_of_mad * mad, trimmed});
}

struct Levels {
  std::vector<std::size_t> begins;  // first night of each level; begins with 0
  std::vector<double> residuals;    // of every night
};

// Fills in the residuals about each level, and returns the last level. A level is the median of its
// nights; if `limit` > 0, the mean, with deviations from the median cut at `limit`.
double take_levels(Levels& levels, std::span<const double> values, double limit) {
  double last = 0;
  std::vector<double> part;
  for (std::size_t i = 0; i < levels.begins.size(); ++i) {
    const std::size_t begin = levels.begins[i];
    const std::size_t end = i + 1 < levels.begins.size() ? levels.begins[i + 1] : values.size();
    part.assign(values.begin() + static_cast<std::ptrdiff_t>(begin),
                values.begin() + static_cast<std::ptrdiff_t>(end));
    double level = median_in_place(part);
    if (limit > 0) {
      double sum = 0;
      for (std::size_t at = begin; at < end; ++at)
        sum += std::clamp(values[at] - level, -limit, limit);
      level += sum / static_cast<double>(end - begin);
    }
    for (std::size_t at = begin; at < end; ++at) levels.residuals[at] = values[at] - level;
    last = level;
  }
  return last;
}

// Returns the lag-1 autocorrelation, without the bias of short series (Kendall 1954:
// -(1 + 3 r) / n).
double persistence_of(const Levels& levels, double limit) {
  double products = 0, squares = 0;
  const auto& residuals = levels.residuals;
  std::size_t next = 1;  // the next level
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double now = std::clamp(residuals[i], -limit, limit);
    squares += now * now;
    if (next < levels.begins.size() && i == levels.begins[next]) {
      ++next;
    } else if (i > 0) {
      products += now * std::clamp(residuals[i - 1], -limit, limit);
    }
  }
  const double measured = squares > 0 ? products / squares : 0;
  return std::min(0.9, measured + (1 + 3 * measured) / static_cast<double>(residuals.size()));
}

// Sets low and high so that one residual in 30 lies outside on each side.
void add_known_values(GateLevel& level, std::vector<double> residuals) {
  const std::size_t strays = residuals.size() / nights_per_stray;
  const auto at = [&](std::size_t i) { return residuals.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(residuals.begin(), at(strays), residuals.end());
  level.low = level.level + residuals[strays];
  std::nth_element(residuals.begin(), at(residuals.size() - 1 - strays), residuals.end());
  level.high = level.level + residuals[residuals.size() - 1 - strays];
}

// Returns the level of the nights' shown() values, which pools use, not of their single values.
double shown_level(std::span<const GateNight> nights, double limit) {
  std::vector<double> values;
  values.reserve(nights.size());
  for (const GateNight& night : nights) values.push_back(shown(night));
  const double middle = median_in_place(values);
  double sum = 0;
  for (const double value : values) sum += std::clamp(value - middle, -limit, limit);
  return middle + sum / static_cast<double>(values.size());
}

}  // namespace

double shown(const GateNight& night) {
  if (night.fresh.empty()) return night.value;
  double sum = 0;
  for (const double value : night.fresh) sum += value;
  return sum / static_cast<double>(night.fresh.size());
}

GateLevel level_of(std::span<const GateNight> past, const GateOptions& options) {
  GateLevel result;
  result.spread = options.min_spread;
  if (past.empty()) return result;
  const std::size_t before = past.size() - std::min(past.size(), gate_window);
  past = past.subspan(before);
  std::vector<double> values;
  values.reserve(past.size());
  for (const GateNight& night : past) values.push_back(night.value);

  Levels levels{{0}, std::vector<double>(values.size())};
  const bool settled = past.size() >= static_cast<std::size_t>(std::max(0, options.changes_from));
  std::size_t begin = 0;  // start of the nights between two known changes
  for (std::size_t i = 0; i <= past.size(); ++i) {
    if (i < past.size() && (i == 0 || !past[i].starts_level)) continue;
    if (settled) {
      for (const auto change : level_changes(std::span(values).subspan(begin, i - begin)))
        levels.begins.push_back(begin + change);
    }
    if (i < past.size()) levels.begins.push_back(i);
    begin = i;
  }
  take_levels(levels, values, 0);
  result.spread = spread_of(levels.residuals, levels.begins.size(), options);
  take_levels(levels, values, level_clip * result.spread);
  result.spread = spread_of(levels.residuals, levels.begins.size(), options);
  result.persistence = persistence_of(levels, level_clip * result.spread);
  result.nights = static_cast<int>(values.size() - levels.begins.back());
  result.total_nights = static_cast<int>(values.size());
  result.level = shown_level(past.subspan(levels.begins.back()), level_clip * result.spread);
  add_known_values(result, levels.residuals);
  for (std::size_t i = 1; i < levels.begins.size(); ++i)
    result.changes.push_back(before + levels.begins[i]);
  return result;
}

double persistence_of(std::span<const GateLevel> levels) {
  std::vector<double> measured;
  measured.reserve(levels.size());
  for (const GateLevel& level : levels) {
    if (level.total_nights >= static_cast<int>(min_nights)) measured.push_back(level.persistence);
  }
  if (measured.size() < min_series) return GateOptions().persistence;
  return std::clamp(median_in_place(measured), min_persistence, 0.9);
}

}  // namespace plumbline
