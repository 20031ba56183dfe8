// Lays out a text table: aligns numbers, breaks text, and drops columns that do not fit.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "harness/base/text.h"
#include "harness/report/format.h"
#include "harness/report/report.h"

namespace plumbline {
namespace {

constexpr std::size_t gap = 2;                // blanks between columns
constexpr std::size_t min_column_width = 12;  // text columns are not made narrower
using Lines = std::vector<std::string>;       // lines of one cell

// Returns true for "62 %", "1800x", "1.276 ms", "-3e-05", "nan" and "", but not for "12-34" and "3
// of 4".
bool is_number(const std::string& cell) {
  if (cell.empty()) return true;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const std::string unit(end, static_cast<std::size_t>(cell.data() + cell.size() - end));
  return error == std::errc() &&
         (unit.empty() || unit == "x" ||
          (unit.size() <= 4 && unit[0] == ' ' && unit.find(' ', 1) == std::string::npos));
}

// Splits a cell into pieces of at most `width` columns: after the last fitting character of
// `breaks`, otherwise inside a word.
Lines broken(const std::string& cell, std::size_t width, std::string_view breaks) {
  Lines lines;
  std::string rest = cell;
  while (display_width(rest) > width) {
    std::size_t end = 0, columns = 0, good_end = 0;
    while (end < rest.size()) {
      std::size_t next = end + 1;
      while (next < rest.size() && (static_cast<unsigned char>(rest[next]) & 0xC0U) == 0x80U)
        ++next;
      if (++columns > width) break;
      end = next;
      if (breaks.find(rest[end - 1]) != std::string_view::npos) good_end = end;
    }
    const std::size_t cut = good_end > 0 ? good_end : end;
    lines.push_back(rest.substr(0, cut));
    while (lines.back().ends_with(' ')) lines.back().pop_back();
    rest.erase(0, cut);
  }
  lines.push_back(rest);
  return lines;
}

class TableText {
 public:
  TableText(const std::vector<std::string>& columns,
            const std::vector<std::vector<std::string>>& rows, const Style& style)
      : columns_(columns), style_(style) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t width = 0;
      bool right = !rows.empty();
      for (const auto& row : rows) {
        width = std::max(width, display_width(row.at(c)));
        right = right && is_number(row.at(c));
      }
      cell_widths_.push_back(width);
      widths_.push_back(std::max(width, display_width(columns[c])));
      right_.push_back(right);
    }
    fit();
    leave_out();
  }

  // Returns the names of columns that did not fit: "mean abs, rms a".
  std::string left_out() const {
    std::string names;
    for (std::size_t c = shown_; c < columns_.size(); ++c)
      names += (names.empty() ? "" : ", ") + columns_[c];
    return names;
  }

  void add_row(const std::vector<std::string>& cells, bool is_header) {
    std::vector<Lines> parts;
    std::size_t height = 1;
    for (std::size_t c = 0; c < shown_; ++c) {
      // headers of queries are column names such as last_good_commit
      parts.push_back(right_[c] && !is_header
                          ? Lines{cells[c]}
                          : broken(cells[c], widths_[c], is_header ? "/ _" : "/ "));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t c = 0; c < shown_; ++c) {
        const std::string cell = line < parts[c].size() ? parts[c][line] : "";
        const std::string blanks(widths_[c] - std::min(widths_[c], display_width(cell)), ' ');
        const std::string shown = is_header ? cell : with_colour(cell, c);
        text += (right_[c] ? blanks + shown : shown + blanks) + std::string(gap, ' ');
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text_ += text + "\n";
    }
  }

  void add_rule() {
    std::string text;
    for (std::size_t c = 0; c < shown_; ++c)
      text += std::string(widths_[c], '-') + std::string(gap, ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + "\n";
  }

  const std::string& text() const { return text_; }

 private:
  std::size_t total() const {
    return std::accumulate(widths_.begin(), widths_.end(), gap * (widths_.size() - 1));
  }

  // Breaks headers of number columns at blanks, then narrows the widest text column, until the
  // table fits or nothing can be narrowed.
  void fit() {
    if (style_.width <= 0 || widths_.empty() || total() <= static_cast<std::size_t>(style_.width))
      return;
    for (std::size_t c = 0; c < widths_.size(); ++c) {
      if (!right_[c]) continue;
      std::size_t longest = 0;
      for (const std::string_view word : split(columns_[c], ' '))
        longest = std::max(longest, display_width(word));
      widths_[c] = std::max(cell_widths_[c], longest);
    }
    std::size_t total = this->total();
    while (total > static_cast<std::size_t>(style_.width)) {
      std::size_t* widest = nullptr;
      for (std::size_t c = 0; c < widths_.size(); ++c) {
        if (!right_[c] && (widest == nullptr || widths_[c] > *widest)) widest = &widths_[c];
      }
      if (widest == nullptr || *widest <= min_column_width) return;
      --*widest;
      --total;
    }
  }

  // Drops columns from the right until the table fits, but keeps at least two. From a width of 120
  // on, as for files and pipes, all columns are kept.
  void leave_out() {
    shown_ = columns_.size();
    if (style_.width <= 0 || style_.width >= 120) return;
    const auto total = [&] {
      return std::accumulate(widths_.begin(), widths_.begin() + static_cast<std::ptrdiff_t>(shown_),
                             gap * (shown_ - 1));
    };
    while (shown_ > 2 && total() > static_cast<std::size_t>(style_.width)) --shown_;
  }

  std::string with_colour(const std::string& cell, std::size_t column) const {
    const auto verdict = columns_[column] == "verdict" ? parse<Verdict>(cell) : std::nullopt;
    return verdict ? coloured(cell, *verdict, style_) : cell;
  }

  const std::vector<std::string>& columns_;
  const Style& style_;
  std::size_t shown_ = 0;                          // number of columns
  std::vector<std::size_t> widths_, cell_widths_;  // per column; cell_widths_ without the header
  std::vector<bool> right_;
  std::string text_;
};

}  // namespace

std::string render_table(const std::vector<std::string>& columns,
                         const std::vector<std::vector<std::string>>& rows, const Style& style) {
  TableText table(columns, rows, style);
  table.add_row(columns, true);
  table.add_rule();
  for (const auto& row : rows) table.add_row(row, false);
  const std::string left_out = table.left_out();
  return left_out.empty() ? table.text() : table.text() + "(no room for: " + left_out + ")\n";
}

}  // namespace plumbline
