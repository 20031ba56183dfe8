// Small pieces of text that the renderers share.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "harness/judge/judgement.h"
#include "harness/outcome/error_statistics.h"
#include "harness/report/report.h"

namespace plumbline {

std::string number(double value);                   // four digits: "0.1234", "1.23e-05", "nan"
std::string shell_quoted(const std::string& text);  // one word of a shell, in single quotes
std::string shell_word(const std::string& text);    // quoted only where a shell needs it
std::string percent(double value);                  // "62 %", "1800x" (harness/base/percent.h)
std::string duration(double time_ns);               // "1.276 ms"
std::string plural(std::size_t count, std::string_view noun);  // "1 case", "2 cases"

// The text with some characters replaced: by what `of` says of them, unless that is "".
template <class Of>
std::string escaped(std::string_view text, const Of& of) {
  std::string result;
  for (const char c : text) {
    const auto& other = of(c);
    result += std::string_view(other).empty() ? std::string_view(&c, 1) : other;
  }
  return result;
}

// Columns that UTF-8 text takes on a terminal, one per code point.
std::size_t display_width(std::string_view text);
// The verdict's colour around `text`: red for failures, yellow for what wants a look, green else;
// unchanged where the style has no colour.
std::string coloured(std::string_view text, Verdict verdict, const Style& style);
// Breaks at blanks so that no line exceeds the width where that is possible; lines after the first
// start with `indent` blanks. The first is taken to start at column `indent`. Line breaks of the
// text are kept.
std::string wrapped(std::string_view text, std::size_t indent, const Style& style);

inline constexpr std::size_t label_width = 11;
// "  worst      text": a label in a column of label_width, the text wrapped behind it. An empty
//               label continues the one before.
std::string labelled(std::string_view label, const std::string& text, const Style& style);
// Why the time of a timed case is not judged: "set aside", "no past", "few nights"; "" if it is.
std::string_view unjudged_time(const Judgement& judgement);
// "peak 4.03, beyond output rounding 2.5, rms 0.61, lse 2.1": the statistics that decide.
std::string statistics_text(const ErrorStatistics& errors);

// "P rounding 71 %, output rounding 25 %": the shares of sigma^2 from 1 % on, largest first.
std::string shares(const std::array<double, rounding_count>& share);

// The sentence behind a verdict: the texts of its findings, else its notes, joined by "; ".
std::string why(const Judgement& judgement);

}  // namespace plumbline
