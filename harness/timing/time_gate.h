// The time gate: is a series slower or faster tonight than its own past says?
//
// Every value is the natural logarithm of a time ratio (the kernel's time over the sentinel's), so
// that a difference of values is a relative change: 0.05 is 5.1 % slower. Nights come oldest first.
// One process that looks slow proves little, so tonight is screened first and is a finding only
// when fresh processes of the same night agree (confirm). docs/nights.md derives the limits, and
// tests/timing/simulation.cc measures what they let through.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plumbline {

struct GateNight {
  double value = 0;           // ln of the time ratio that the night's own process gave
  std::vector<double> fresh;  // what fresh processes gave in the same night, where they were asked
  // The level is known to change here: a regression that was accepted, an improvement that was
  // confirmed. Earlier nights tell the noise from here on, and not the level.
  bool starts_level = false;
};

// What the night says of the level: the mean of its fresh processes where they were asked, because
// the night's own value is why they were.
double shown(const GateNight& night);

struct GateOptions {
  int fresh = 3;  // fresh processes that a finding takes: fresh_processes() of the night's series
  // The spread between nights that no series of this machine class falls short of: measured A/A,
  // and 0.5 % where that is less. Now and then a machine moves by as much as a whole
  // (docs/nights.md), and quieter series would find that in all of them.
  double least_spread = 0.005;
  // Correlation of one night with the next that no series falls short of: persistence_of() the
  // machine class. Pools of nights tell less where nights are alike. 0.4 where it is unknown.
  double persistence = 0.4;
  // ln: by how much the whole machine is slower tonight (NightLook::taken_out). It is taken out of
  // what tonight gave, its fresh processes included, before anything is compared.
  double common_shift = 0;
  // Nights from which on single outliers are spikes, and those from which on a step that nobody
  // accepted is a change of level. Before, both may be a second mode of the series, and count as
  // noise.
  int spikes_from = 20, changes_from = 30;
};

// Nights that are looked at: what `plumbline prune` keeps.
inline constexpr std::size_t gate_window = 60;
// Nights before which only a huge change is found.
inline constexpr std::size_t least_nights = 10;

struct GateLevel {
  double level = 0;          // since the last change
  double spread = 0;         // standard deviation of one night about its level, floored
  double persistence = 0;    // measured correlation of one night with the next
  int nights = 0;            // that `level` rests on
  int nights_in_all = 0;     // that `spread` rests on
  double low = 0, high = 0;  // only rare nights of this level were beyond these: its known values
  std::vector<std::size_t> changes;  // nights of the past from which on another level held
};

// Robust: spikes count only up to a limit, and the noise is that about each level between changes.
// Without a night, everything is 0 and the spread is the floor.
GateLevel level_of(std::span<const GateNight> past, const GateOptions& options);

// The median of the series of a machine class, for GateOptions::persistence; 0.4 where fewer than
// 20 have enough nights.
double persistence_of(std::span<const GateLevel> levels);

enum class GateFinding {
  too_few,  // nights to tell, and no change of more than 25 %
  quiet,
  slower,
  faster,
  drifted,  // slower than at the pin by more than 8 %, in steps of which none was found or counted
};

struct Screening {
  GateFinding finding = GateFinding::too_few;
  int pool = 1;          // nights pooled, tonight included: 1, 3, 7 or 14
  double change = 0;     // ln, of the pooled nights from `level`, or from the pin where drifted
  double limit = 0;      // ln, at least 0: the size from which on it is found
  double deviation = 0;  // `change` in standard deviations of what is compared
  GateLevel level;       // that of the nights before the pooled ones; where drifted, of all
  // Of tonight alone, whatever is found: what look_at_night() takes.
  double change_tonight = 0, deviation_tonight = 0;
};

// Whether tonight is worth asking fresh processes. `past` leaves out the nights in which this
// series had a confirmed and unaccepted regression, and suspect nights. The finding is that of the
// fewest nights that show it; a quiet one has the figures of tonight alone.
// `level`: level_of(past), where the caller has it.
Screening screen(std::span<const GateNight> past, double tonight, std::optional<double> pinned,
                 const GateOptions& options, const GateLevel* level = nullptr);

// How far the level of now, tonight included, is from the pin: drifted or quiet. What a candidate
// of another kind leaves open: a spike of tonight, which fresh processes refute, hides no drift.
Screening screen_drift(std::span<const GateNight> past, double tonight, double pinned,
                       const GateOptions& options);

enum class Confirmation {
  confirmed,
  refuted,
  disagree,  // at least half of the fresh processes agree, and not all; or none was there to ask
};

// What fresh processes say of a screening other than too_few and quiet, in the same night.
Confirmation confirm(const Screening& screening, std::span<const GateNight> past, double tonight,
                     std::span<const double> fresh, std::optional<double> pinned,
                     const GateOptions& options);

// Confirmed false alerts that a night of so many timed series expects: the rate of the worst of the
// simulated noise models (tests/timing/simulation.cc). Not of a machine that changes as a whole,
// which look_at_night() is for.
double expected_false_alerts(std::size_t series, int fresh);

// The fewest fresh processes, at least 2 and at most 5, that keep expected_false_alerts() at or
// below 0.1 a night.
int fresh_processes(std::size_t series);

}  // namespace plumbline
