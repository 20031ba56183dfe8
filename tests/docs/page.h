// A documentation page that is executed: its files, its commands and their output. A fenced block
// is the file that the text before it names last in backquotes, at the end of a line: "`mine.py`:".
// In a ```console block, a line "$ command" is run. Its output must have the lines after it, in
// that order; "…" within a line matches any text, and runs of white space count as one blank.
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
  int exit_code = 0;                  // from an expected line: "exit code 1"
};

// The content under one heading of level 2, in the page's order.
struct PageSection {
  std::string heading;
  std::vector<PageFile> files;
  std::vector<PageCommand> commands;
};

std::vector<PageSection> read_page(const std::string& text);

// Returns the first expected line that is not in the output after the lines before it; "" if all
// are.
std::string missing_line(const std::vector<std::string>& expected, const std::string& output);

}  // namespace plumbline::test
