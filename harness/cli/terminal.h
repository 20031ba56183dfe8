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

// --color, which every command takes. Without it: NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, and
// then whether stdout is a terminal that is not dumb.
struct ColourOption {
  std::string when = "auto";
  void add_to(Command program);
  void use() const;  // from here on
};

// Colour and width of stdout. The width is COLUMNS, the terminal's, or 120.
Style output_style();

// --reference-cost: the multiply-adds beyond which the reference samples rows.
void add_reference_cost(Command command, double& limit);

}  // namespace plumbline::cli
