// Lays out a report: verdict and cause, what was judged, the details that fit, and a command.
#include "harness/report/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/json.h"
#include "harness/report/format.h"

namespace plumbline {
namespace {

constexpr std::size_t detail_label_width = 10;
constexpr std::size_t max_cause_lines = 4, max_judged_lines = 3;
constexpr std::size_t width_of_a_pipe = 100;
constexpr std::string_view ellipsis = "…";

using Lines = std::vector<std::string>;

// Returns how many bytes of `text` fit in `columns`; never splits a code point.
std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80U) ++next;
    if (columns-- == 0) break;
    end = next;
  }
  return end;
}

// Returns where to break `text` after at most `columns`: at a blank, otherwise after a '/' in the
// last two thirds of these columns, otherwise after all of them.
std::size_t break_at(std::string_view text, std::size_t columns) {
  const std::size_t most = std::max<std::size_t>(1, bytes_within(text, columns));
  if (most < text.size() && text[most] == ' ') return most;
  const std::size_t blank = text.rfind(' ', most - 1);
  if (blank != std::string_view::npos && blank > 0) return blank;
  const std::size_t slash = text.rfind('/', most - 1);
  if (slash != std::string_view::npos && slash > most / 3) return slash + 1;
  return most;
}

// Returns lines of at most `width` columns (0 = unlimited); the first line is `first` columns
// shorter. Keeps line breaks and the indentation after them.
Lines broken_lines(std::string_view text, std::size_t width, std::size_t first = 0) {
  Lines lines;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (true) {
      const std::size_t taken = lines.empty() ? first : 0;
      const std::size_t room = width > taken + 8 ? width - taken : 8;
      if (width == 0 || display_width(line) <= room) break;
      const std::size_t cut = break_at(line, room);
      lines.emplace_back(line.substr(0, cut));
      while (lines.back().ends_with(' ')) lines.back().pop_back();
      line.remove_prefix(cut);
      while (line.starts_with(' ')) line.remove_prefix(1);
    }
    lines.emplace_back(line);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Keeps the first `most` lines and marks that others were removed.
void shorten(Lines& lines, std::size_t most, std::size_t width) {
  if (lines.size() <= most) return;
  lines.resize(most);
  std::string& last = lines.back();
  if (width > 10 && display_width(last) + 2 > width) last.resize(break_at(last, width - 2));
  while (last.ends_with(' ') || last.ends_with(',') || last.ends_with(';')) last.pop_back();
  last += fmt::format(" {}", ellipsis);
}

// Splits a command at blanks outside quotes.
std::vector<std::string_view> shell_words(std::string_view command) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= command.size(); ++i) {
    const char c = i < command.size() ? command[i] : ' ';
    if (i == command.size() || (quote == 0 && c == ' ')) {
      if (i > begin) words.push_back(command.substr(begin, i - begin));
      begin = i + 1;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\') {
      ++i;
    }
  }
  return words;
}

// Splits a word that is too long for a line. A shell joins the pieces again: each but the last ends
// with a backslash outside quotes, and the next piece is not indented.
Lines pieces_of_word(std::string_view word, std::size_t first, std::size_t width) {
  Lines pieces(1);
  std::size_t room = std::max<std::size_t>(8, width - first);
  bool quoted = false;
  for (std::size_t i = 0; i < word.size();) {
    // One character: all its bytes, or a backslash and the character after it.
    std::size_t next = i + (word[i] == '\\' && !quoted ? 2 : 1);
    while (next < word.size() && (static_cast<unsigned char>(word[next]) & 0xC0U) == 0x80U) ++next;
    next = std::min(next, word.size());
    const std::string_view part = word.substr(i, next - i);
    if (display_width(pieces.back()) + display_width(part) + 2 > room) {
      pieces.back() += quoted ? "'\\" : "\\";
      pieces.emplace_back(quoted ? "'" : "");
      room = width;
    }
    pieces.back() += part;
    if (part == "'") quoted = !quoted;
    i = next;
  }
  return pieces;
}

// Returns "label: command". If it exceeds `width` (0 = unlimited), it is broken so that a shell
// still accepts it.
Lines command_lines(const std::string& label, const std::string& command, std::size_t width) {
  const std::string whole = label + ": " + command;
  if (width == 0 || display_width(whole) <= width) return {whole};
  Lines lines{label + ":"};
  constexpr std::size_t indent = 4;
  const std::vector<std::string_view> words = shell_words(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word(words[i]);
    // Keep an option and its value on one line.
    if (word.starts_with("--") && i + 1 < words.size() &&
        indent + display_width(word) + 1 + display_width(words[i + 1]) + 2 <= width)
      word += fmt::format(" {}", words[++i]);
    std::string& line = lines.back();
    if (display_width(line) + 1 + display_width(word) + 2 <= width) {
      line += fmt::format(" {}", word);
      continue;
    }
    line += " \\";
    const std::string blanks(indent, ' ');
    if (indent + display_width(word) + 2 <= width) {
      lines.push_back(blanks + word);
      continue;
    }
    Lines pieces = pieces_of_word(word, indent, width);
    pieces.front() = blanks + pieces.front();
    lines.insert(lines.end(), pieces.begin(), pieces.end());
  }
  return lines;
}

struct LaidOut {
  std::string_view label;
  // One paragraph, which loses lines from its end, or a list, which loses paragraphs from its end.
  std::vector<Lines> items;
  int weight = 0;

  std::size_t size() const {
    std::size_t lines = 0;
    for (const Lines& item : items) lines += item.size();
    return lines;
  }
};

