// Percent of a limit, in the same form wherever a person reads it.
#pragma once

#include <string>

namespace plumbline {

// "62 %"; from 100 times the limit on a factor of three digits, "1800x" or "1.2e6x", so that a
// column stays narrow; "infx" and "nan %". `decimals` of a percentage.
std::string percent_of_limit_text(double percent, int decimals = 0);

}  // namespace plumbline
