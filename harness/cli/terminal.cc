// Prints errors, and chooses colours and widths.
#include "harness/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "harness/base/text.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"

namespace plumbline::cli {
namespace {

// The value of --color.
std::string& colour_wanted() {
  static std::string of_this_process = "auto";
  return of_this_process;
}

// Returns the columns of the terminal at `descriptor`; 0 if it is not a terminal.
int terminal_width(int descriptor) {
  winsize size{};
  return ::isatty(descriptor) != 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Returns the exported COLUMNS; 0 if it is not a width.
int stated_width() {
  const auto columns = parse_integer(environment_text("COLUMNS"));
  return columns && *columns > 0 && *columns <= 10'000 ? static_cast<int>(*columns) : 0;
}

// Returns true if the reader's terminal can probably show block elements.
bool is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = environment_text(name);
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos ||
           ::isatty(STDOUT_FILENO) != 0;
  }
  return ::isatty(STDOUT_FILENO) != 0;
}

bool is_coloured(bool terminal) {
  if (colour_wanted() != "auto") return colour_wanted() == "always";
  if (!environment_text("NO_COLOR").empty()) return false;  // no-color.org: any value counts
  for (const char* force : {"CLICOLOR_FORCE", "FORCE_COLOR"}) {
    const std::string value = environment_text(force);
    if (!value.empty() && value != "0") return true;
  }
  return terminal && environment_text("TERM") != "dumb";
}

}  // namespace

int report_errors(const Errors& errors, int code) {
  envelope().add(errors);
  if (!envelope().is_requested())
    fmt::print(stderr, "{}\n", error_text(errors, terminal_width(STDERR_FILENO)));
  return code;
}

void ColourOption::add_to(Command program) {
  program
      .add_option("--color", when,
                  "Colours: auto follows NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR, otherwise "
                  "colours terminals")
      .one_of({"auto", "always", "never"})
      .capture_default_str();
}

void ColourOption::use() const { colour_wanted() = when; }

Style output_style() {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  Style style{is_coloured(terminal), 120, is_unicode()};
  const int stated = stated_width(), width = stated > 0 ? stated : terminal_width(STDOUT_FILENO);
  style.piped = width <= 0;
  if (!style.piped) style.width = width;
  return style;
}

void add_reference_cost(Command command, double& limit) {
  command
      .add_option("--reference-cost", limit,
                  "Multiply-adds beyond which the reference samples rows")
      .capture_default_str()
      .check(from_to(1, 1e18));
}

}  // namespace plumbline::cli
