// Runs simulated nights through the gate as real nights do: screening, fresh processes, the night
// as a whole. The past has no confirmed regressions and no suspect nights.
#include "simulation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/counter_hash.h"
#include "harness/base/parallel.h"
#include "harness/timing/common_shift.h"

namespace plumbline::testing {
namespace {

constexpr double size = 0.01, size_within_mode = 0.003, mode_distance = 1.12, common_size = 0.02;
constexpr double night_correlation = 0.4, spike_share = 0.05, shape = 0.8;
constexpr int nights_before_step = 40, nights_of_pin = 5;

struct Series {
  NoisySeries source;
  std::vector<GateNight> past;
  std::optional<double> pinned;
};

std::vector<Series> series_of(Noise noise, const SimulationOptions& options) {
  std::vector<Series> all;
  all.reserve(static_cast<std::size_t>(options.series));
  for (int i = 0; i < options.series; ++i) {
    const auto salt = static_cast<std::uint64_t>(i) + (static_cast<std::uint64_t>(noise) << 32);
    all.push_back(
        {NoisySeries(noise, splitmix64(options.seed) + splitmix64(salt + 1)), {}, std::nullopt});
  }
  return all;
}

// The result of one series in one night.
struct Answer {
  Screening screening;
  Confirmation confirmation = Confirmation::refuted;
  GateNight night;
  bool asked = false;
};

void screen_all(const std::vector<Series>& all, std::vector<Answer>& answers,
                const GateOptions& options) {
  parallel_for(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    answers[at].screening = screen(all[at].past, answers[at].night.value, all[at].pinned, options);
  });
}

NightLook look_at(const std::vector<Answer>& answers) {
  std::vector<double> changes, deviations;
  for (const Answer& answer : answers) {
    changes.push_back(answer.screening.change_tonight);
    deviations.push_back(answer.screening.deviation_tonight);
  }
  return assess_night(changes, deviations);
}

void ask(Series& series, double common, double step, const GateOptions& options, Answer& answer) {
  answer.asked = answer.screening.finding != GateFinding::quiet &&
                 answer.screening.finding != GateFinding::too_few;
  if (!answer.asked) return;
  for (int i = 0; i < options.fresh; ++i)
    answer.night.fresh.push_back(series.source.fresh(common, step));
  answer.confirmation = confirm(answer.screening, series.past, answer.night.value,
                                answer.night.fresh, series.pinned, options);
}

struct JudgedNight {
  std::vector<Answer> answers;
  bool suspect = false;
};

// Judges all series of a night. Sets the persistence in `options` for the next night, and the
// common shift of this one, which is zero unless `of_machine`.
JudgedNight judge_all(std::vector<Series>& all, double common, double step, bool of_machine,
                      GateOptions& options) {
  JudgedNight night;
  auto& answers = night.answers;
  answers.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    answers[i].night.value = all[i].source.night(common, step);
  options.common_shift = 0;
  screen_all(all, answers, options);
  if (of_machine) {
    const NightLook look = look_at(answers);
    night.suspect = look.suspect;
    options.common_shift = look.subtracted_shift;
    if (look.subtracted_shift != 0) screen_all(all, answers, options);
  }
  parallel_for(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    ask(all[at], common, step, options, answers[at]);
  });
  std::vector<GateLevel> levels;
  for (const Answer& answer : answers) levels.push_back(answer.screening.level);
  options.persistence = persistence_of(levels);
  return night;
}

void pin(Series& series) {
  const auto last = std::span<const GateNight>(series.past).last(nights_of_pin);
  GateOptions options;
  series.pinned = level_of(last, options).level;
}

GateOptions gate_options(const SimulationOptions& options) {
  GateOptions gate;
  gate.fresh =
      options.fresh > 0 ? options.fresh : fresh_processes(static_cast<std::size_t>(options.series));
  return gate;
}

void count(FalseAlerts& alerts, const Answer& answer) {
  alerts.screened += answer.asked ? 1 : 0;
  if (!answer.asked) return;
  alerts.disagree += answer.confirmation == Confirmation::disagree ? 1 : 0;
  if (answer.confirmation != Confirmation::confirmed) return;
  alerts.slower += answer.screening.finding == GateFinding::slower ? 1 : 0;
  alerts.faster += answer.screening.finding == GateFinding::faster ? 1 : 0;
  alerts.drifted += answer.screening.finding == GateFinding::drifted ? 1 : 0;
}

}  // namespace

NoisySeries::NoisySeries(Noise noise, std::uint64_t seed)
    : noise_(noise), state_(splitmix64(seed)) {
  kept_ = normal();
}

