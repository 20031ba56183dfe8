// Maxima that keep a NaN.
#pragma once

#include <cmath>

namespace plumbline {

// Whether `value` takes the place of the maximum `best`. A NaN does, and stays: std::max would drop
// it.
inline bool exceeds(double value, double best) {
  return std::isnan(value) ? !std::isnan(best) : value > best;
}

}  // namespace plumbline
