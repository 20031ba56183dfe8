// Repetitions of figures that are compared within a few percent. The fastest counts, because other
// work on the machine only adds time, and adds more than a few percent.
#pragma once

#include <algorithm>
#include <vector>

namespace plumbline {

inline constexpr int repetitions = 7;
inline double fastest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

}  // namespace plumbline
