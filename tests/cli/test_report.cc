// plumbline report: a run with the nights before it, as a page or as the page's data.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "harness/store/stored.h"
#include "tests/cli/command.h"
#include "tests/store/fixture.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Report : public test::CommandTest {
 protected:
  void add_run(const RunInfo& run, const std::vector<StoredOutcome>& outcomes,
               int exit_code = 0) const {
    const auto store = value_of(Store::open(directory_ / "h.db"));
    value_of(store->begin_run(run));
    for (const auto& outcome : outcomes) value_of(store->add(run.run_id, outcome));
    value_of(store->finish_run(run.run_id, exit_code, true));
  }
  static RunInfo night(int number) {
    RunInfo run = run_info(number);
    run.night_id = "night-" + std::to_string(number);
    run.commit = "c0ffee" + std::to_string(number);
    return run;
  }
  static StoredOutcome failing() {
    StoredOutcome stored = passing();
    stored.judgement.verdict = Verdict::fail;
    stored.judgement.percent_of_limit = 143;
    stored.judgement.findings = {{FindingKind::peak, 9.3, 6.5, "peak is 9.3, its limit 6.5"}};
    stored.outcome.cause = "the <script>sums</script> are kept in bf16";
    return stored;
  }
  json data(const std::string& arguments) const {
    const auto made = plumbline("report --db h.db --data -o r.json " + arguments);
    EXPECT_EQ(made.code, 0) << made.text;
    return json::parse(read("r.json"));
  }
};

TEST_F(Report, ShowsFailureAndFirstNight) {
  for (int number = 1; number <= 3; ++number) add_run(night(number), {passing()});
  add_run(night(4), {failing()}, 1);
  const json root = data("");
  EXPECT_EQ(root["subject"]["label"], "night night-4") << "the newest night";
  EXPECT_EQ(root["state"], "not fine");
  EXPECT_THAT(root["sentence"].get<std::string>(),
              AllOf(StartsWith("Not fine: 1 failure in 1 case"), HasSubstr("c0ffee3..c0ffee4")));
  ASSERT_EQ(root["groups"].size(), 1U);
  EXPECT_EQ(root["groups"][0]["title"], "the <script>sums</script> are kept in bf16");
  EXPECT_EQ(root["groups"][0]["since_night"], 3);
  ASSERT_EQ(root["nights"].size(), 4U);
  EXPECT_EQ(root["nights"][0]["fine"], 1);
  EXPECT_EQ(root["nights"][3]["failures"], 1);
  EXPECT_EQ(root["nights"][3]["exit_code"], 1);
  const json& history = root["details"][0]["history"];
  EXPECT_EQ(history["night"], json::parse("[0, 1, 2, 3]"));
  EXPECT_EQ(history["percent"][3], 143);
}

TEST_F(Report, EarlierNightOmitsLaterNights) {
  for (int number = 1; number <= 3; ++number) add_run(night(number), {passing()});
  const json root = data("night:night-2");
  EXPECT_EQ(root["subject"]["label"], "night night-2");
  EXPECT_EQ(root["state"], "fine");
  EXPECT_EQ(root["nights"].size(), 2U);
}

TEST_F(Report, RunsWithoutNightsShareOnePurpose) {
  RunInfo other = run_info(3);
  other.purpose = "test";
  add_run(run_info(1), {passing()});
  add_run(other, {passing()});
  add_run(run_info(2), {passing()});
  const json root = data("latest");
  EXPECT_EQ(root["subject"]["kind"], "run");
  EXPECT_LE(root["nights"].size(), 2U) << "a run of another purpose is no night before it";
}

TEST_F(Report, RefusedCasesMeanNothingMeasured) {
  add_run(night(1), {not_run(Status::unsupported, Verdict::unsupported, "no bf16 here")}, 4);
  const json root = data("");
  EXPECT_EQ(root["state"], "nothing measured");
  EXPECT_THAT(root["sentence"].get<std::string>(), StartsWith("Nothing measured: "));
  EXPECT_EQ(root["counts"]["fine"], 0);
  EXPECT_EQ(root["counts"]["unmeasured"], 1);
  EXPECT_EQ(root["support"][0]["reasons"], "no bf16 here");
}

TEST_F(Report, MegabyteReasonIsKept) {
  add_run(night(1), {not_run(Status::crashed, Verdict::crashed, std::string(1'000'000, 'x'))}, 1);
  EXPECT_EQ(data("")["details"][0]["reason"].get<std::string>().size(), 1'000'000U);
}

TEST_F(Report, BadInputsWriteNothing) {
  EXPECT_EQ(plumbline("report --db none.db").code, 3);
  add_run(night(1), {passing()});
  EXPECT_EQ(plumbline("report feedface --db h.db").code, 2);
  EXPECT_EQ(plumbline("report --db h.db -o .").code, 2);
  EXPECT_EQ(plumbline("report --db h.db --format pdf").code, 2);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "report.html"));
}

// The page exists only if plumbline was built with node.
TEST_F(Report, HtmlIsOneFileOrError) {
  add_run(night(1), {failing()}, 1);
  const auto made = plumbline("report --db h.db");
  if (!std::filesystem::exists(test::build_directory / "share" / "plumbline" / "page.html")) {
    EXPECT_EQ(made.code, 3);
    EXPECT_THAT(made.text, AllOf(HasSubstr("built without it"), HasSubstr("ci/setup.sh --page")));
    return;
  }
  EXPECT_EQ(made.code, 0) << made.text;
  const std::string page = read("report.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(page.find("@PLUMBLINE_DATA@"), std::string::npos);
  EXPECT_EQ(page.find("<script>sums"), std::string::npos) << "data is data";
  EXPECT_LT(page.size(), 1'500'000U);
}

}  // namespace
}  // namespace plumbline
