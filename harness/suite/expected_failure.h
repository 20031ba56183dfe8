// Cases known to fail: the entries [[expect_failure]] of a suite.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct ExpectedFailure {
  std::string issue;    // its http or https address
  std::string expires;  // "2027-01-31": the entry is void from that day on, UTC
  std::string reason;
  std::string file;  // file and line of the entry; "" if read from a database
  int line = 0;
  bool operator==(const ExpectedFailure&) const = default;
};

// An entry whose groups and problem fields match a case of the suite. covers() decides if it
// applies, once the case's kernel is known.
struct FailureRule {
  ExpectedFailure what;
  std::vector<std::string> kernels;  // globs, one of which must match
  std::vector<std::string> devices;  // empty = any
  bool covers(std::string_view kernel, std::string_view device) const;
};

// Parses a day such as "2027-01-31". Returns nullopt for other texts and for days that do not
// exist.
std::optional<std::chrono::sys_days> parse_date(std::string_view text);

// Returns the days from `today` (a date as above) until the expectation is void, 0 or less if it
// has expired.
int days_left(const ExpectedFailure& expected, std::string_view today);

}  // namespace plumbline
