// What a person reads of errors: short, wrapped, at most one screen.
#pragma once

#include <string>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// At most 20 lines of 80 columns. An error that occurs at several places is said once, with the
// first of them; errors that do not fit are counted. `width` > 0 breaks lines there (a terminal's
// width); 0 leaves each error and each remedy on a line of its own.
std::string error_text(const Errors& errors, int width);

// A help text with no line beyond `width` columns: what is broken goes on under the description, or
// under a command behind a backslash.
std::string wrapped_help(const std::string& help, int width);

// Checks whose messages say the range in the spelling of a person.
Check from_to(double least, double most);
Check above_zero(const std::string& what);
Check whole_above_zero(const std::string& what);

}  // namespace plumbline::cli
