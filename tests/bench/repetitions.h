// Of what is compared within a few percent, the fastest of a few repetitions counts: other work on
// the machine only ever adds time, and more than that.
#pragma once

#include <algorithm>
#include <vector>

namespace plumbline {

inline constexpr int repetitions = 7;
inline double fastest(const std::vector<double>& times) {
  return *std::min_element(times.begin(), times.end());
}

}  // namespace plumbline