LaidOut laid_out(const Detail& detail, std::size_t width) {
  LaidOut result{detail.label, {}, detail.weight};
  const std::size_t indent = 2 + detail_label_width;
  for (const std::string& text : detail.lines)
    result.items.push_back(
        broken_lines(text, width == 0 ? 0 : width - std::min(indent, width - 8)));
  return result;
}

std::size_t count_lines(const std::vector<LaidOut>& details) {
  std::size_t lines = 0;
  for (const LaidOut& detail : details) lines += detail.size();
  return lines;
}

// Returns the cost of removing the end of a detail. Removing its only line costs more.
int cost(const LaidOut& detail) {
  constexpr int of_the_whole = 4;
  return detail.weight + (detail.size() < 2 ? of_the_whole : 0);
}

// Removes lines of the details, cheapest first, until at most `most` are left.
void fit(std::vector<LaidOut>& details, std::size_t most, std::size_t width) {
  const std::size_t indent = 2 + detail_label_width;
  const std::size_t room = width > indent ? width - indent : 0;
  while (count_lines(details) > most) {
    const auto least =
        std::min_element(details.begin(), details.end(),
                         [](const LaidOut& a, const LaidOut& b) { return cost(a) < cost(b); });
    if (least == details.end()) return;
    if (least->size() < 2) {
      details.erase(least);
    } else if (least->items.size() > 1) {
      least->items.pop_back();
    } else {
      shorten(least->items.front(), least->items.front().size() - 1, room);
    }
  }
}

void add_detail(std::string& text, const LaidOut& detail) {
  std::string_view label = detail.label;
  for (const Lines& item : detail.items) {
    for (const std::string& line : item) {
      text += fmt::format("  {:<{}}{}\n", label, detail_label_width, line);
      label = "";
    }
  }
}

}  // namespace

std::string render(const OutputReport& report, const Style& style, std::size_t taken) {
  const std::size_t width = style.width <= 0 ? 0
                            : style.piped    ? width_of_a_pipe
                                             : static_cast<std::size_t>(style.width);
  const std::size_t hanging = report.verdict.size() + 2;
  Lines cause =
      broken_lines(report.cause, width == 0 ? 0 : width - std::min(hanging, width - 8), taken);
  Lines judged = broken_lines(report.subject + ": " + report.judged, width == 0 ? 0 : width - 2);
  Lines command;
  if (!report.command.empty())
    command = command_lines(report.command_label, report.command, style.piped ? 0 : width);
  std::vector<LaidOut> details;
  for (const Detail& detail : report.details) details.push_back(laid_out(detail, width));
  if (style.verbose) {
    for (const Detail& detail : report.more) details.push_back(laid_out(detail, width));
  } else {
    shorten(cause, max_cause_lines, width > hanging ? width - hanging : 0);
    shorten(judged, max_judged_lines, width > 2 ? width - 2 : 0);
    const std::size_t used = cause.size() + judged.size() + command.size();
    fit(details, max_report_lines - std::min(max_report_lines, used), width);
  }
  std::string text = coloured(report.verdict, report.colour_of, style) + ": ";
  for (std::size_t i = 0; i < cause.size(); ++i)
    text += (i == 0 ? "" : std::string(hanging, ' ')) + cause[i] + "\n";
  for (const std::string& line : judged) text += "  " + line + "\n";
  for (const LaidOut& detail : details) add_detail(text, detail);
  for (const std::string& line : command) text += line + "\n";
  return text;
}

std::string rows_judged(std::int64_t compared, std::int64_t total, bool are_all) {
  if (total == 0 || compared == 0) return "no row was compared";
  if (compared == total && !are_all)
    return fmt::format("{} compared with fp64", plural(static_cast<std::size_t>(total), "row"));
  if (compared == total)
    return total == 1 ? "its one row compared with fp64"
                      : fmt::format("all {} rows compared with fp64", total);
  return fmt::format("{} of {} rows compared with fp64 (a sample), faults looked for in all",
                     compared, total);
}

std::string unused_tensors_text(const std::vector<std::string>& names, const Style& style) {
  constexpr std::size_t most = 4;
  if (names.empty()) return "";
  const std::size_t shown = style.verbose ? names.size() : std::min(most, names.size());
  std::string text =
      fmt::format("; unused: {}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return shown == names.size() ? text : text + fmt::format(" and {} more", names.size() - shown);
}

std::string element_in_words(const WorstElement& worst) {
  std::string got = number(worst.got), expected = number(worst.expected);
  if (got == expected)
    got = fmt::format("{:.9g}", worst.got), expected = fmt::format("{:.9g}", worst.expected);
  return fmt::format("{}: {}, not {} ({:.3g} sigma)", at(worst.element), got, expected,
                     (worst.got - worst.expected) / worst.sigma);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Detail, label, lines, weight)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OutputReport, verdict, cause, subject, judged, details, more,
                                   command_label, command)

std::string json_of(const OutputReport& report) {
  nlohmann::json all = report;
  all["colour_of"] = name(report.colour_of);
  return write_json(all);
}

Result<OutputReport> report_from_json(const std::string& json) {
  try {
    const nlohmann::json all = parse_json(json);
    const auto colour_of = parse<Verdict>(all.at("colour_of").get<std::string>());
    if (!colour_of) return fail("the report has an unknown verdict", "");
    OutputReport report = all.get<OutputReport>();
    report.colour_of = *colour_of;
    return report;
  } catch (const nlohmann::json::exception& error) {
    return fail(fmt::format("this is not a report: {}", error.what()), "");
  }
}

}  // namespace plumbline
