// Simulates nights for the gate: how many false alerts there are, and how soon it finds a step.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/base/enumeration.h"
#include "harness/timing/time_gate.h"

namespace plumbline::testing {

// The noise of a night's time; its size is 1 % of the time. Fresh processes draw again.
enum class Noise {
  white,    // normal
  ar1,      // normal, and 0.4 of a night's noise persists; fresh processes share what persists
  spikes,   // normal, and 5 % of the processes are slower by 5 sizes more (deviation: 2 sizes)
  bimodal,  // each process has one of two modes 12 % apart; within a mode 0.3 %
  skewed,   // lognormal with shape 0.8, of mean 0 and standard deviation 1
  drift,    // white, and 2 % common to all series of a night and to their fresh processes
};

// Draws the values of processes, ln of time, and keeps the state of their series.
class NoisySeries {
 public:
  NoisySeries(Noise noise, std::uint64_t seed);
  // `common`: the machine's shift tonight, ln. `step`: the series' own, ln.
  double night(double common, double step);
  double fresh(double common, double step);

 private:
  double uniform();
  double normal();
  double draw();
  double value(double standard, double common, double step);

  Noise noise_;
  std::uint64_t state_;
  double kept_ = 0, previous_ = 0;  // for ar1: tonight's and last night's
  double spare_ = 0;                // the second of a pair of normal values
  bool has_spare_ = false;
};

// Returns the standard deviation of one night, ln: the unit of power()'s `sigmas`.
double sigma_of(Noise noise);

struct SimulationOptions {
  int series = 10'000, nights = 100;
  int fresh = 0;  // 0: fresh_processes()
  std::uint64_t seed = 1;
};

// Rates of nights without a change. The first min_nights judge nothing and do not count.
struct FalseAlerts {
  double screened = 0, disagree = 0;           // per night
  double slower = 0, faster = 0, drifted = 0;  // confirmed, per night
  double suspect_nights = 0;                   // share of the nights
  double confirmed() const { return slower + faster + drifted; }
};
FalseAlerts false_alerts(Noise noise, const SimulationOptions& options);

// A step of `sigmas` that begins on night 41 and stays. found[n]: share of the series with a
// confirmed finding by night n + 1 of the step. False alerts of earlier nights do not count.
inline constexpr int nights_of_power = 14;
struct Power {
  std::array<double, nights_of_power> found{};
};
Power power(Noise noise, double sigmas, const SimulationOptions& options);

// Returns the times of series as power() draws them, without fresh processes, for other programs.
std::vector<std::vector<double>> times_of(Noise noise, double sigmas,
                                          const SimulationOptions& options);

}  // namespace plumbline::testing
