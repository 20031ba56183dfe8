// The time gate: decides if a series is slower or faster tonight than in its own past.
//
// Every value is the natural logarithm of a time ratio (the kernel's time over the sentinel's), so
// a difference of values is a relative change: 0.05 is 5.1 % slower. Nights come oldest first. One
// slow process proves little. So tonight is screened first, and a candidate becomes a finding only
// if fresh processes of the same night agree (confirm). docs/nights.md has the rules, and
// tests/timing/simulation.cc measures their false alerts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumbline {

struct GateNight {
  double value = 0;  // ln of the time ratio of the night's own process
  // ln of the time ratios of fresh processes in the same night, if there were any
  std::vector<double> fresh;
  // The level changes here, by an accepted regression or a confirmed improvement. Earlier nights
  // then count for the noise, but not for the level.
  bool starts_level = false;
};

// Returns the night's value for the level: the mean of its fresh processes if there were any,
// because its own value was the reason to measure again.
double shown(const GateNight& night);

struct GateOptions {
  int fresh = 3;  // fresh processes for each candidate: fresh_processes() of the night's series
  // A floor for the spread between nights of every series of this machine class: from A/A
  // measurements, at least 0.5 %. Now and then all times of a machine shift by that much
  // (docs/nights.md), and all quieter series would report it.
  double min_spread = 0.005;
  // A floor for the lag-1 autocorrelation of every series: persistence_of() for its machine class,
  // 0.4 if unknown. The more alike consecutive nights are, the less a pool proves.
  double persistence = 0.4;
  // ln: by how much the whole machine is slower tonight (NightLook::subtracted_shift). It is
  // subtracted from all values of tonight, fresh processes included, before anything is compared.
  double common_shift = 0;
  // Nights needed to count single outliers as spikes, and to count an unaccepted step as a change
  // of level. With fewer, outliers and steps may be a second mode of the series and count as noise.
  int spikes_from = 20, changes_from = 30;
};

// Nights that the gate uses, and that `plumbline prune` keeps.
inline constexpr std::size_t gate_window = 60;
// With fewer nights, only a huge change is found.
inline constexpr std::size_t min_nights = 10;

struct GateLevel {
  double level = 0;          // since the last change
  double spread = 0;         // standard deviation of one night about its level, with a floor
  double persistence = 0;    // measured lag-1 autocorrelation
  int nights = 0;            // nights that `level` rests on
  int total_nights = 0;      // nights that `spread` rests on
  double low = 0, high = 0;  // range of values at this level, without rare outliers
  std::vector<std::size_t> changes;  // indices of past nights at which another level begins
};

// Returns the level of a series. Spikes count only up to a limit. The noise is measured about each
// level between changes. Without a night, the spread is the floor and everything else is 0.
GateLevel level_of(std::span<const GateNight> past, const GateOptions& options);

// Returns the median persistence of a machine class's series, for GateOptions::persistence; 0.4 if
// fewer than 20 series have enough nights.
double persistence_of(std::span<const GateLevel> levels);

enum class GateFinding {
  too_few,  // too few nights to tell, and no change above 25 %
  quiet,
  slower,
  faster,
  drifted,  // slower than at the pin by more than 8 %, in steps that were accepted or not found
};

struct Screening {
  GateFinding finding = GateFinding::too_few;
  int pool = 1;          // nights pooled, tonight included: 1, 3, 7 or 14
  double change = 0;     // ln, of the pooled nights from `level`; if drifted, from the pin
  double limit = 0;      // ln, at least 0: larger changes are found
  double deviation = 0;  // `change` in standard deviations of what was compared
  GateLevel level;       // before the pooled nights; if drifted, of all nights
  // Tonight alone, whatever the finding is: the input of assess_night().
  double change_tonight = 0, deviation_tonight = 0;
};

// Screens tonight. Findings other than too_few and quiet are candidates for fresh processes. `past`
// must not have suspect nights, nor nights in which this series had a confirmed and unaccepted
// regression. The smallest pool with a finding decides; a quiet result has the figures of tonight
// alone. `level`: level_of(past), if the caller has it.
Screening screen(std::span<const GateNight> past, double tonight, std::optional<double> pinned,
                 const GateOptions& options, const GateLevel* level = nullptr);

// Compares the current level, tonight included, with the pin: drifted or quiet. Another candidate
// does not rule out a drift: it may be a spike of tonight, which fresh processes refute.
Screening screen_drift(std::span<const GateNight> past, double tonight, double pinned,
                       const GateOptions& options);

enum class Confirmation {
  confirmed,
  refuted,
  disagree,  // neither: for example, if half of the fresh processes agree, or if there are none
};

// Decides a candidate by the values that fresh processes gave in the same night.
Confirmation confirm(const Screening& screening, std::span<const GateNight> past, double tonight,
                     std::span<const double> fresh, std::optional<double> pinned,
                     const GateOptions& options);

// Returns the confirmed false alerts expected in a night with that many timed series, at the rate
// of the worst simulated noise model (tests/timing/simulation.cc). Changes of a whole machine do
// not count: assess_night() finds them.
double expected_false_alerts(std::size_t series, int fresh);

// Returns the fewest fresh processes, from 2 to 5, that keep expected_false_alerts() at or below
// 0.1 a night; 5 if none do.
int fresh_processes(std::size_t series);

}  // namespace plumbline
