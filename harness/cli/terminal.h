// Printing for every command: errors, colours, widths.
#pragma once

#include <string>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"
#include "harness/report/report.h"

namespace plumbline::cli {

// Prints errors to stderr, or puts them into the envelope of --format json, and returns the exit
// code.
int report_errors(const Errors& errors, int code);

// --color, which every command accepts. Its default follows NO_COLOR, CLICOLOR_FORCE or
// FORCE_COLOR, and otherwise colours a terminal that is not dumb.
struct ColourOption {
  std::string when = "auto";
  void add_to(Command program);
  void use() const;  // affects all later output
};

// Returns the colour and width of stdout. The width is COLUMNS, the terminal's, or 120.
Style output_style();

// Adds --reference-cost: the multiply-adds beyond which the reference samples rows.
void add_reference_cost(Command command, double& limit);

}  // namespace plumbline::cli
