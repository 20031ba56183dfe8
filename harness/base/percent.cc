// Writes percentages, or factors if a percentage has too many digits.
#include "harness/base/percent.h"

#include <fmt/format.h>

#include <cmath>

namespace plumbline {

std::string percent_of_limit_text(double percent, int decimals) {
  constexpr double most = 9999, max_plain_factor = 999'500;
  if (!(percent > most)) return fmt::format("{:.{}f} %", percent, decimals);
  const double times = percent / 100;
  if (!std::isfinite(times)) return "infx";
  if (times < max_plain_factor) {
    const double unit = std::pow(10.0, std::floor(std::log10(times)) - 2);
    return fmt::format("{:.0f}x", std::round(times / unit) * unit);
  }
  // "1.2e6" instead of 1.2e+06
  const auto exponent = static_cast<int>(std::floor(std::log10(times)));
  const std::string digits = fmt::format("{:.1f}", times / std::pow(10.0, exponent));
  return digits == "10.0" ? fmt::format("1.0e{}x", exponent + 1)
                          : fmt::format("{}e{}x", digits, exponent);
}

}  // namespace plumbline
