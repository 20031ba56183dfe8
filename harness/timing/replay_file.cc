// Reads a series from a CSV file.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "harness/timing/replay.h"

namespace plumbline {
namespace {

constexpr const char* remedy =
    "write a header and one point a line, as in \"point,value\" and \"0,26705\"; the column "
    "\"value\" is read, otherwise the last one with numbers";

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\"");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\"") - begin + 1);
}

// Commas in quotes do not separate entries.
std::vector<std::string> entries_of(const std::string& line) {
  std::vector<std::string> entries(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      entries.emplace_back();
    else
      entries.back() += c;
  }
  for (std::string& entry : entries) entry = trimmed(entry);
  return entries;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return value;
}

// Returns the index of the column to read: "value", otherwise the last number of the first point.
std::optional<std::size_t> column_of(const std::vector<std::string>& names,
                                     const std::vector<std::string>& first) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "value") return i;
  }
  for (std::size_t i = std::min(names.size(), first.size()); i > 0; --i) {
    if (number_of(first[i - 1])) return i - 1;
  }
  return std::nullopt;
}

}  // namespace

Result<ReplaySeries> read_series(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    return fail(Error{file, 0, in.is_open() ? "cannot be read" : "cannot be opened", remedy});
  }
  std::istringstream lines(text.str());
  ReplaySeries series;
  Errors errors;
  std::vector<std::string> names;
  std::optional<std::size_t> column;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (trimmed(line).empty()) continue;
    const auto entries = entries_of(line);
    if (names.empty()) {
      names = entries;
      if (number_of(names.back()))
        return fail(Error{file, number, "the first line is a point, not a header", remedy});
      continue;
    }
    if (!column) {
      column = column_of(names, entries);
      if (!column) return fail(Error{file, number, "no column has a number", remedy});
      series.column = names[*column];
    }
    if (*column >= entries.size()) {
      errors.push_back({file, number,
                        fmt::format("{} entries, but \"{}\" is in column {}", entries.size(),
                                    series.column, *column + 1),
                        remedy});
      continue;
    }
    const auto value = number_of(entries[*column]);
    if (value && *value > 0 && std::isfinite(*value)) {
      series.values.push_back(*value);
    } else {
      errors.push_back({file, number,
                        fmt::format("\"{}\" in column \"{}\" is not a number above 0",
                                    entries[*column], series.column),
                        "times and throughputs are above 0; omit points without a value"});
    }
  }
  if (!errors.empty()) return tl::unexpected(errors);
  if (series.values.empty()) return fail(Error{file, number, "the file has no points", remedy});
  return series;
}

}  // namespace plumbline
