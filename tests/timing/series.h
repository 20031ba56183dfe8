// Nights for tests: a level with a small, known wobble.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/timing/time_gate.h"

namespace plumbline::testing {

// Standard deviation of wobble().
inline constexpr double wobble_size = 0.01;

// Returns roughly normal noise without memory: quantiles of a normal distribution in a fixed order.
inline double wobble(std::size_t night) {
  constexpr double quantiles[]{0.3,  -1.2, 0.9, -0.1, 1.6,  -0.7, 0.5,
                               -1.6, 0.1,  1.2, -0.3, -0.9, 0.7,  -0.5};
  return wobble_size * quantiles[(night * 5) % 14];
}

inline std::vector<GateNight> quiet_nights(std::size_t count, double level = 0) {
  std::vector<GateNight> nights;
  for (std::size_t night = 0; night < count; ++night)
    nights.push_back({level + wobble(night), {}, false});
  return nights;
}

inline std::vector<double> values_of(const std::vector<GateNight>& nights) {
  std::vector<double> values;
  for (const GateNight& night : nights) values.push_back(night.value);
  return values;
}

}  // namespace plumbline::testing
