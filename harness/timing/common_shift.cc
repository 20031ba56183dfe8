// Decides if all series of a night moved together.
#include "harness/timing/common_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/base/median.h"

namespace plumbline {
namespace {

constexpr int min_series_of_shift = 5;
// In spreads of a series. A smaller common shift hardly adds false alerts.
constexpr double min_common_shift = 1.0;
// beyond_chance is in standard deviations of the median of n independent series, which are
// sd_of_median / sqrt(n), with sd_of_median = sqrt(pi / 2). The third constant is a normal
// distribution's standard deviation over its median absolute deviation.
constexpr double beyond_chance = 4.0, sd_of_median = 1.2533, sd_of_median_deviation = 1.4826;

// Subtracting the median of 20 series adds 4 % to the noise of each.
constexpr int min_even_series = 20;
// ln. A neighbour on the same host shifts times by less (evidence/nights.md).
constexpr double max_common_shift = 0.02;
// In spreads of a series. If the series differ by more, they did not move alike.
constexpr double max_even_spread = 1.5;

// Returns the spread of (change - shift) / (spread of the series). The spread of a series is
// change / deviation.
double spread_without(double shift, std::span<const double> changes,
                      std::span<const double> deviations) {
  std::vector<double> rest;
  for (std::size_t i = 0; i < std::min(changes.size(), deviations.size()); ++i) {
    if (changes[i] != 0)
      rest.push_back(std::abs((changes[i] - shift) * deviations[i] / changes[i]));
  }
  return rest.empty() ? 0 : sd_of_median_deviation * median(std::move(rest));
}

}  // namespace

NightLook assess_night(std::span<const double> changes, std::span<const double> deviations) {
  NightLook look;
  look.series = static_cast<int>(std::min(changes.size(), deviations.size()));
  if (look.series < min_series_of_shift) {
    look.why = fmt::format("only {} of the {} series needed to tell if the machine changed",
                           look.series, min_series_of_shift);
    return look;
  }
  look.common_shift = median({changes.begin(), changes.end()});
  look.deviation = median({deviations.begin(), deviations.end()});
  look.spread = spread_without(look.common_shift, changes, deviations);
  look.limit = std::max(min_common_shift, beyond_chance * sd_of_median / std::sqrt(look.series));
  look.moved = std::abs(look.deviation) > look.limit;
  const bool alike = look.series >= min_even_series &&
                     std::abs(look.common_shift) <= max_common_shift &&
                     look.spread <= max_even_spread;
  look.suspect = look.moved && !alike;
  look.subtracted_shift = look.moved && alike ? look.common_shift : 0;
  if (look.moved) {
    look.why = fmt::format(
        "the median of {} series is {:.1f} % {} than usual, {:.1f} of its spreads (limit {:.1f}): "
        "the machine changed, not its kernels{}",
        look.series, 100 * std::abs(std::expm1(look.common_shift)),
        look.common_shift > 0 ? "slower" : "faster", std::abs(look.deviation), look.limit,
        look.suspect ? "" : "; this small common shift is subtracted from each");
  }
  return look;
}

}  // namespace plumbline
