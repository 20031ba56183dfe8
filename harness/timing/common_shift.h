// Compares a night with earlier ones as a whole: if all series move together, the machine changed.
#pragma once

#include <span>
#include <string>

namespace plumbline {

struct NightLook {
  double common_shift = 0;  // ln, median of the series' changes
  double deviation = 0;     // median of the series' deviations
  double spread = 0;        // spread of (change - common_shift) / (spread of the series); about 1
  double limit = 0;         // limit of |deviation|
  bool moved = false;       // |deviation| > limit
  bool suspect = false;     // tonight's times are excluded: measure the night again
  // `common_shift` if the night moved, and the shift is small and alike in at least 20 series;
  // otherwise 0. Tonight is judged without it (GateOptions::common_shift).
  double subtracted_shift = 0;
  int series = 0;
  // One sentence, if the night moved or has too few series to tell.
  std::string why;
};

// `changes` and `deviations`: Screening::change_tonight and deviation_tonight of each series with
// enough nights. At least 5 series are needed.
NightLook assess_night(std::span<const double> changes, std::span<const double> deviations);

}  // namespace plumbline
