// Errors for a person to read: short, wrapped, at most one screen.
#pragma once

#include <string>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// Returns at most 20 lines of 80 columns. An error that occurs at several places is printed once,
// with the first of them; errors that do not fit are counted. `width` > 0 breaks lines at this
// width; 0 leaves each error and each remedy on a line of its own.
std::string error_text(const Errors& errors, int width);

// Wraps a help text at `width` columns. A description continues below its first word, a command
// after a backslash.
std::string wrapped_help(const std::string& help, int width);

// Checks of numbers; their messages name the accepted range.
Check from_to(double least, double most);
Check above_zero(const std::string& what);
Check whole_above_zero(const std::string& what);

}  // namespace plumbline::cli
