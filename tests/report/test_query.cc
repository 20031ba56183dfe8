// Query results as text, CSV and JSON, and a run as JSON.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/problem/problem.h"
#include "harness/report/json_value.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using Cell = Store::CellType;
const Store::Table table{{"case", "rms"},
                         {{"a, \"b\"", "0.5"}, {std::nullopt, "1"}},
                         {{Cell::text, Cell::real}, {Cell::null, Cell::integer}}};

TEST(RenderQuery, Text) {
  EXPECT_EQ(render_query(table, Style{false, 0}),
            "case    rms\n------  ---\na, \"b\"  0.5\n          1\n");
}
TEST(RenderQuery, HeadersWrapAfterUnderscores) {
  const std::string text(30, 'x');
  const Store::Table wide{{"case_id", "last_good_commit", "first_bad_commit"},
                          {{text, "0123456789abcdef", "fedcba9876543210"}},
                          {{Cell::text, Cell::text, Cell::text}}};
  const std::string shown = render_query(wide, Style{false, 44});
  EXPECT_NE(shown.find("last_good_"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  commit"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("com\n"), std::string::npos) << shown;
}
TEST(RenderQuery, Csv) {
  EXPECT_EQ(render_query_csv(table), "case,rms\r\n\"a, \"\"b\"\"\",0.5\r\n,1\r\n");
}
TEST(RenderQuery, Json) {
  const Json json = Json::parse(json_of_table(table))["rows"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["case"], "a, \"b\"");
  EXPECT_TRUE(json[1]["case"].is_null());
  EXPECT_EQ(json[0]["rms"], 0.5);
  EXPECT_EQ(json[1]["rms"], 1);
  EXPECT_TRUE(json[1]["rms"].is_number_integer());
  const Store::Table odd{
      {"x"}, {{"Inf"}, {"9007199254740993"}, {"1"}}, {{Cell::real}, {Cell::integer}, {Cell::text}}};
  const Json rows = Json::parse(json_of_table(odd))["rows"];
  EXPECT_TRUE(rows[0]["x"].is_null());
  EXPECT_EQ(rows[1]["x"], std::int64_t{9007199254740993});
  EXPECT_EQ(rows[2]["x"], "1");
}

TEST(RenderJson, HasEverything) {
  const SampleRun sample = mixed_run();
  const Json json = Json::parse(json_of_run(sample.report(1)));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["run"]["commit"], "abc1234");
  ASSERT_EQ(json["outcomes"].size(), 3U);
  const auto& failed = json["outcomes"][1];
  EXPECT_EQ(failed["verdict"], "fail");
  EXPECT_EQ(failed["problem"], problem_id(sample.outcomes[1].outcome.c.problem));
  EXPECT_EQ(failed["findings"][0]["limit"], 6.5);
  EXPECT_EQ(failed["errors"]["peak"], 9.3);
  EXPECT_EQ(failed["worst"]["element"]["column"], 5);
  EXPECT_EQ(failed["worst"]["share"]["P rounding"], 0.25);
  EXPECT_EQ(json["outcomes"][2]["status"], "unsupported");
  EXPECT_FALSE(json["outcomes"][2].contains("errors"));
  EXPECT_EQ(json["diffs"][0]["max_rel"], 1.579);
  EXPECT_EQ(json["suite_scores"][0]["status"], "pass");
}

TEST(RenderJson, InvalidNumbersAndUtf8) {
  SampleRun sample;
  sample.outcomes = {passing_outcome()};
  sample.outcomes[0].outcome.errors.peak = std::nan("");
  sample.outcomes[0].outcome.errors.max_rel = std::numeric_limits<double>::infinity();
  sample.outcomes[0].judgement.notes = {"\xFF kernel output"};
  const Json json = Json::parse(json_of_run(sample.report(0)));
  EXPECT_TRUE(json["outcomes"][0]["errors"]["peak"].is_null());
  EXPECT_TRUE(json["outcomes"][0]["errors"]["max_rel"].is_null());
  EXPECT_EQ(json["outcomes"][0]["notes"][0], "\xEF\xBF\xBD kernel output");
}

}  // namespace
}  // namespace plumbline
