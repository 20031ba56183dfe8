// The page's data: columns without loss, details of important cases, and one file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/problem/geometry.h"
#include "harness/report/page_data.h"
#include "harness/report/page_file.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class PageData : public testing::Test {
 protected:
  void SetUp() override {
    outcomes_ = {passing_outcome(), failing_outcome(), unsupported_outcome(), crashed_outcome()};
    outcomes_[1].outcome.c.problem.dtype = DType::f16;
    report_ = {&run_, &outcomes_, &diffs_, &scores_, 1, "plumbline run"};
    input_.report = &report_;
    input_.label = "run 3f2a01bc";
    input_.machine_of.assign(outcomes_.size(), "cpu x86-64-v3 AMD EPYC");
    input_.news = find_issues(report_, {});
  }
  json page() const { return json::parse(json_of_page(input_)); }
  static json column(const json& page, const std::string& name) {
    for (const json& column : page["cases"])
      if (column["name"] == name) return column;
    ADD_FAILURE() << "no column " << name;
    return {};
  }
  static std::string word(const json& column, std::size_t row) {
    return column["words"].at(column["places"].at(row).get<std::size_t>());
  }

  RunInfo run_;
  std::vector<StoredOutcome> outcomes_;
  std::vector<StoredDiff> diffs_;
  std::vector<SuiteScore> scores_;
  RunReport report_;
  PageInput input_;
};

TEST_F(PageData, ColumnsHoldEveryCase) {
  const json root = page();
  EXPECT_EQ(root["rows"], 4);
  EXPECT_EQ(root["state"], "not fine");
  EXPECT_EQ(root["counts"]["failures"], 2);
  EXPECT_EQ(root["counts"]["unmeasured"], 1);
  for (std::size_t i = 0; i < outcomes_.size(); ++i)
    EXPECT_EQ(word(column(root, "case_id"), i), outcomes_[i].outcome.case_id);
  EXPECT_EQ(word(column(root, "outlook"), 2), "unmeasured");
  EXPECT_EQ(word(column(root, "dtype"), 1), "fp16");
  EXPECT_EQ(column(root, "percent_of_limit")["numbers"][0], 62);
  EXPECT_TRUE(column(root, "percent_of_limit")["numbers"][2].is_null()) << "not measured";
  for (const json& column : root["cases"])
    EXPECT_EQ(column.contains("numbers") ? column["numbers"].size() : column["places"].size(), 4U);
}

TEST_F(PageData, DetailsOfBadAndNearestCases) {
  EXPECT_THAT(outcomes_in_detail(outcomes_), ElementsAre(0, 1, 3)) << "a refused case has none";
  std::vector<StoredOutcome> many(1000, failing_outcome());
  for (int i = 0; i < 1000; ++i) {
    many.push_back(passing_outcome());
    many.back().judgement.percent_of_limit = i / 10.0;
  }
  const auto chosen = outcomes_in_detail(many);
  EXPECT_EQ(chosen.size(), 700U);
  EXPECT_EQ(chosen[499], 499U);
  EXPECT_EQ(chosen.back(), 1999U) << "the nearest to its limit";
}

TEST_F(PageData, DetailHasPictureAndReproduceLine) {
  ErrorPicture& picture = outcomes_[1].outcome.picture;
  picture.histogram.assign(ErrorPicture::bins, 10);
  picture.spre_ratios.assign(ErrorPicture::ratio_classes, 0);
  picture.spre_ratios[3] = 410;
  picture.map_rows = 1;
  picture.map_columns = 3;
  picture.map = {map_code(2), 0, 255};
  outcomes_[1].outcome.row_seed = 7;
  const json detail = json::parse(json_of_page_case(input_, 1));
  EXPECT_EQ(detail["picture"]["histogram"].size(), 41U);
  double expected = 0;
  for (const json& count : detail["picture"]["expected"]) expected += count.get<double>();
  EXPECT_NEAR(expected, 410, 1);
  EXPECT_EQ(detail["picture"]["map"], json::parse("[2, null, -1]"));
  EXPECT_GT(detail["picture"]["outside"], 10);
  EXPECT_EQ(detail["reproduce"],
            "plumbline run --row-seed 7 --case "
            "'mutants/bf16_accumulator/bf16/b1-h4-s128-d64/mask=causal_top_left'");
  EXPECT_EQ(detail["worst"]["shares"][0][0], "output rounding");
  EXPECT_TRUE(json::parse(json_of_page_case(input_, 3))["picture"].is_null());
}

