// A look at the night as a whole: where all series move together, the machine moved.
#pragma once

#include <span>
#include <string>

namespace plumbline {

struct NightLook {
  double common_shift = 0;  // ln, median of the series' changes
  double deviation = 0;     // median of the series' deviations, in their own spreads
  double spread = 0;        // of the deviations once the shift is taken out; usually about 1
  double limit = 0;         // of the size of `deviation`
  bool moved = false;       // beyond `limit`
  bool suspect = false;     // nothing of tonight is a finding or a baseline: measure it again
  // `common_shift`, where it is beyond `limit`, small, and the same for at least 20 series: tonight
  // is judged without it (GateOptions::common_shift). Else 0.
  double taken_out = 0;
  int series = 0;
  // One sentence, of a night that moved, and of one with too few series to tell.
  std::string why;
};

// `changes`: ln tonight - level, one of each series that has enough nights; `deviations`: the same
// in the spread of the series (Screening::deviation of pool 1). At least 5 series are needed.
NightLook look_at_night(std::span<const double> changes, std::span<const double> deviations);

}  // namespace plumbline
