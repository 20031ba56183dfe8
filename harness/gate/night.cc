// Whether all series of a night moved together.
#include "harness/gate/night.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/base/median.h"

namespace plumbline {
namespace {

constexpr int least_series = 5;
// In spreads of a series: a common shift below it lets hardly more through than none.
constexpr double least_shift = 1.0;
// Standard deviations of the median of independent series, of which one is sqrt(pi / 2).
constexpr double beyond_chance = 4.0, sd_of_median = 1.2533, sd_of_mad = 1.4826;

}  // namespace

NightLook look_at_night(std::span<const double> changes, std::span<const double> deviations) {
  NightLook look;
  look.series = static_cast<int>(std::min(changes.size(), deviations.size()));
  if (look.series < least_series) {
    look.why = fmt::format("{} of {} series: too few to tell whether the machine changed",
                           look.series, least_series);
    return look;
  }
  look.common_shift = median({changes.begin(), changes.end()});
  look.deviation = median({deviations.begin(), deviations.end()});
  std::vector<double> about;
  about.reserve(deviations.size());
  for (const double deviation : deviations) about.push_back(std::abs(deviation - look.deviation));
  look.spread = sd_of_mad * median(std::move(about));
  look.limit = std::max(least_shift, beyond_chance * sd_of_median / std::sqrt(look.series));
  look.suspect = std::abs(look.deviation) > look.limit;
  if (look.suspect) {
    look.why = fmt::format(
        "the median of {} series is {:.1f} % {} than usual, {:.1f} of its spreads (limit {:.1f}): "
        "the machine changed, not its kernels",
        look.series, 100 * std::abs(std::expm1(look.common_shift)),
        look.common_shift > 0 ? "slower" : "faster", std::abs(look.deviation), look.limit);
  }
  return look;
}

}  // namespace plumbline
