// Formatting helpers that the renderers share.
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
std::string shell_quoted(const std::string& text);  // one shell word, in single quotes
std::string shell_word(const std::string& text);    // quoted only if a shell needs it
std::string percent(double value);                  // "62 %", "1800x" (harness/base/percent.h)
std::string duration(double time_ns);               // "1.276 ms"
std::string plural(std::size_t count, std::string_view noun);  // "1 case", "2 cases"

// Replaces each character c by `of(c)`, unless that is "".
template <class Of>
std::string escaped(std::string_view text, const Of& of) {
  std::string result;
  for (const char c : text) {
    const auto& other = of(c);
    result += std::string_view(other).empty() ? std::string_view(&c, 1) : other;
  }
  return result;
}

// Returns the columns that UTF-8 text takes on a terminal: one per code point.
std::size_t display_width(std::string_view text);
// Wraps `text` in the verdict's colour: red for a failure, green for a fine verdict, yellow for one
// that is open, unmeasured, tolerated or `changed`. Returns `text` if the style has no colour.
std::string coloured(std::string_view text, Verdict verdict, const Style& style);
// Breaks the text at blanks so that lines fit the width if possible. The first line is assumed to
// start at column `indent`; later lines get `indent` blanks. Line breaks of the text are kept.
std::string wrapped(std::string_view text, std::size_t indent, const Style& style);

inline constexpr std::size_t label_width = 11;
// Returns "  worst      text": the label in label_width columns, then the wrapped text. An empty
// label continues the text of the previous label.
std::string labelled(std::string_view label, const std::string& text, const Style& style);
// Returns why a timed case's time is not judged ("set aside", "no past", "few nights"); "" if it
// is.
std::string_view unjudged_time(const Judgement& judgement);
// Returns the statistics that decide: "peak 4.03, beyond output rounding 2.5, rms 0.61, lse 2.1".
std::string statistics_text(const ErrorStatistics& errors);

// Returns the shares of sigma^2 of at least 1 %, largest first: "P rounding 71 %, output rounding
// 25 %".
std::string shares(const std::array<double, rounding_count>& share);

// Explains a verdict: joins the texts of its findings, or its notes if there are none, by "; ".
std::string why(const Judgement& judgement);

}  // namespace plumbline