TEST_F(PageData, HistoryRefersToNights) {
  input_.nights = {
      {.name = "2027-01-01", .commit = "a", .run_ids = {"r1"}, .state = RunState::fine},
      {.name = "2027-01-02",
       .commit = "b",
       .run_ids = {"r2", "r3"},
       .state = RunState::incomplete}};
  input_.history[1] = {{"r1", "pass", Standing::fine, 60.0, 0.9, {}, {}, {}, true},
                       {"r3", "fail", Standing::failure, 143.04, 1.4, {}, {}, {}},
                       {"unknown", "pass", Standing::fine, 1.0, 1.0, {}, {}, {}}};
  input_.nights[1].events = {{"suspect", "2027-01-02T03:00:00Z", "gate", "moved by 3 %"}};
  input_.news[0].since = "a";
  const json root = page();
  EXPECT_EQ(root["nights"][0]["exit_code"], 0);
  EXPECT_EQ(root["nights"][1]["exit_code"], exit_infrastructure);
  EXPECT_EQ(root["nights"][1]["state"], "incomplete");
  EXPECT_EQ(root["nights"][0]["events"].size(), 0U);
  EXPECT_EQ(root["nights"][1]["events"][0]["kind"], "suspect");
  EXPECT_EQ(root["groups"][0]["since_night"], 1);
  const json history = json::parse(json_of_page_case(input_, 1))["history"];
  EXPECT_EQ(history["night"], json::parse("[0, 1]"));
  EXPECT_EQ(history["percent"], json::parse("[60, 143]"));
  EXPECT_EQ(history["verdict"], json::parse(R"(["pass", "fail"])"));
  EXPECT_EQ(history["set_aside"], json::parse("[true, false]"));
}

TEST_F(PageData, FirstBadNightWithoutCommits) {
  for (const char* name : {"1", "2", "3", "4"})
    input_.nights.push_back({.name = name, .run_ids = {name}});
  const std::size_t lead = input_.news[0].cases[0];
  const auto point = [](const char* night, bool is_bad) {
    PagePoint one;
    one.run_id = night;
    one.verdict = is_bad ? "fail" : "pass";
    one.standing = is_bad ? Standing::failure : Standing::fine;
    return one;
  };
  input_.history[lead] = {point("1", true), point("2", false), point("3", true), point("4", true)};
  EXPECT_EQ(page()["groups"][0]["since_night"], 2) << "the failure of night 1 was another one";
  input_.history[lead] = {point("3", true), point("4", false)};
  EXPECT_EQ(page()["groups"][0]["since_night"], -1);
  input_.history.clear();
  EXPECT_EQ(page()["groups"][0]["since_night"], -1) << "neither commits nor a history";
}

TEST_F(PageData, HeadsWithoutRowsAreMinusOne) {
  outcomes_[1].outcome.head_rms = {0.5F, 0.0F, std::nanf(""), 2.0F};
  EXPECT_EQ(json::parse(json_of_page_case(input_, 1))["heads"], json::parse("[0.5, -1, null, 2]"));
  outcomes_[1].outcome.head_rms = {0.0F, 0.0F};
  EXPECT_EQ(json::parse(json_of_page_case(input_, 1))["heads"], json::parse("[0, 0]"))
      << "an exact kernel";
}

