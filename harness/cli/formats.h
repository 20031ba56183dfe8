// --format: the names of a command's formats, and the functions that write them.
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

inline void add_format(Command command, std::string& format, const std::vector<std::string>& names,
                       const std::string& help = "") {
  command.add_option("--format", format, help).one_of(names).capture_default_str();
}

// Takes the names from a table of Format (harness/report/report.h).
template <class Formats>
void add_format(Command command, std::string& format, const Formats& formats,
                const std::string& help = "") {
  const auto names = texts_of(formats, [](const auto& row) { return row.name; });
  add_format(command, format, {names.begin(), names.end()}, help);
}

// Adapts a renderer that ignores the style.
template <auto render>
constexpr auto unstyled = [](const auto& content, const Style&) { return render(content); };

// Writes the content in the chosen format of the table: text to stdout, JSON into the envelope.
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
