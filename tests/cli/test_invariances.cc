// `plumbline run --invariances`: each invariance has a kernel that breaks it, that passes the judge, and that is caught.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* padded = "bf16/b3-h4x2-s70-d64/mask=causal_bottom_right/lengths=random";
constexpr const char* paged = "bf16/b3-h4x2-s9x90-d64/mask=causal_bottom_right/layout=paged_nhd/lengths=random";

class Invariances : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("reviewed/contracts.toml", R"(
schema = 1
[[contract]]
kernel = "invariant/unpromised"
reason = "promises nothing"
padding_policy = "untouched"
spec = { p_dtype = "input" }
[[contract]]
kernel = "invariant/*"
reason = "promises everything"
padding_policy = "untouched"
spec = { p_dtype = "input" }
promises = { run_to_run = "bitwise", batch = "bitwise", layout = "bitwise", page = "bitwise", split = "bitwise", prefill_decode = "bitwise", lse = "bitwise" }
split_option = "splits"
)");
    write("reviewed/support.toml", "schema = 1\n");
  }
  static std::string id(const std::string& kernel, const std::string& problem) { return "invariant/" + kernel + "/" + problem; }
  test::CommandResult run(const std::string& arguments) const {
    const auto library = build_directory() / "plumbline_invariance_provider.so";
    return plumbline("run -q --baselines reviewed --provider '" + library.string() + "' " + arguments);
  }
  static std::filesystem::path build_directory() { return test::build_directory / "lib" / "plumbline"; }
};

struct Broken {
  const char* invariance;
  const char* problem;
  const char* words;  // what the second problem is called
};

class EachInvariance : public Invariances, public testing::WithParamInterface<Broken> {};

TEST_P(EachInvariance, IsBrokenUnseenByTheJudgeAndCaught) {
  const auto& [invariance, problem, words] = GetParam();
  const std::string the_case = " --case '" + id(invariance, problem) + "'";
  const auto judged = run(the_case);
  EXPECT_EQ(judged.code, 0) << judged.text;
  const auto caught = run(std::string("--invariances=") + invariance + the_case);
  EXPECT_EQ(caught.code, 1) << caught.text;
  EXPECT_THAT(caught.text, AllOf(HasSubstr(std::string("fail ") + invariance + " of " + id(invariance, problem)), HasSubstr("problem b"),
                                 HasSubstr(words), ContainsRegex("at sample [0-9]+ head [0-9]+ row [0-9]+")));
  const auto faithful = run(std::string("--invariances=") + invariance + " --case '" + id("faithful", problem) + "'");
  EXPECT_EQ(faithful.code, 0) << faithful.text;
  EXPECT_THAT(faithful.text, HasSubstr("1 invariance: 1 pass"));
}

INSTANTIATE_TEST_SUITE_P(All, EachInvariance,
                         testing::Values(Broken{"run_to_run", padded, "after a call with other values"}, Broken{"solo", padded, "alone"},
                                         Broken{"position", padded, "reverse order"}, Broken{"neighbour", padded, "longer samples"},
                                         Broken{"chunked_prefill", padded, "query rows"},
                                         Broken{"prefill_decode", padded, "row decoded alone"}, Broken{"split", padded, "KV splits"},
                                         Broken{"page_order", paged, "pages in reverse order"}, Broken{"page_size", paged, "pages of"},
                                         Broken{"layout", padded, "layout ragged"}, Broken{"padding", padded, "filled with nan"},
                                         Broken{"workspace", padded, "zeros"}, Broken{"capacity", padded, "room for 137 keys"},
                                         Broken{"strides", padded, "as views"}, Broken{"lse", padded, "LSE not asked for"},
                                         Broken{"two_scales", padded, "whose first call had the scale"}),
                         [](const auto& broken) { return std::string(broken.param.invariance); });

