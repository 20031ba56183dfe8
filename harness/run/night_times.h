// Judges the times of one night together. Candidates are measured again in fresh processes. A
// suspect night, in which everything shifted, is measured again or excluded (docs/nights.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/store/night.h"
#include "harness/store/stored.h"
#include "harness/suite/plan.h"

namespace plumbline {

// A timed outcome. Everything except its time is already judged. Not owned.
struct TimedCase {
  StoredOutcome* stored = nullptr;
  const Past* past = nullptr;
  MachineClass machine;                  // the machine class that ran it
  const PlannedCase* planned = nullptr;  // nullptr: its kernel cannot be run here
};

struct NightTimesInput {
  std::vector<TimedCase> cases;
  // Identifies the night, and determines which cases are drawn for a second measurement.
  std::string draw;
  std::string today;  // "2027-01-30", in UTC; decides which acknowledgements have expired
  // Returns the minimum night-to-night spread of a machine class (floor_of_spread).
  std::function<double(const MachineClass&)> min_spread;
  // Times cases in fresh processes, in rounds over all of them, as a night does. A case may be
  // listed several times. `why` is for progress. nullopt: the case failed, or the run was stopped.
  // If the function is empty, nothing can be measured here and candidates stay unconfirmed.
  std::function<std::vector<std::optional<Outcome>>(const std::vector<const PlannedCase*>&,
                                                    std::string_view why)>
      measure;
  // Reports what happens to the whole night.
  std::function<void(NightEventKind, const std::string& detail)> event;
  // Called when a case has its verdict.
  std::function<void(const TimedCase&)> settled;
};

// Returns one row for each machine class.
std::vector<NightTimes> judge_night_times(const NightTimesInput& input);

// Copies the times of `from` into `to`. The second ratio and the ratios of fresh processes, which
// are measured outside the night's own rounds, are kept.
void copy_times(Outcome& to, Outcome from);

// Returns the spread of one measurement on a machine class, from the ratios of second measurements
// to first ones: a standard deviation of logarithms, estimated by the median. Returns 0 for fewer
// than 20 pairs; the gate's own minimum then applies.
double floor_of_spread(const std::vector<double>& second_ratios);

// Each night measures one of this many timed cases twice, but at least one in all.
inline constexpr std::size_t cases_per_second_pair = 10;

}  // namespace plumbline
