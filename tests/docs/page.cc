// Splits a documentation page into files and commands, and finds expected lines that their output
// lacks.
#include "tests/docs/page.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace plumbline::test {

namespace {

const std::string anything = "…";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string with_single_blanks(const std::string& line) {
  std::string result;
  for (const char c : line) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

// Returns true if the parts of `pattern` between "…" are in the line in their order.
bool matches(const std::string& pattern, const std::string& line) {
  std::size_t at = 0;
  for (std::size_t begin = 0; begin <= pattern.size();) {
    const std::size_t end = std::min(pattern.find(anything, begin), pattern.size());
    const std::string part = pattern.substr(begin, end - begin);
    const std::size_t found = line.find(part, at);
    if (found == std::string::npos) return false;
    at = found + part.size();
    begin = end + anything.size();
  }
  return true;
}

// Returns the file that a line names: "…: `mine.py`:" or "`mine.py`:"; "" if none.
std::string named_file(const std::string& line) {
  std::smatch match;
  return std::regex_search(line, match, std::regex("`([A-Za-z0-9_.-]+)`:$")) ? match[1].str() : "";
}

void add_commands(PageSection& section, const std::vector<std::string>& block) {
  for (const std::string& line : block) {
    if (line.rfind("$ ", 0) == 0) {
      section.commands.push_back({line.substr(2), {}, 0});
      continue;
    }
    if (section.commands.empty() || line.empty()) continue;
    PageCommand& command = section.commands.back();
    command.expected.push_back(line);
    if (std::smatch match; std::regex_search(line, match, std::regex("exit code ([0-9]+)")))
      command.exit_code = std::stoi(match[1]);
  }
}

}  // namespace

std::vector<PageSection> read_page(const std::string& text) {
  std::vector<PageSection> sections(1);
  std::string file;
  const auto lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.rfind("## ", 0) == 0) sections.push_back({line.substr(3), {}, {}});
    if (line.rfind("```", 0) != 0) {
      if (!line.empty()) file = named_file(line);
      continue;
    }
    std::vector<std::string> block;
    for (++i; i < lines.size() && lines[i] != "```"; ++i) block.push_back(lines[i]);
    if (line == "```console") {
      add_commands(sections.back(), block);
    } else if (!file.empty()) {
      std::string content;
      for (const std::string& l : block) content += l + "\n";
      sections.back().files.push_back({file, content});
    }
    file.clear();
  }
  return sections;
}

std::string missing_line(const std::vector<std::string>& expected, const std::string& output) {
  const auto lines = lines_of(output);
  auto at = lines.begin();
  for (const std::string& line : expected) {
    const std::string pattern = with_single_blanks(line);
    at = std::find_if(at, lines.end(), [&](const std::string& l) {
      return matches(pattern, with_single_blanks(l));
    });
    if (at == lines.end()) return line;
    ++at;
  }
  return "";
}

}  // namespace plumbline::test
