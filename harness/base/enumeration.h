// Enumerations with values and names that follow from the definition.
//
// For an enum class whose values count from 0 without a gap:
//   name(Law::peaky)      "peaky"; "unknown" for a value without an enumerator, which a
//                         third-party provider may pass. Ends with a NUL.
//   parse<Law>("peaky")   Law::peaky; nullopt for any other text
//   all<Law>()            every value, in order
// If the names differ from the enumerators, they are listed next to the enumeration's definition:
//   template <>
//   inline constexpr std::array<std::string_view, 3> names_of<Answer>{"ROUNDING", "BUG", …};
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace plumbline {

namespace enumeration {

constexpr std::string_view last_word(std::string_view text) {
  const auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  while (!in_word(text.back())) text.remove_suffix(1);
  std::size_t begin = text.size();
  while (in_word(text[begin - 1])) --begin;
  return text.substr(begin);
}

// Compilers show an enumerator's name only in the signature of a function instantiated with it: "…
// [with auto value = plumbline::Law::peaky]". A value without an enumerator gives
// "… plumbline::Law(12)]" or "(plumbline::Law)12]".
template <auto value>
constexpr auto spelling() {
  constexpr std::string_view word = last_word(__PRETTY_FUNCTION__);
  std::array<char, word.size() + 1> text{};
  for (std::size_t i = 0; i < word.size(); ++i) text[i] = word[i];
  return text;
}
template <auto value>
inline constexpr auto word = spelling<value>();

template <class Enum, std::size_t from = 0>
constexpr std::size_t count() {
  constexpr char first = spelling<static_cast<Enum>(from)>()[0];
  if constexpr (first >= '0' && first <= '9') {
    return from;
  } else {
    return count<Enum, from + 1>();
  }
}

template <class Enum, std::size_t... i>
constexpr std::array<std::string_view, sizeof...(i)> words(std::index_sequence<i...>) {
  return {std::string_view(word<static_cast<Enum>(i)>.data())...};
}

}  // namespace enumeration

template <class Enum>
inline constexpr auto names_of =
    enumeration::words<Enum>(std::make_index_sequence<enumeration::count<Enum>()>());

template <class Enum>
constexpr auto all() {
  std::array<Enum, names_of<Enum>.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Enum>(i);
  return values;
}

template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view name(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < names_of<Enum>.size() ? names_of<Enum>[index] : "unknown";
}

template <class Enum>
constexpr std::optional<Enum> parse(std::string_view text) {
  for (const Enum value : all<Enum>()) {
    if (name(value) == text) return value;
  }
  return std::nullopt;
}

}  // namespace plumbline
