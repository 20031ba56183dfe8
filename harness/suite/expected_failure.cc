// Parses expiry dates, counts the days left, and matches entries with kernels.
#include "harness/suite/expected_failure.h"

#include <algorithm>

#include "harness/base/text.h"
#include "harness/suite/suite.h"

namespace plumbline {
namespace {

// Checks for digits, because parse_unsigned alone would accept "+1".
std::optional<unsigned> digits(std::string_view text, std::size_t count) {
  if (text.size() != count || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return static_cast<unsigned>(*parse_unsigned(text));
}

}  // namespace

bool FailureRule::covers(std::string_view kernel, std::string_view device) const {
  if (!devices.empty() && std::ranges::find(devices, device) == devices.end()) return false;
  return std::ranges::any_of(kernels,
                             [&](const std::string& glob) { return glob_match(glob, kernel); });
}

std::optional<std::chrono::sys_days> parse_date(std::string_view text) {
  const auto parts = split(text, '-');
  if (parts.size() != 3) return std::nullopt;
  const auto year = digits(parts[0], 4), month = digits(parts[1], 2), day = digits(parts[2], 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

int days_left(const ExpectedFailure& expected, std::string_view today) {
  const auto end = parse_date(expected.expires), now = parse_date(today);
  return end && now ? static_cast<int>((*end - *now).count()) : 0;
}

}  // namespace plumbline
