// Numbers, wrapped text and tables at several terminal widths.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/report/format.h"
#include "harness/report/tally.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

TEST(Format, Numbers) {
  EXPECT_EQ(number(0.123456), "0.1235");
  EXPECT_EQ(number(1.23456e-5), "1.235e-05");
  EXPECT_EQ(number(std::nan("")), "nan");
  EXPECT_EQ(percent(62.4), "62 %");
  EXPECT_EQ(percent(9999), "9999 %");
  EXPECT_EQ(percent(180'000), "1800x") << "as the page has it (format.ts)";
  EXPECT_EQ(percent(7007298), "70100x");
  EXPECT_EQ(percent(99'940'000), "999000x");
  EXPECT_EQ(percent(99'950'000), "1.0e6x");
  EXPECT_EQ(percent(1e300), "1.0e298x");
  EXPECT_EQ(percent(INFINITY), "infx");
  EXPECT_EQ(percent(std::nan("")), "nan %");
  EXPECT_EQ(plural(1, "case"), "1 case");
  EXPECT_EQ(plural(0, "case"), "0 cases");
}

TEST(Format, Durations) {
  EXPECT_EQ(duration(870), "870 ns");
  EXPECT_EQ(duration(12345), "12.35 us");
  EXPECT_EQ(duration(1.276e6), "1.276 ms");
  EXPECT_EQ(duration(2.5e9), "2.5 s");
}

TEST(Format, WidthCountsCodePoints) {
  EXPECT_EQ(display_width("sigma"), 5U);
  EXPECT_EQ(display_width("\xCF\x83 \xE2\x80\xA6"), 3U);
}

TEST(Format, WrapsAtBlanks) {
  const Style narrow{false, 12};
  EXPECT_EQ(wrapped("one two three four", 2, narrow), "one two\n  three four");
  EXPECT_EQ(wrapped("unbreakably-long word", 2, narrow), "unbreakably-long\n  word");
  EXPECT_EQ(wrapped("kept\nbreak", 2, narrow), "kept\n  break");
  EXPECT_EQ(wrapped("one two three four", 2, Style{false, 0}), "one two three four");
}

TEST(Table, NumbersRightTextLeft) {
  EXPECT_EQ(render_table({"case", "limit", "rms"},
                         {{"a", "62 %", "1.5"}, {"long name", "143 %", ""}}, Style{false, 0}),
            R"(case       limit  rms
---------  -----  ---
a           62 %  1.5
long name  143 %
)");
}

TEST(Table, DatesAndFractionsAreText) {
  EXPECT_EQ(render_table({"date", "heads"}, {{"2030-01-02", "3 of 4"}, {"x", "10 of 12"}},
                         Style{false, 0}),
            R"(date        heads
----------  --------
2030-01-02  3 of 4
x           10 of 12
)");
}

TEST(Table, WrapsTextWithoutLoss) {
  EXPECT_EQ(render_table({"case", "rms"}, {{"cpu/flash/bf16/b1-h4-s128-d64/mask=causal", "1.5"}},
                         Style{false, 25}),
            R"(case                  rms
--------------------  ---
cpu/flash/bf16/       1.5
b1-h4-s128-d64/
mask=causal
)");
  EXPECT_EQ(render_table({"digest"}, {{"0123456789abcdef0123"}}, Style{false, 8}),
            "digest\n------------\n0123456789ab\ncdef0123\n");
}

TEST(Table, DropsColumnsOnNarrowTerminal) {
  const std::vector<std::string> columns{"case", "a number", "another", "the last"};
  const std::vector<std::vector<std::string>> rows{{"x", "1", "2", "3"}};
  EXPECT_EQ(render_table(columns, rows, Style{false, 24}),
            "case       a  another\n      number\n----  ------  -------\nx          1        "
            "2\n(no room for: the last)\n");
  EXPECT_EQ(render_table(columns, rows, Style{false, 0}),
            render_table(columns, rows, Style{false, 120}));
}

TEST(Table, NumberHeadersWrapBeforeText) {
  EXPECT_EQ(
      render_table({"kernel", "first seen", "of the limit"},
                   {{"cpu/flash", "3", "62 %"}, {"cpu/split_kv", "12", "143 %"}}, Style{false, 30}),
      "kernel        first     of\n"
      "               seen    the\n"
      "                     limit\n"
      "------------  -----  -----\n"
      "cpu/flash         3   62 %\n"
      "cpu/split_kv     12  143 %\n");
}

TEST(Table, OnlyHeaderWithoutRows) {
  EXPECT_EQ(render_table({"a", "b"}, {}, Style{false, 80}), "a  b\n-  -\n");
}

TEST(Table, ColoursVerdictsWithoutMovingColumns) {
  const std::vector<std::vector<std::string>> rows{
      {"fail", "x"}, {"pass", "y"}, {"regressed", "z"}};
  EXPECT_EQ(render_table({"verdict", "case"}, rows, Style{true, 0}),
            "verdict    case\n---------  ----\n\x1b[31mfail\x1b[0m       x\n\x1b[32mpass\x1b[0m    "
            "   y\n\x1b[31mregressed\x1b[0m  z\n");
}

TEST(Tally, CountsPerSuiteAndKernel) {
  std::vector<StoredOutcome> outcomes(4, passing_outcome());
  outcomes[1].judgement.percent_of_limit = std::nan("");
  outcomes[2].judgement.percent_of_limit = 90;
  outcomes[3] = failing_outcome();
  const std::vector<Tally> result = tallies(outcomes);
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].kernel, "cpu/flash");
  EXPECT_EQ(result[0].cases, 3U);
  EXPECT_TRUE(std::isnan(result[0].worst_percent));
  EXPECT_EQ(result[0].wall_ms, 37.5);
  EXPECT_EQ(result[1].verdicts.at(Verdict::fail), 1U);
}

}  // namespace
}  // namespace plumbline