TEST_F(Invariances, AFaithfulKernelKeepsThemAll) {
  for (const char* problem : {padded, paged}) {
    const auto all = run("--invariances --case '" + id("faithful", problem) + "'");
    EXPECT_EQ(all.code, 0) << all.text;
    EXPECT_THAT(all.text, HasSubstr("16 invariances: "));
  }
}

TEST_F(Invariances, WithoutAPromiseRoundingIsReportedAndWrongAnswersFail) {
  const auto rounding = run("--invariances=solo --format json --case '" + id("unpromised", padded) + "'");
  EXPECT_EQ(rounding.code, 0) << rounding.text;
  const auto json = nlohmann::json::parse(rounding.text);
  ASSERT_EQ(json["invariances"].size(), 1u);
  const auto& solo = json["invariances"][0];
  EXPECT_EQ(solo["promise"], "none");
  EXPECT_EQ(solo["agreement"], "rounding");
  EXPECT_GT(solo["other_bits"], 0);
  EXPECT_GT(solo["sigmas"], 0);
  EXPECT_LE(solo["sigmas"], solo["limit"]);
  EXPECT_EQ(solo["verdict"], "pass");

  // A contract that pins nothing does not make a wrong answer right. The provider still declares: the stronger of both counts.
  write("reviewed/contracts.toml", "schema = 1\n");
  EXPECT_EQ(run("--invariances=strides --case '" + id("strides", padded) + "'").code, 1);
}

TEST_F(Invariances, AreStoredAndShownAndReported) {
  const std::string arguments = "--db a.db --junit j.xml --markdown m.md --case '" + id("solo", padded) + "' --invariances";
  EXPECT_EQ(run(arguments).code, 1);
  const auto rows = plumbline(
      "query --db a.db --format csv \"SELECT invariance, promise, agreement, verdict FROM v_invariances WHERE is_failure ORDER BY 1\"");
  EXPECT_THAT(rows.text, HasSubstr("solo,bitwise,rounding,fail"));
  EXPECT_THAT(rows.text, Not(HasSubstr("position")));
  EXPECT_THAT(read("j.xml"), ContainsRegex("<testcase classname=\"case.invariances\" name=\"solo of invariant/solo[^>]*>\n *<failure"));
  EXPECT_THAT(read("m.md"), AllOf(HasSubstr("### Invariances"), HasSubstr("| invariant/solo | = | ✗ | = |")));
  EXPECT_THAT(plumbline("show latest --db a.db").text, HasSubstr("invariances of invariant/solo"));
  const auto table = run("--case '" + id("faithful", padded) + "' --invariances=solo,page_size --format markdown");
  EXPECT_EQ(table.text,
            "| kernel | solo | page size |\n| --- | ---: | ---: |\n| invariant/faithful | = | · |\n\n"
            "= the same bits in every case, as promised; (=) the same bits, though not promised; ≈ within rounding, which was all that was "
            "promised; ✗ promise broken, or beyond rounding; · nothing to transform, or not taken.\n\n");
}

TEST_F(Invariances, TheReproduceLineRepeatsTheViolation) {
  const auto first = run("--invariances --case '" + id("lse", padded) + "'");
  const std::string mark = "reproduce: ";
  const auto at = first.text.find(mark);
  ASSERT_NE(at, std::string::npos) << first.text;
  const std::string line = first.text.substr(at + mark.size(), first.text.find('\n', at) - at - mark.size());
  EXPECT_THAT(line, HasSubstr("--invariances=lse"));
  const auto again = shell(line);
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("1 invariance: 1 fail"));
}

TEST_F(Invariances, OurKernelsKeepWhatTheirContractsPin) {
  const auto ours = plumbline("run " + suite("invariances.toml") + " --invariances --no-store -q --match '*/cpu/*'");
  EXPECT_EQ(ours.code, 0) << ours.text;
  const auto unknown = plumbline("run " + suite("invariances.toml") + " --invariances=nonsense --no-store -q");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, AllOf(HasSubstr("there is no invariance \"nonsense\""), HasSubstr("run_to_run, solo")));
}

}  // namespace
}  // namespace plumbline
