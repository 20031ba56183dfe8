// The layout of all reports: verdict and cause first, what was judged second, at most twelve lines,
// and no line wider than the terminal for any text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "harness/report/format.h"
#include "harness/report/layout.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

OutputReport small_report() {
  OutputReport report;
  report.verdict = "BUG";
  report.colour_of = Verdict::fail;
  report.cause = "the softmax scale is 0.8 % too large";
  report.subject = "wrong.safetensors";
  report.judged = rows_judged(1024, 1024);
  report.details = {{"problem", {"bf16, batch 2"}, 3},
                    {"worst", {"the first", "the second"}, 5},
                    {"where", {"head 3"}, 6}};
  report.more = {{"ladder", {"FlashAttention-2 68 %"}}};
  report.command_label = "in full";
  report.command = "plumbline check wrong.safetensors -v";
  return report;
}

// A report whose texts are at least `length` long.
OutputReport large_report(std::size_t length) {
  const auto words = [&](const std::string& word) {
    std::string text = word;
    while (text.size() < length) text += " " + word + std::to_string(text.size());
    return text;
  };
  OutputReport report = small_report();
  report.cause = words("cause");
  report.subject = "mutants/" + std::string(length, 'x') + "/bf16/b1-h4-s128-d64";
  report.judged += "; unused: " + words("tensor");
  report.details.clear();
  for (int weight = 0; weight < 9; ++weight)
    report.details.push_back({"detail", {words("text")}, weight});
  report.details.push_back({"worst", {words("one"), words("two"), words("three")}, 5});
  report.command = "plumbline run --case '" + report.subject + "'";
  return report;
}

TEST(Layout, VerdictFirstCommandLast) {
  EXPECT_EQ(render(small_report(), {}), R"(BUG: the softmax scale is 0.8 % too large
  wrong.safetensors: all 1024 rows compared with fp64
  problem   bf16, batch 2
  worst     the first
            the second
  where     head 3
in full: plumbline check wrong.safetensors -v
)");
  EXPECT_THAT(render(small_report(), {.verbose = true}),
              HasSubstr("\n  ladder    FlashAttention-2 68 %\n"));
  EXPECT_THAT(render(small_report(), {.colour = true}), StartsWith("\x1b[31mBUG\x1b[0m: the "));
}

TEST(Layout, FitsTwelveLinesAndWidth) {
  for (const int width : {40, 60, 80, 100, 120}) {
    for (const std::size_t length : {20U, 90U, 140U}) {
      for (const std::size_t taken : {0U, 16U}) {
        const OutputReport report = large_report(length);
        const auto lines = lines_of(render(report, {.width = width}, taken));
        const std::string at = std::to_string(width) + " " + std::to_string(length);
        if (width >= 60) {
          EXPECT_LE(lines.size(), max_report_lines) << at;
        }
        EXPECT_THAT(lines.front(), StartsWith("BUG: cause")) << at;
        EXPECT_LE(display_width(lines.front()) + taken, static_cast<std::size_t>(width)) << at;
        for (const std::string& line : lines)
          EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
}

TEST(Layout, DropsSmallestWeightFirst) {
  OutputReport report = small_report();
  for (int weight = 10; weight < 16; ++weight)
    report.details.push_back({"kept", {"of weight " + std::to_string(weight)}, weight});
  // 2 + 4 + 6 + 1 lines are one too many, so the list loses its second item.
  EXPECT_THAT(render(report, {}), Not(HasSubstr("the second")));
  EXPECT_THAT(render(report, {}), HasSubstr("the first"));
  report.details.push_back({"kept", {"of weight 16"}, 16});
  EXPECT_THAT(render(report, {}), Not(HasSubstr("problem")));
  EXPECT_THAT(render(report, {}), HasSubstr("where"));
  EXPECT_THAT(render(report, {.verbose = true}), HasSubstr("problem"));
}

TEST(Layout, ShortenedTextHasEllipsis) {
  const std::string text = render(large_report(140), {.width = 80});
  EXPECT_THAT(text, HasSubstr(" …\n"));
  EXPECT_THAT(render(large_report(140), {.width = 80, .verbose = true}), Not(HasSubstr("…")));
}

TEST(Layout, WrappedCommandIsEquivalent) {
  OutputReport report = small_report();
  report.command =
      "printf '%s|' --provider './mine.so:a=1' --case "
      "'mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left/law=peaky' "
      "'it'\\''s a \xC3\xA4 \"word\"' "
      "a_word_without_quotes_that_is_longer_than_any_of_the_lines/and_goes_on 'x y'";
  const auto printed_by = [](const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    std::array<char, 512> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return output;
  };
  const std::string expected = printed_by(report.command);
  EXPECT_THAT(expected, HasSubstr("|it's a \xC3\xA4 \"word\"|a_word_without"));
  const std::string mark = "in full: ";
  for (const int width : {24, 40, 60, 80, 100, 120, 400}) {
    const std::string text = render(report, {.width = width, .verbose = true});
    const std::string command = text.substr(text.find(mark) + mark.size());
    EXPECT_EQ(printed_by(command), expected) << command;
    for (const std::string& line : lines_of(command))
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << command;
  }
}

TEST(Layout, PipedCommandStaysOnOneLine) {
  const OutputReport report = large_report(140);
  const auto lines = lines_of(render(report, {.piped = true}));
  EXPECT_EQ(lines.back(), "in full: " + report.command);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) EXPECT_LE(display_width(lines[i]), 100U);
}

TEST(Layout, NamesComparedRowsAndUnusedTensors) {
  EXPECT_EQ(rows_judged(0, 0), "no row was compared");
  EXPECT_EQ(rows_judged(1, 1), "its one row compared with fp64");
  EXPECT_EQ(rows_judged(128, 4096),
            "128 of 4096 rows compared with fp64 (a sample), faults looked for in all");
  EXPECT_EQ(unused_tensors_text({}), "");
  EXPECT_EQ(unused_tensors_text({"a", "b", "c", "d", "e", "f"}), "; unused: a, b, c, d and 2 more");
  EXPECT_EQ(unused_tensors_text({"a", "b", "c", "d", "e"}, {.verbose = true}),
            "; unused: a, b, c, d, e");
}

TEST(Layout, ElementShowsDistinguishingDigits) {
  WorstElement worst;
  worst.element = {0, 3, 17, 5};
  worst.got = 0.515625, worst.expected = 0.5, worst.sigma = 0.00168;
  EXPECT_EQ(element_in_words(worst),
            "sample 0 head 3 row 17 column 5: 0.5156, not 0.5 (9.3 sigma)");
  worst.element.column = -1;
  worst.got = 0.50000001;
  EXPECT_THAT(element_in_words(worst),
              StartsWith("the LSE of sample 0 head 3 row 17: 0.50000001, not 0.5 ("));
}

TEST(Layout, JsonRoundTrip) {
  const OutputReport report = large_report(90);
  const auto back = report_from_json(json_of(report));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(render(*back, {.width = 70}), render(report, {.width = 70}));
  EXPECT_FALSE(report_from_json("{}"));
  EXPECT_FALSE(report_from_json("no JSON"));
}

}  // namespace
}  // namespace plumbline