double NoisySeries::uniform() {
  return (static_cast<double>(splitmix64(++state_) >> 11) + 0.5) * 0x1p-53;
}

double NoisySeries::normal() {  // Box-Muller
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double NoisySeries::draw() {
  if (noise_ == Noise::skewed) {
    const double mean = std::exp(shape * shape / 2);
    const double deviation = mean * std::sqrt(std::expm1(shape * shape));
    return (std::exp(shape * normal()) - mean) / deviation;
  }
  const double x = normal();
  if (noise_ == Noise::spikes && uniform() < spike_share) return x + std::abs(5 + 2 * normal());
  return x;
}

double NoisySeries::value(double standard, double common, double step) {
  double time = 1 + (noise_ == Noise::bimodal ? size_within_mode : size) * standard;
  if (noise_ == Noise::bimodal && uniform() < 0.5) time *= mode_distance;
  return std::log(std::max(time, 0.05)) + common + step;
}

double NoisySeries::night(double common, double step) {
  if (noise_ != Noise::ar1) return value(draw(), common, step);
  previous_ = kept_;
  kept_ = night_correlation * previous_ +
          std::sqrt(1 - night_correlation * night_correlation) * normal();
  return value(kept_, common, step);
}

double NoisySeries::fresh(double common, double step) {
  if (noise_ != Noise::ar1) return value(draw(), common, step);
  const double own = std::sqrt(1 - night_correlation * night_correlation) * normal();
  return value(night_correlation * previous_ + own, common, step);
}

double sigma_of(Noise noise) {
  if (noise == Noise::bimodal) return std::log(mode_distance) / 2;
  if (noise == Noise::drift) return std::hypot(size, common_size);
  return size;
}

FalseAlerts false_alerts(Noise noise, const SimulationOptions& options) {
  auto all = series_of(noise, options);
  GateOptions gate = gate_options(options);
  NoisySeries machine(Noise::white, splitmix64(options.seed) ^ 0xd1f7);
  FalseAlerts alerts;
  int judged = 0;
  for (int night = 0; night < options.nights; ++night) {
    const double common = noise == Noise::drift ? common_size / size * machine.night(0, 0) : 0;
    const bool has_past = night >= static_cast<int>(min_nights);
    const auto [answers, suspect] = judge_all(all, common, 0, has_past, gate);
    judged += has_past ? 1 : 0;
    alerts.suspect_nights += suspect ? 1 : 0;
    if (suspect) continue;  // excluded
    for (std::size_t i = 0; i < all.size(); ++i) {
      count(alerts, answers[i]);
      if (answers[i].confirmation != Confirmation::confirmed)
        all[i].past.push_back(answers[i].night);
      if (all[i].past.size() == min_nights) pin(all[i]);
    }
  }
  for (double* sum : {&alerts.screened, &alerts.disagree, &alerts.slower, &alerts.faster,
                      &alerts.drifted, &alerts.suspect_nights})
    *sum /= std::max(1, judged);
  return alerts;
}

Power power(Noise noise, double sigmas, const SimulationOptions& options) {
  auto all = series_of(noise, options);
  GateOptions gate = gate_options(options);
  std::vector<bool> is_found(all.size());
  Power result;
  for (int night = 0; night < nights_before_step + nights_of_power; ++night) {
    const bool stepped = night >= nights_before_step;
    const auto answers =
        judge_all(all, 0, stepped ? sigmas * sigma_of(noise) : 0, false, gate).answers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool confirmed = answers[i].confirmation == Confirmation::confirmed;
      if (!confirmed) all[i].past.push_back(answers[i].night);
      if (confirmed && stepped && answers[i].screening.finding != GateFinding::faster)
        is_found[i] = true;
    }
    const auto found = std::count(is_found.begin(), is_found.end(), true);
    if (stepped) {
      result.found[static_cast<std::size_t>(night - nights_before_step)] =
          static_cast<double>(found) / static_cast<double>(all.size());
    }
  }
  return result;
}

std::vector<std::vector<double>> times_of(Noise noise, double sigmas,
                                          const SimulationOptions& options) {
  std::vector<std::vector<double>> times;
  for (Series& series : series_of(noise, options)) {
    std::vector<double>& values = times.emplace_back();
    for (int night = 0; night < nights_before_step + nights_of_power; ++night) {
      const double step = night >= nights_before_step ? sigmas * sigma_of(noise) : 0;
      values.push_back(std::exp(series.source.night(0, step)));
    }
  }
  return times;
}

}  // namespace plumbline::testing
