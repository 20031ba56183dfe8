// Escapes text that would break Markdown, and writes it as tables and fenced blocks.
#include "harness/report/markdown_table.h"

#include "harness/report/format.h"

namespace plumbline {

std::string html(std::string_view text) {
  return escaped(text, [](char c) {
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "";
  });
}

// A cell may hold neither a bar nor a line break, and `*` would start emphasis.
std::string markdown_cell(std::string_view text) {
  return escaped(html(text), [](char c) {
    return c == '|'    ? "\\|"
           : c == '*'  ? "\\*"
           : c == '_'  ? "\\_"
           : c == '`'  ? "\\`"
           : c == '\n' ? " "
                       : "";
  });
}

namespace {

std::string table_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + markdown_cell(text) + " |";
  return line + "\n";
}

}  // namespace

std::string markdown_table(const std::vector<std::string>& columns,
                           const std::vector<std::vector<std::string>>& rows,
                           std::size_t text_columns) {
  std::string text = table_line(columns) + "|";
  for (std::size_t i = 0; i < columns.size(); ++i) text += i < text_columns ? " --- |" : " ---: |";
  text += "\n";
  for (const auto& row : rows) text += table_line(row);
  return text + "\n";
}

std::string markdown_fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "text\n" + text + fence + "\n";
}

}  // namespace plumbline
