// Strict parsing of small texts, and the "did you mean" of every error message.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Whole-text numbers: no leading or trailing characters. Reals must be finite.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_real(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);  // "true" or "false"

// Parts between separators; "" has one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
// One text of each row of a table: its name, its key.
template <class Table, class TextOf>
std::vector<std::string_view> texts_of(const Table& table, TextOf text_of) {
  std::vector<std::string_view> texts;
  texts.reserve(table.size());
  for (const auto& row : table) texts.emplace_back(std::invoke(text_of, row));
  return texts;
}
// Letters, digits, '_' and '-', at least one: what groups, suites and diffs may be called.
bool is_plain_name(std::string_view text);

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The known word that `word` was probably meant to be: at most a third of its letters (at least 2)
// away.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> known);
// "did you mean X?", or "known are A, B, C" where nothing is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

// "did you mean X? ", the beginning of a remedy; "" where nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// A variable of the environment; "" where it is not set.
std::string environment_text(const char* variable);

}  // namespace plumbline
