// Versions stored with a run: this program's, and those that its verdicts depend on.
#pragma once

#include <string>

namespace plumbline {

// Returns, for example, "plumbline 0.1.0 (judge 2, reference 8, schema 9)".
std::string version();

}  // namespace plumbline
