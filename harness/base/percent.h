// Writes a percentage of a limit, in the same form wherever people read it.
#pragma once

#include <string>

namespace plumbline {

// Returns "62 %". From 100 times the limit on, returns a rounded factor, "1800x" or "1.2e6x", to
// keep columns narrow. Also "infx" and "nan %". `decimals` applies to percentages.
std::string percent_of_limit_text(double percent, int decimals = 0);

}  // namespace plumbline
