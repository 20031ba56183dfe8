// The reasons why the Python providers of this folder cannot be served on this machine.
#pragma once

#include <string>

namespace plumbline::test {

// Returns true if `error` names a missing interpreter, or a missing library that all these
// providers need. These are the only reasons to skip.
inline bool is_python_missing(const std::string& error) {
  for (const char* absent :
       {"no usable numpy", "no Python interpreter", "No module named 'ml_dtypes'"}) {
    if (error.find(absent) != std::string::npos) return true;
  }
  return false;
}

}  // namespace plumbline::test
