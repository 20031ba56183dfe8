// Maxima that keep NaN.
#pragma once

#include <cmath>

namespace plumbline {

// Returns true if `value` replaces the maximum `best`. A NaN does, and stays; std::max would drop
// it.
inline bool exceeds(double value, double best) {
  return std::isnan(value) ? !std::isnan(best) : value > best;
}

}  // namespace plumbline