TEST_F(PageData, MapCoversLongestSample) {
  Outcome& outcome = outcomes_[1].outcome;
  outcome.picture.histogram.assign(ErrorPicture::bins, 1);
  outcome.picture.spre_ratios.assign(ErrorPicture::ratio_classes, 1);
  Problem& problem = outcome.c.problem;
  problem.batch = 2;
  problem.layout = Layout::ragged;
  problem.lengths = Lengths::random;
  problem.mask = Mask::none;
  const Geometry geometry(problem);
  const auto longest = std::max(geometry.length_q(0), geometry.length_q(1));
  EXPECT_EQ(json::parse(json_of_page_case(input_, 1))["picture"]["rows"], longest);
}

TEST_F(PageData, OtherRunHasOwnColumns) {
  EXPECT_TRUE(page()["other"].is_null());
  const std::vector<StoredOutcome> before = {passing_outcome()};
  RunInfo run;
  run.commit = "0123abc";
  RunReport report = report_;
  report.run = &run;
  report.outcomes = &before;
  input_.other = PageOther{&report, "run 0a1b2c3d", {"another machine"}};
  const json other = page()["other"];
  EXPECT_EQ(other["label"], "run 0a1b2c3d");
  EXPECT_EQ(other["commit"], "0123abc");
  EXPECT_EQ(other["rows"], 1);
  for (const json& column : other["cases"])
    if (column["name"] == "machine") {
      EXPECT_EQ(word(column, 0), "another machine");
    }
}

TEST_F(PageData, ExtractsAuditFromDocument) {
  EXPECT_TRUE(page()["audit"].is_null());
  const std::string document = R"({"schema": {"name": "plumbline.audit", "version": 1},
    "data": {"suites": ["pr"], "problems": 3, "runs": 9, "exit_code": 1, "diagnoses": {"right": 1},
      "dtypes": [{"dtype": "bf16", "mutants": 1, "caught": 0, "rules": []}],
      "mutants": [{"name": "mutants/x", "class": "index", "caught": false, "reviewed": "why"}],
      "legal": []}})";
  const auto audit = audit_for_page(document, "a.json");
  ASSERT_TRUE(audit.has_value());
  input_.audit = *audit;
  const json shown = page()["audit"];
  EXPECT_EQ(shown["mutants"][0]["class"], "index");
  EXPECT_EQ(shown["mutants"][0]["reviewed"], "why");
  EXPECT_TRUE(shown["mutants"][0]["by"].is_null());
  EXPECT_FALSE(shown["dtypes"][0].contains("rules")) << "the page shows none";
  for (const char* other :
       {"", "[]", "{\"data\": {}}", "{\"schema\": {\"name\": \"plumbline.run\"}}"})
    EXPECT_THAT(to_string(audit_for_page(other, "a.json").error()),
                HasSubstr("a.json: not the result of an audit"));
}

TEST_F(PageData, NonFiniteNumbersAreNull) {
  outcomes_[0].judgement.percent_of_limit = std::nan("");
  outcomes_[0].outcome.errors.rms = HUGE_VAL;
  const json root = page();
  EXPECT_EQ(column(root, "percent_of_limit")["numbers"][0], 1e15) << "beyond every limit";
  EXPECT_TRUE(column(root, "rms")["numbers"][0].is_null());
}

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

std::string from_base64(const std::string& text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(digits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

TEST(PageFile, HoldsTheDataCompressed) {
  for (const std::string& text : {std::string("{}"), std::string("{\"a\":1}"), std::string("[1]"),
                                  std::string(100'000, ' ') + "</script>"}) {
    const auto page = page_with_data("<p id=x>@PLUMBLINE_DATA@</p>", text);
    ASSERT_TRUE(page.has_value());
    ASSERT_TRUE(page->starts_with("<p id=x>") && page->ends_with("</p>"));
    EXPECT_EQ(gunzip(from_base64(page->substr(8, page->size() - 12))), text);
    EXPECT_EQ(page->find("</script>"), std::string::npos);
  }
  EXPECT_THAT(to_string(page_with_data("<p></p>", "{}").error()), HasSubstr("no place for data"));
}

}  // namespace
}  // namespace plumbline
