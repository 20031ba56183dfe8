// Counts, shortens and wraps errors for a terminal, and checks the numbers of a command line.
#include "harness/cli/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.h"

namespace plumbline::cli {
namespace {

constexpr std::size_t max_lines = 20, columns = 80;
constexpr std::size_t max_sentence_bytes = 420;  // a message or a remedy: about six lines
constexpr std::size_t max_message_lines = 8;     // for text with line breaks, such as a traceback

// An error, how often it occurs, and the other files in which it occurs.
struct Counted {
  const Error* error;
  std::size_t places = 1;
  std::vector<std::string> other_files = {};  // without duplicates
};

std::vector<Counted> counted(const Errors& errors) {
  std::vector<Counted> list;
  for (const Error& error : errors) {
    const auto same = std::ranges::find_if(list, [&](const Counted& c) {
      return c.error->message == error.message && c.error->remedy == error.remedy;
    });
    if (same == list.end()) {
      list.push_back({&error});
    } else {
      ++same->places;
      const bool is_known =
          error.file == same->error->file ||
          std::ranges::find(same->other_files, error.file) != same->other_files.end();
      if (!is_known) same->other_files.push_back(error.file);
    }
  }
  return list;
}

// Returns the text, without its middle if it is too long.
std::string shortened(const std::string& text) {
  std::vector<std::string_view> lines = split(text, '\n');
  std::string kept;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines.size() > max_message_lines && i == 2) {
      kept += fmt::format("\n  … ({} lines omitted)", lines.size() - max_message_lines);
      i = lines.size() - (max_message_lines - 2);
    }
    if (i > 0) kept += "\n";
    kept += lines[i];
  }
  if (kept.size() <= max_sentence_bytes) return kept;
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(kept[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = max_sentence_bytes * 2 / 3, tail = kept.size() - max_sentence_bytes / 3;
  while (is_inside(head)) --head;
  while (tail < kept.size() && is_inside(tail)) ++tail;
  return kept.substr(0, head) + " … " + kept.substr(tail);
}

// Returns the width of a text in columns: the number of bytes that begin a UTF-8 character.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Wraps a line at blanks; a word that is too long breaks anywhere. If there is a `mark`, it ends
// each broken line, and long words stay whole.
std::string wrapped(std::string_view line, std::size_t width, const std::string& indent,
                    std::string_view mark = "") {
  std::string text;
  std::size_t room = width;
  while (width_of(line) > room) {
    std::size_t end = 0, good = 0, seen = 0;
    for (; end < line.size() && seen < room - mark.size(); ++seen) {
      do {
        ++end;
      } while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U);
      if (line[end - 1] == ' ') good = end;
    }
    if (good == 0 || line.substr(0, good).find_first_not_of(' ') == std::string_view::npos) {
      if (!mark.empty()) break;  // a command breaks only between words
      good = end;
    }
    std::string_view part = line.substr(0, good);
    while (part.ends_with(' ')) part.remove_suffix(1);
    text += std::string(part) + std::string(mark) + "\n" + indent;
    line.remove_prefix(good);
    room = width - indent.size();
  }
  return text + std::string(line);
}

std::string wrapped_lines(const std::string& text, int width) {
  if (width <= 0) return text;
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    result += (result.empty() ? "" : "\n") +
              wrapped(line, static_cast<std::size_t>(width), std::string(blanks + 2, ' '));
  }
  return result;
}

// Returns the number of lines of a text on a terminal of 80 columns.
std::size_t height(const std::string& text) {
  std::size_t lines = 0;
  for (const std::string_view line : split(text, '\n'))
    lines += std::max<std::size_t>(1, (width_of(line) + columns - 1) / columns);
  return lines;
}

std::string text_of(const Counted& counted, bool with_remedy) {
  Error error = *counted.error;
  error.message = shortened(error.message);
  error.remedy = with_remedy ? shortened(error.remedy) : "";
  constexpr std::size_t max_named_files = 3;
  const std::size_t others = counted.places - 1;
  if (others > 0 && others <= max_named_files && counted.other_files.size() == others) {
    error.message += fmt::format(" (also {})", fmt::join(counted.other_files, ", "));
  } else if (others > 0) {
    error.message += fmt::format(" (and at {} more place{})", others, others == 1 ? "" : "s");
  }
  return error.to_string();
}

}  // namespace

std::string error_text(const Errors& errors, int width) {
  const std::vector<Counted> list = counted(errors);
  std::string text;
  std::size_t lines = 0, said = 0;
  for (; said < list.size(); ++said) {
    // A remedy that consecutive errors share is printed once, after the last of these errors.
    const bool shared =
        said + 1 < list.size() && list[said].error->remedy == list[said + 1].error->remedy;
    const std::string next = wrapped_lines(text_of(list[said], !shared), width);
    const std::size_t left = list.size() - said - 1;
    if (said > 0 && lines + height(next) + (left > 0 ? 1 : 0) > max_lines) break;
    text += (said > 0 ? "\n" : "") + next;
    lines += height(next);
  }
  if (said < list.size())
    text += fmt::format("\n… and {} more errors: correct these first", list.size() - said);
  return text;
}

std::string wrapped_help(const std::string& help, int width) {
  std::string result;
  for (const std::string_view line : split(help, '\n')) {
    if (!result.empty()) result += "\n";
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const bool is_example = line.substr(blanks).starts_with("plumbline ") && blanks > 0;
    // "  --option TEXT     what it is": the description begins after the first gap of two blanks.
    std::size_t indent = blanks + (is_example ? 4 : 0);
    if (!is_example && line.substr(blanks).find("  ") != std::string_view::npos) {
      const std::size_t gap = line.find("  ", blanks);
      indent = line.find_first_not_of(' ', gap);
    }
    const auto limit = static_cast<std::size_t>(width);
    result += wrapped(line, limit, std::string(std::min(indent, limit / 2), ' '),
                      is_example ? " \\" : "");
  }
  return result;
}

namespace {

Check number(const std::string& range, const std::function<bool(double)>& accepts) {
  return [range, accepts](const std::string& text) {
    const auto value = parse_real(text);
    if (value && accepts(*value)) return std::string();
    return fmt::format("{} is not {}", text.size() > 30 ? text.substr(0, 30) + "…" : text, range);
  };
}

}  // namespace

Check from_to(double least, double most) {
  return number(fmt::format("a number from {:g} to {:g}", least, most),
                [=](double value) { return value >= least && value <= most; });
}

Check above_zero(const std::string& what) {
  return number(fmt::format("{} above 0", what),
                [](double value) { return value > 0 && value <= 1e9; });
}

Check whole_above_zero(const std::string& what) {
  return number(fmt::format("{} of 1 or more", what), [](double value) {
    return value >= 1 && value <= 1e9 && value == std::floor(value);
  });
}

}  // namespace plumbline::cli
