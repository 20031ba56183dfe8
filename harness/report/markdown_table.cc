// Escapes text and writes it as Markdown tables and fenced blocks.
#include "harness/report/markdown_table.h"

#include "harness/report/format.h"

namespace plumbline {

std::string html(std::string_view text) {
  return escaped(text, [](char c) {
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "";
  });
}

// A bar or line break would end the cell, and `*` would start emphasis.
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
