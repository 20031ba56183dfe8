// Tests the text that `plumbline diff` prints: answer, reasons, largest difference, map and tables.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/report/diff_text.h"
#include "tests/check_diff/sides.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr Style plain{};

DiffReport with_map(std::int64_t samples, std::int64_t heads, const std::vector<double>& sigmas) {
  DiffReport report;
  report.limit = 6.5;
  for (std::int64_t i = 0; i < samples * heads; ++i) {
    const double sigma = sigmas[static_cast<std::size_t>(i) % sigmas.size()];
    report.map.push_back({i / heads, i % heads, sigma, sigma == 0});
  }
  return report;
}

TEST(DiffMap, OneCharacterPerHead) {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(difference_map(with_map(2, 4, {0, 0.5, 1.5, 6.5, 6.6, nan_value, 0, 0}), plain),
              testing::ElementsAre(
                  "one character a head: . equal bits, : to 1 sigma, o to 3, O to 6.5, X beyond",
                  "sample 0     .:oO", "sample 1     XX.."));
}

TEST(DiffMap, SummarisesManyHeadsByWorst) {
  std::vector<double> sigmas(64 * 256, 0);
  sigmas[70 * 256 / 2 + 5] = 2;  // sample 35, head 5
  const std::vector<std::string> map = difference_map(with_map(64, 256, sigmas), plain);
  ASSERT_EQ(map.size(), 1U + 32);
  EXPECT_THAT(map[0], HasSubstr("the worst of 3 heads of 2 samples"));
  EXPECT_THAT(map[1 + 17], HasSubstr("sample 34    .o."));
  const auto cells = [](const std::string& line) { return line.substr(line.find_first_of(".o")); };
  EXPECT_EQ(std::count_if(map.begin() + 1, map.end(),
                          [&](const std::string& line) {
                            return cells(line).find('o') != std::string::npos;
                          }),
            1);
}

TEST(DiffText, HasAnswerReasonBitsAndKappa) {
  const test::FilledProblem a(test::small_problem());
  test::FilledProblem b(test::small_problem());
  b.set(b.reference.selection.rows[7], 3, b.expected(7, 3) + ulp(b.expected(7, 3), DType::f16));
  const DiffReport report =
      diff_measured("a and b", test::side_of(a, "one"), test::side_of(b, "two"), a.inputs());
  const std::string text = render_diff(report, plain);
  EXPECT_THAT(
      text,
      AllOf(testing::StartsWith("ROUNDING: " + report.sentence.substr(0, 20)),
            ContainsRegex("\n  a and b: all [0-9]+ rows compared with fp64\n"),
            HasSubstr(
                "one: keeps its limits against fp64, 50 % of the limit (peak), as the strict spec"),
            HasSubstr("7 of 8 (sample, head) entirely"), HasSubstr("\n  largest ")));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("kappa")), Not(HasSubstr("one character a head"))));
  EXPECT_THAT(render_diff(report, {.verbose = true}),
              AllOf(HasSubstr("relative"), HasSubstr("kappa"), HasSubstr("one character a head"),
                    HasSubstr("sample 0 ")));

  const auto json = nlohmann::json::parse(json_of_diffs({report}, report.answer));
  EXPECT_EQ(json["answer"], "ROUNDING");
  const auto& only = json["diffs"][0];
  EXPECT_EQ(only["heads_bit_equal"], 7);
  EXPECT_EQ(only["largest_abs"]["column"], 3);
  EXPECT_EQ(only["map"].size(), 8U);
  EXPECT_GT(only["kappa"]["largest"], 0);
}

TEST(DiffText, SeveralProblemsAreTableWithFailures) {
  const test::FilledProblem filled(test::small_problem());
  MeasuredSide good = test::side_of(filled, "one"), bad = test::side_of(filled, "two"),
               refused = test::side_of(filled, "two");
  bad.answer = Answer::bug;
  refused.measurement.outcome.status = Status::unsupported;
  const std::vector<DiffReport> reports{diff_measured("first", good, good, filled.inputs()),
                                        diff_measured("second", good, bad, filled.inputs()),
                                        diff_measured("third", good, refused, filled.inputs())};
  const std::string text = render_diffs(reports, plain);
  EXPECT_THAT(text, AllOf(HasSubstr("BUG: b (two) is wrong"), HasSubstr("\n  second: "),
                          HasSubstr("\n  first: "), Not(HasSubstr("\n  third: "))));
  EXPECT_THAT(text,
              HasSubstr("BUG: one and one on 3 problems: 1 BUG, 1 ROUNDING, 1 unsupported\n"));
  EXPECT_EQ(compared(reports), 2U);
  EXPECT_EQ(overall_answer({reports[0], reports[2]}), Answer::rounding);
  EXPECT_EQ(overall_answer({reports[2]}), Answer::undecided);
  EXPECT_EQ(compared({reports[2]}), 0U);
}

}  // namespace
}  // namespace plumbline
