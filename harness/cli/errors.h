// What a person reads of errors: short, wrapped, at most one screen.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/base/error.h"

namespace plumbline::cli {

// At most 20 lines of 80 columns. An error that occurs at several places is said once, with the
// first of them; errors that do not fit are counted. `width` > 0 breaks lines there (a terminal's
// width); 0 leaves each error and each remedy on a line of its own.
std::string error_text(const Errors& errors, int width);

// What is wrong with the words of a command line that CLI11 refused, and what they were probably
// meant to be.
Errors usage_errors(const CLI::App& app, const CLI::ParseError& error);

// A help text with no line beyond `width` columns: what is broken goes on under the description, or
// under a command behind a backslash.
std::string wrapped_help(const std::string& help, int width);

// Validators whose messages say the range in the spelling of a person.
CLI::Validator from_to(double least, double most);
CLI::Validator above_zero(const std::string& what);
CLI::Validator whole_above_zero(const std::string& what);

}  // namespace plumbline::cli
