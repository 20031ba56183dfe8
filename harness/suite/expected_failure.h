// Cases known to fail: what an entry [[expect_failure]] of a suite says of them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct ExpectedFailure {
  std::string issue;    // its http or https address
  std::string expires;  // "2027-01-31": from that day on, UTC, the entry is void
  std::string reason;
  std::string file;  // where it stands; "" where it is read back from a database
  int line = 0;
  bool operator==(const ExpectedFailure&) const = default;
};

// An entry as the cases of its suite carry it until kernels are known. The groups and the problem
// are those of the case already.
struct FailureRule {
  ExpectedFailure what;
  std::vector<std::string> kernels;  // globs; any may match
  std::vector<std::string> devices;  // empty = any
  bool covers(std::string_view kernel, std::string_view device) const;
};

// A day as "2027-01-31"; nullopt for any other text and for days that no calendar has.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

// Days from `today` (a date as above) until the expectation is void: 0 and less where it has
// expired.
int days_left(const ExpectedFailure& expected, std::string_view today);

}  // namespace plumbline
