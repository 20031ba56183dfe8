// What a run was made with: this program's version, and those on which its verdicts depend.
#pragma once

#include <string>

namespace plumbline {

// "plumbline 0.1.0 (judge 2, reference 8, schema 9)".
std::string version();

}  // namespace plumbline
