// Summarises rounds by their quiet repetitions or, if none is quiet, by medians.
#include "harness/timing/time_rounds.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>

#include "harness/base/median.h"
#include "harness/outcome/outcome.h"
#include "harness/problem/problem.h"
#include "harness/provider/client/worker.h"

namespace plumbline {
namespace {

double least(const std::vector<double>& times) {
  return times.empty() ? 0 : *std::ranges::min_element(times);
}

bool has_processor_time(const TimeRound& round) {
  return !round.kernel_cpu_ns.empty() && !round.sentinel_cpu_ns.empty();
}

// Returns sentinel_cpu_ns if it was measured, otherwise sentinel_ns.
const std::vector<double>& gating_sentinel(const TimeRound& round) {
  return has_processor_time(round) ? round.sentinel_cpu_ns : round.sentinel_ns;
}

// Returns true if the sentinels before and after repetition i were undisturbed.
bool is_quiet(const TimeRound& round, std::size_t i, double pace_ns) {
  const auto undisturbed = [&](std::size_t at) {
    return round.sentinel_cpu_ns[at] <= max_sentinel_slowdown * pace_ns;
  };
  return undisturbed(i) && (i == 0 || undisturbed(i - 1));
}

// The least times of quiet repetitions.
struct Quiet {
  double kernel_ns = HUGE_VAL, sentinel_ns = HUGE_VAL;

  double ratio() const { return kernel_ns / sentinel_ns; }
  bool any() const { return kernel_ns < HUGE_VAL && sentinel_ns > 0; }
  void add(const Quiet& other) {
    kernel_ns = std::min(kernel_ns, other.kernel_ns);
    sentinel_ns = std::min(sentinel_ns, other.sentinel_ns);
  }
};

// Returns the least times of the quiet repetitions, and sets the round's `quiet` and `ratio`.
Quiet quiet_of(TimeRound& round, double pace_ns) {
  Quiet quiet;
  round.quiet = 0;
  const std::size_t count = std::min(round.kernel_cpu_ns.size(), round.sentinel_cpu_ns.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_quiet(round, i, pace_ns)) continue;
    quiet.add({round.kernel_cpu_ns[i], round.sentinel_cpu_ns[i]});
    ++round.quiet;
  }
  if (quiet.any()) round.ratio = quiet.ratio();
  return quiet;
}

bool is_quiet_round(double quiet, const TimeRound& round) {
  return quiet >= std::clamp<double>(static_cast<double>(round.sentinel_cpu_ns.size()), 1,
                                     quiet_repetitions_of_round);
}

// Returns the median over rounds of the positive values of `of`; 0 if there are none.
template <class Of>
double median_of_rounds(const std::vector<TimeRound>& rounds, Of of) {
  std::vector<double> values;
  for (const TimeRound& round : rounds) {
    if (const double value = of(round); value > 0) values.push_back(value);
  }
  return values.empty() ? 0 : median(std::move(values));
}

std::vector<double> all_of(const std::vector<TimeRound>& rounds,
                           std::vector<double> TimeRound::*samples) {
  std::vector<double> all;
  for (const TimeRound& round : rounds)
    all.insert(all.end(), (round.*samples).begin(), (round.*samples).end());
  return all;
}

}  // namespace

int time_rounds_of(const Case& c) {
  return c.device == "cpu" ? time_rounds_on_cpu : time_rounds_on_device;
}

int repetitions_of_round(int repetitions, int rounds) {
  return std::max(1, (repetitions + rounds - 1) / rounds);
}

double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

