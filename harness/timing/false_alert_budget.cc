// Finds the number of fresh processes that keeps false alerts within their budget.
#include <array>

#include "harness/timing/time_gate.h"

namespace plumbline {
namespace {

constexpr double max_false_alerts = 0.1;  // per night
constexpr int fewest = 2;
// Confirmed false alerts per series and night with 2, 3, 4 and 5 fresh processes, in the worst
// noise model of plumbline_gate_simulation --fresh N (skewed, 23 November 2026): 118 in 900,000
// nights of series with 2, 15 in 900,000 with 3, 14 in 2,700,000 with 4, 4 in 1,800,000 with 5.
constexpr std::array<double, 4> rates{1.3e-4, 1.7e-5, 5.2e-6, 2.2e-6};

}  // namespace

double expected_false_alerts(std::size_t series, int fresh) {
  const int most = fewest + static_cast<int>(rates.size()) - 1;
  if (fresh < fewest) return static_cast<double>(series);  // unconfirmed: all may alert
  const int index = (fresh < most ? fresh : most) - fewest;
  return rates[static_cast<std::size_t>(index)] * static_cast<double>(series);
}

int fresh_processes(std::size_t series) {
  const int most = fewest + static_cast<int>(rates.size()) - 1;
  for (int fresh = fewest; fresh < most; ++fresh) {
    if (expected_false_alerts(series, fresh) <= max_false_alerts) return fresh;
  }
  return most;
}

}  // namespace plumbline
