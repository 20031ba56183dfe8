// GitHub-flavoured Markdown: tables and fences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Text with &, < and > escaped.
std::string html(std::string_view text);
// Text for a cell: no bar, no line break, no emphasis.
std::string markdown_cell(std::string_view text);
// `text_columns` columns of text on the left, numbers behind them. Ends with a blank line.
std::string markdown_table(const std::vector<std::string>& columns,
                           const std::vector<std::vector<std::string>>& rows,
                           std::size_t text_columns);
// Between fences longer than any in the text.
std::string markdown_fenced(const std::string& text);

}  // namespace plumbline
