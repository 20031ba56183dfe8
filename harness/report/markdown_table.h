// GitHub-flavoured Markdown: tables and fenced blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Escapes &, < and >.
std::string html(std::string_view text);
// Makes text safe for a cell: no bar, no line break, no emphasis.
std::string markdown_cell(std::string_view text);
// Returns a table whose first `text_columns` columns are text and whose others are numbers. It ends
// with a blank line.
std::string markdown_table(const std::vector<std::string>& columns,
                           const std::vector<std::vector<std::string>>& rows,
                           std::size_t text_columns);
// Encloses the text in fences longer than any in it.
std::string markdown_fenced(const std::string& text);

}  // namespace plumbline
