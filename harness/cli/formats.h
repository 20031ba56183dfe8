// --format: the names that a command takes, and what writes each.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/base/text.h"
#include "harness/cli/command_line.h"
#include "harness/cli/envelope.h"
#include "harness/cli/terminal.h"

namespace plumbline::cli {

// Adds --format to a command.
inline void add_format(Command command, std::string& format, const std::vector<std::string>& names,
                       const std::string& help = "") {
  command.add_option("--format", format, help).one_of(names).capture_default_str();
}

// The names of a table of Format (harness/report/report.h).
template <class Formats>
void add_format(Command command, std::string& format, const Formats& formats,
                const std::string& help = "") {
  const auto names = texts_of(formats, [](const auto& row) { return row.name; });
  add_format(command, format, {names.begin(), names.end()}, help);
}

// Writes a text that no style changes.
template <auto render>
constexpr auto unstyled = [](const auto& content, const Style&) { return render(content); };

// Writes to stdout what the table has under the chosen name.
template <class Formats, class Content>
void write_as(const Formats& formats, const std::string& chosen, const Content& content,
              bool verbose = false) {
  const auto row =
      std::ranges::find_if(formats, [&](const auto& format) { return format.name == chosen; });
  if (row->json != nullptr) return print_json(row->json(content));
  Style style = output_style();
  style.verbose = verbose;
  fmt::print("{}", row->text(content, style));
}

}  // namespace plumbline::cli