TimeRound round_of(Timing timing, double load) {
  TimeRound round;
  round.kernel_ns = std::move(timing.kernel_ns);
  round.sentinel_ns = std::move(timing.sentinel_ns);
  round.kernel_cpu_ns = std::move(timing.kernel_cpu_ns);
  round.sentinel_cpu_ns = std::move(timing.sentinel_cpu_ns);
  round.hot_ns = std::move(timing.hot_ns);
  round.kernel_mhz = std::move(timing.kernel_mhz);
  round.hot_mhz = std::move(timing.hot_mhz);
  round.kernel_throttle = std::move(timing.kernel_throttle);
  round.hot_throttle = std::move(timing.hot_throttle);
  round.load = load;
  round.mhz = timing.mhz;
  round.plan_ns = timing.plan_ns;
  round.throttled = std::move(timing.throttled);
  const double kernel = least(has_processor_time(round) ? round.kernel_cpu_ns : round.kernel_ns);
  const double sentinel = least(gating_sentinel(round));
  if (sentinel > 0) round.ratio = kernel / sentinel;
  return round;
}

void SentinelPace::add(const TimeRound& round) {
  if (has_processor_time(round)) min_ns_.push_back(least(round.sentinel_cpu_ns));
}

double SentinelPace::ns() const {
  if (min_ns_.empty()) return 0;
  std::vector<double> sorted = min_ns_;
  const auto fast = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 10);
  std::nth_element(sorted.begin(), fast, sorted.end());
  return *fast;
}

bool has_quiet_rounds(const std::vector<TimeRound>& rounds, int wanted, double pace_ns) {
  if (rounds.empty()) return true;
  int quiet = 0;
  for (const TimeRound& round : rounds) {
    if (!has_processor_time(round)) return true;
    int repetitions = 0;
    for (std::size_t i = 0; i < round.sentinel_cpu_ns.size(); ++i)
      repetitions += is_quiet(round, i, pace_ns) ? 1 : 0;
    quiet += is_quiet_round(repetitions, round) ? 1 : 0;
  }
  return quiet >= wanted;
}

bool is_disturbed(const std::vector<TimeRound>& rounds) {
  constexpr std::size_t all_rounds = time_rounds_on_cpu + extra_rounds_of_night, least = 40;
  constexpr int min_quiet_rounds = 5;
  std::size_t repetitions = 0;
  int quiet = 0;
  for (const TimeRound& round : rounds) {
    repetitions += round.sentinel_cpu_ns.size();
    quiet += is_quiet_round(round.quiet, round) ? 1 : 0;
  }
  return rounds.size() >= all_rounds && repetitions >= least && quiet < min_quiet_rounds;
}

void summarise_rounds(CaseRun& run, double pace_ns) {
  std::vector<TimeRound>& rounds = run.times.rounds;
  Quiet quiet, any_quiet;
  int quiet_rounds = 0;
  for (TimeRound& round : rounds) {
    if (!(pace_ns > 0) || !has_processor_time(round)) continue;
    const Quiet of_round = quiet_of(round, pace_ns);
    any_quiet.add(of_round);
    if (is_quiet_round(round.quiet, round) && ++quiet_rounds <= time_rounds_on_cpu)
      quiet.add(of_round);
  }
  if (!quiet.any()) quiet = any_quiet;
  const std::vector<double> kernel_ns = all_of(rounds, &TimeRound::kernel_ns);
  if (kernel_ns.empty()) return;
  run.timed = true;
  run.time_ns = median(kernel_ns);
  std::vector<double> deviation;
  for (const double ns : kernel_ns) deviation.push_back(std::abs(ns - run.time_ns));
  run.time_mad_ns = median(std::move(deviation));
  if (const auto hot_ns = all_of(rounds, &TimeRound::hot_ns); !hot_ns.empty())
    run.time_hot_ns = median(hot_ns);
  if (quiet.any()) {
    run.time_ratio = quiet.ratio();
    run.times.cpu_ns = quiet.kernel_ns;
    run.times.sentinel_ns = quiet.sentinel_ns;
    return;
  }
  run.time_ratio = median_of_rounds(rounds, [](const TimeRound& r) { return r.ratio; });
  run.times.cpu_ns =
      median_of_rounds(rounds, [](const TimeRound& r) { return least(r.kernel_cpu_ns); });
  run.times.sentinel_ns =
      median_of_rounds(rounds, [](const TimeRound& r) { return least(gating_sentinel(r)); });
}

}  // namespace plumbline
