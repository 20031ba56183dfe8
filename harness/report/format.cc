// Formats numbers, durations, wrapped and coloured text, and words for a shell.
#include "harness/report/format.h"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/base/percent.h"
#include "harness/judge/verdict.h"

namespace plumbline {

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == std::string::npos;
  return plain ? text : shell_quoted(text);
}

std::string percent(double value) { return percent_of_limit_text(value); }

std::string duration(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.4g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.4g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.4g} ms", time_ns / 1e6);
  return fmt::format("{:.4g} s", time_ns / 1e9);
}

std::string_view unjudged_time(const Judgement& judgement) {
  const auto& gated = judgement.gated_time;
  if (!gated || (gated->finding == "too few" && gated->nights == 0)) return "no past";
  if (gated->finding == "too few") return "few nights";
  return gated->finding == "set aside" ? "set aside" : "";
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::size_t display_width(std::string_view text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string coloured(std::string_view text, Verdict verdict, const Style& style) {
  if (!style.colour) return std::string(text);
  const bool is_green = standing_of(verdict) == Standing::fine && !is_tolerated(verdict) &&
                        verdict != Verdict::changed;
  const auto colour = is_failure(verdict) ? fmt::terminal_color::red
                      : is_green          ? fmt::terminal_color::green
                                          : fmt::terminal_color::yellow;
  return fmt::format(fmt::fg(colour), "{}", text);
}

std::string wrapped(std::string_view text, std::size_t indent, const Style& style) {
  const std::string line_break = "\n" + std::string(indent, ' ');
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t width = display_width(word);
    const bool starts_line = column == indent;
    if (!starts_line && style.width > 0 &&
        column + 1 + width > static_cast<std::size_t>(style.width)) {
      out += line_break;
      column = indent;
    } else if (!starts_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
    if (end < text.size() && text[end] == '\n') {
      out += line_break;
      column = indent;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string labelled(std::string_view label, const std::string& text, const Style& style) {
  return fmt::format("  {:<{}}{}\n", label, label_width, wrapped(text, label_width + 2, style));
}

std::string statistics_text(const ErrorStatistics& errors) {
  std::string text;
  for (const Statistic& statistic : deciding_statistics) {
    if (is_measured(statistic, errors))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", statistic.name,
                          number(errors.*statistic.value));
  }
  return text;
}

std::string shares(const std::array<double, rounding_count>& share) {
  std::vector<std::pair<double, Rounding>> parts;
  parts.reserve(share.size());
  for (int i = 0; i < rounding_count; ++i)
    parts.emplace_back(share[static_cast<std::size_t>(i)], static_cast<Rounding>(i));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [part, rounding] : parts) {
    if (part >= 0.01)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name(rounding), 100 * part);
  }
  return text;
}

std::string why(const Judgement& judgement) {
  std::string sentence;
  const auto add = [&](const std::string& text) {
    sentence += (sentence.empty() ? "" : "; ") + text;
  };
  for (const Finding& finding : judgement.findings) add(finding.text);
  if (judgement.findings.empty())
    std::for_each(judgement.notes.begin(), judgement.notes.end(), add);
  return sentence;
}

}  // namespace plumbline
