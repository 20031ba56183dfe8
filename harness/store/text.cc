// Replaces bytes that the database cannot store, checks ids, and writes times that sort as text.
#include "harness/store/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace plumbline {
namespace {

// Returns the length of the valid UTF-8 sequence at the start of `text`, or 0 (Unicode 15, table
// 3-7). NUL counts as invalid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first >= 0x01 && first <= 0x7F) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    // excludes overlong forms and surrogates
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    // at most U+10FFFF
    const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// Returns the number of bytes before the first invalid one.
std::size_t storable_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

}  // namespace

bool is_storable_text(std::string_view text) { return storable_prefix(text) == text.size(); }

std::string storable_text(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t good = storable_prefix(text);
    out += text.substr(0, good);
    if (good == text.size()) return out;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(good + 1);
  }
}

std::optional<Error> check_id(std::string_view what, std::string_view id) {
  if (id.empty()) return Error{"", 0, fmt::format("{} is empty", what), "give it a name"};
  const std::size_t good = storable_prefix(id);
  if (good == id.size()) return std::nullopt;
  return Error{"", 0,
               fmt::format("{} '{}' is not UTF-8 without NUL: byte {} is 0x{:02x}", what,
                           escaped(id), good, static_cast<unsigned char>(id[good])),
               "rename it; ids are stored as they are, never repaired"};
}

std::string iso_time(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (milliseconds - seconds).count());
}

std::optional<std::string> sortable_time(std::string_view iso) {
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  constexpr std::size_t fraction_digits = 9;
  if (iso.size() <= shape.size() || iso.back() != 'Z') return std::nullopt;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '0' ? !is_digit(iso[i]) : iso[i] != shape[i]) return std::nullopt;
  }
  std::string_view fraction = iso.substr(shape.size(), iso.size() - shape.size() - 1);
  if (!fraction.empty()) {
    if (fraction.front() != '.' || fraction.size() < 2 || fraction.size() > 1 + fraction_digits)
      return std::nullopt;
    fraction.remove_prefix(1);
    if (!std::ranges::all_of(fraction, is_digit)) return std::nullopt;
  }
  return fmt::format("{}.{:0<9}", iso.substr(0, shape.size()), fraction);
}

}  // namespace plumbline
