// A documentation page that is executed: its files, its commands and their output. A fenced block
// is the file that the text before it names last in backquotes, at the end of a line: "`mine.py`:".
// In a ```console block a line "$ command" is run, and the lines behind it must stand in its output
// in that order; "…" within a line stands for anything, and white space counts as one blank.
#pragma once

#include <string>
#include <vector>

namespace plumbline::test {

struct PageFile {
  std::string name;
  std::string text;
};

struct PageCommand {
  std::string command;
  std::vector<std::string> expected;  // lines of its output
  int exit_code = 0;                  // as an expected line says: "exit code 1"
};

// What stands under one heading of level 2, in the page's order.
struct PageSection {
  std::string heading;
  std::vector<PageFile> files;
  std::vector<PageCommand> commands;
};

std::vector<PageSection> read_page(const std::string& text);

// The first of the expected lines that is not in the output behind those before it; "" if all are.
std::string missing_line(const std::vector<std::string>& expected, const std::string& output);

}  // namespace plumbline::test
