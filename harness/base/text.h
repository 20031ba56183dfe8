// Strict parsing of small texts, and the "did you mean" of error messages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Parse whole texts as numbers, without leading or trailing characters. Reals must be finite.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_real(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);  // "true" or "false"

// Returns the parts between separators; "" has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
// Returns one text per row of a table, such as its name or key.
template <class Table, class TextOf>
std::vector<std::string_view> texts_of(const Table& table, TextOf text_of) {
  std::vector<std::string_view> texts;
  texts.reserve(table.size());
  for (const auto& row : table) texts.emplace_back(std::invoke(text_of, row));
  return texts;
}
// Returns true for names of groups, suites and diffs: letters, digits, '_' and '-', at least one.
bool is_plain_name(std::string_view text);

// Returns "3, 16 to 31, 40" for ascending integers, with at most eight parts and then "…".
std::string in_ranges(std::span<const std::int64_t> ascending);

// Returns the number of insertions, deletions, replacements and swaps of adjacent characters that
// turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);
// Returns the known word that `word` probably means: the nearest within an edit distance of 2 or a
// third of the length of `word`, whichever is larger.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> known);
// Returns "did you mean X?", or "known are A, B, C" if no word is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

// Returns "did you mean X? ", the beginning of a remedy, or "" if no word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// Returns a variable of the environment, or "" if it is not set.
std::string environment_text(const char* variable);

}  // namespace plumbline
