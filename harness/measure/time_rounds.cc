// Takes the least time of each round, and the median over rounds.
#include "harness/measure/time_rounds.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>

#include "harness/base/median.h"
#include "harness/outcome/outcome.h"
#include "harness/provider/client/worker.h"

namespace plumbline {
namespace {

double least(const std::vector<double>& times) {
  return times.empty() ? 0 : *std::min_element(times.begin(), times.end());
}

bool has_processor_time(const TimeRound& round) {
  return !round.kernel_cpu_ns.empty() && !round.sentinel_cpu_ns.empty();
}

// The sentinel's times by the clock that gates.
const std::vector<double>& gating_sentinel(const TimeRound& round) {
  return has_processor_time(round) ? round.sentinel_cpu_ns : round.sentinel_ns;
}

// Median over rounds of what `of` gives; 0 where it gives nothing but zeros.
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

int repetitions_of_round(int repetitions) {
  return std::max(1, (repetitions + time_rounds - 1) / time_rounds);
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

void summarise_rounds(CaseRun& run) {
  const std::vector<TimeRound>& rounds = run.times.rounds;
  const std::vector<double> kernel_ns = all_of(rounds, &TimeRound::kernel_ns);
  if (kernel_ns.empty()) return;
  run.timed = true;
  run.time_ns = median(kernel_ns);
  std::vector<double> deviation;
  for (const double ns : kernel_ns) deviation.push_back(std::abs(ns - run.time_ns));
  run.time_mad_ns = median(std::move(deviation));
  if (const auto hot_ns = all_of(rounds, &TimeRound::hot_ns); !hot_ns.empty())
    run.time_hot_ns = median(hot_ns);
  run.time_ratio = median_of_rounds(rounds, [](const TimeRound& r) { return r.ratio; });
  run.times.cpu_ns =
      median_of_rounds(rounds, [](const TimeRound& r) { return least(r.kernel_cpu_ns); });
  run.times.sentinel_ns =
      median_of_rounds(rounds, [](const TimeRound& r) { return least(gating_sentinel(r)); });
}

}  // namespace plumbline
