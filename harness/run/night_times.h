// The times of one night together: what is a candidate is measured again in fresh processes, and a
// night in which everything moved is measured again or set aside. docs/nights.md.
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

// A timed outcome, judged in everything but its time. Not owned.
struct TimedCase {
  StoredOutcome* stored = nullptr;
  const Past* past = nullptr;
  MachineClass machine;                  // that it ran on
  const PlannedCase* planned = nullptr;  // nullptr: its kernel cannot be asked here
};

struct NightTimesInput {
  std::vector<TimedCase> cases;
  // Names the night: by it the cases are drawn that are measured a second time.
  std::string draw;
  std::string today;  // "2027-01-30", in UTC: which acknowledgements have expired
  // The floor of the spread between nights on a machine class (floor_of_spread).
  std::function<double(const MachineClass&)> least_spread;
  // Times cases as a night does, in processes of their own and in rounds over all of them; one may
  // be named several times. `why` is for progress. nullopt: it did not run well, or the run is to
  // stop. Empty: nobody can be asked, and candidates stay unconfirmed.
  std::function<std::vector<std::optional<Outcome>>(const std::vector<const PlannedCase*>&,
                                                    std::string_view why)>
      measure;
  // What happens to the night as a whole.
  std::function<void(NightEventKind, const std::string& detail)> event;
  // A case has got its verdict.
  std::function<void(const TimedCase&)> settled;
};

// One row a machine class.
std::vector<NightTimes> judge_night_times(const NightTimesInput& input);

// Everything about time in `to` becomes that of `from`, but for what was measured beyond the
// night's own rounds: the second ratio and the fresh ones.
void take_times(Outcome& to, Outcome from);

// From the ratios of second measurements to first ones on one machine class: the spread of one of
// them, as a standard deviation of logarithms by their median. Fewer than 20 pairs say nothing, and
// the gate's own floor holds.
double floor_of_spread(const std::vector<double>& second_ratios);

// The share of timed cases that are measured twice each night: every tenth, and one at least.
inline constexpr std::size_t one_in_second = 10;

}  // namespace plumbline
