// Each invariance catches a kernel that breaks it as real kernels do: varies_* in kernels/mutants.
// Without invariances, the judge passes all of them except varies_run_to_run.
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

constexpr const char* padded = "bf16/b3-h4x2-s150-d64/mask=causal_bottom_right/lengths=random";
constexpr const char* ragged =
    "fp16/b3-h4x2-s100-d64/mask=causal_bottom_right/layout=ragged/lengths=random";
constexpr const char* windowed = "fp16/b2-h4x2-s40x170-d64/mask=causal_bottom_right/window=21,-1";
constexpr const char* paged =
    "bf16/b3-h4x2-s9x90-d64/mask=causal_bottom_right/layout=paged_nhd/lengths=random";

class Invariances : public test::CommandTest {
 protected:
  static std::string id(const std::string& kernel, const std::string& problem) {
    return "mutants/" + kernel + "/" + problem;
  }
  test::CommandResult run(const std::string& arguments) const {
    const auto library = test::build_directory / "lib" / "plumbline" / "plumbline_mutants.so";
    return plumbline("run " + arguments + " -q --provider '" + library.string() + "'",
                     "COLUMNS=400 ");
  }
};

struct Broken {
  const char* invariance;
  const char* problem;
  const char* words;  // description of the second problem
};

class EachInvariance : public Invariances, public testing::WithParamInterface<Broken> {};

TEST_P(EachInvariance, CatchesBreakerUnseenByJudge) {
  const auto& [invariance, problem, words] = GetParam();
  const std::string breaker = id(std::string("varies_") + invariance, problem);
  const auto judged = run("--case '" + breaker + "'");
  // The third call of a case already shows changes from call to call.
  const bool is_seen = std::string_view(invariance) == "run_to_run";
  EXPECT_EQ(judged.code, is_seen ? 1 : 0) << judged.text;
  const auto caught = run(std::string("--invariances=") + invariance + " --case '" + breaker + "'");
  EXPECT_EQ(caught.code, 1) << caught.text;
  EXPECT_THAT(
      caught.text,
      AllOf(HasSubstr("fail: "), HasSubstr(std::string("  ") + invariance + " of " + breaker),
            HasSubstr("problem b"), HasSubstr(words),
            ContainsRegex(
                "(at|of)[[:space:]]+sample[[:space:]]+[0-9]+[[:space:]]+head[[:space:]]+[0-9]+"
                "[[:space:]]+row[[:space:]]+[0-9]+"),
            ContainsRegex(
                "standard[[:space:]]+deviations|no[[:space:]]+rounding[[:space:]]+explains")));
  const auto faithful = run(std::string("--invariances=") + invariance + " --case '" +
                            id("legal_one_split", problem) + "'");
  EXPECT_EQ(faithful.code, 0) << faithful.text;
  EXPECT_THAT(faithful.text, HasSubstr("invariances: 1 pass"));
}

INSTANTIATE_TEST_SUITE_P(
    All, EachInvariance,
    testing::Values(
        Broken{"run_to_run", padded, "after a call with other values"},
        Broken{"solo", padded, "alone"}, Broken{"position", padded, "samples in reverse order"},
        Broken{"neighbour", padded, "longer samples"},
        Broken{"chunked_prefill", padded, "query rows"},
        Broken{"prefill_decode", padded, "row decoded alone"}, Broken{"split", padded, "KV splits"},
        Broken{"page_order", paged, "pages in"}, Broken{"page_size", paged, "pages of"},
        Broken{"layout", ragged, "padded on the left"},
        Broken{"padding", padded, "filled with nan"}, Broken{"workspace", padded, "zeros"},
        Broken{"capacity", padded, "room for 217 keys"}, Broken{"strides", padded, "as views"},
        Broken{"lse", padded, "LSE not requested"},
        Broken{"two_scales", padded, "whose first call had the scale"},
        Broken{"hidden_keys", windowed, "filled with NaN"}),
    [](const auto& broken) { return std::string(broken.param.invariance); });

TEST_F(Invariances, MostBreakersPassPlainCases) {
  const auto judged = run(suite("invariances_mutants.toml") + " --no-store");
  EXPECT_EQ(judged.code, 1) << judged.text;
  EXPECT_THAT(judged.text, HasSubstr("cases: 102 first seen, 6 fail"));
  EXPECT_THAT(judged.text, HasSubstr("in 5 of mutants/varies_run_to_run"));
}

TEST_F(Invariances, LegalKernelKeepsAll) {
  const auto all = run(suite("invariances_mutants.toml") +
                       " --no-store --invariances --match '*legal_one_split*'");
  EXPECT_EQ(all.code, 0) << all.text;
  EXPECT_THAT(all.text, HasSubstr("6 cases and 102 invariances, "));
}

TEST_F(Invariances, RoundingPromiseReportsDifferentBits) {
  const auto rounding =
      run(std::string("--invariances=split --format json --case 'cpu/split_kv/") + padded + "'");
  EXPECT_EQ(rounding.code, 0) << rounding.text;
  const auto json = nlohmann::json::parse(rounding.text)["data"];
  ASSERT_EQ(json["invariances"].size(), 1u);
  const auto& split = json["invariances"][0];
  EXPECT_EQ(split["promise"], "rounding");
  EXPECT_EQ(split["agreement"], "rounding");
  EXPECT_GT(split["other_bits"], 0);
  EXPECT_GT(split["sigmas"], 0);
  EXPECT_LE(split["sigmas"], split["limit"]);
  EXPECT_EQ(split["verdict"], "pass");

  // A contract without pins withdraws no promise: the provider still declares it, and the stronger
  // one counts.
  write("reviewed/contracts.toml", "schema = 1\n");
  write("reviewed/support.toml", "schema = 1\n");
  EXPECT_EQ(run("--baselines reviewed --invariances=strides --case '" +
                id("varies_strides", padded) + "'")
                .code,
            1);
}

TEST_F(Invariances, ResultsAreStoredAndReported) {
  const std::string arguments = "--db a.db --junit j.xml --markdown m.md --case '" +
                                id("varies_solo", padded) + "' --invariances";
  EXPECT_EQ(run(arguments).code, 1);
  const auto rows = plumbline(
      "query --db a.db --format csv \"SELECT invariance, promise, agreement, verdict FROM "
      "v_invariances WHERE is_failure ORDER BY 1\"");
  EXPECT_THAT(rows.text, HasSubstr("solo,bitwise,rounding,fail"));
  EXPECT_THAT(rows.text, Not(HasSubstr("position")));
  EXPECT_THAT(read("j.xml"), ContainsRegex("<testcase classname=\"case.invariances\" name=\"solo "
                                           "of mutants/varies_solo[^>]*>\n *<failure"));
  EXPECT_THAT(read("m.md"), AllOf(HasSubstr("### Invariances"),
                                  HasSubstr("| mutants/varies\\_solo | = | ✗ | = |")));
  EXPECT_THAT(plumbline("show latest --db a.db").text,
              HasSubstr("invariances of mutants/varies_solo"));
  const auto table = run("--case '" + id("legal_one_split", padded) +
                         "' --invariances=solo,page_size --format markdown");
  EXPECT_EQ(
      table.text,
      "| kernel | solo | page size |\n| --- | ---: | ---: |\n| mutants/legal\\_one\\_split | = | · "
      "|\n\n"
      "= the same bits in every case, as promised; (=) the same bits, though not promised; ≈ "
      "within rounding, which was all that was "
      "promised; ✗ promise broken, or beyond rounding; ? not judged, because no promise covers the "
      "difference; · nothing to transform, rejected or not measured.\n\n");
}

TEST_F(Invariances, MissingPromiseCountsAsNotJudged) {
  const auto hidden = [&](const char* problem) {
    const auto done = run(std::string("--invariances=hidden_keys --format json --no-store --case "
                                      "'cpu/flash/") +
                          problem + "'");
    EXPECT_EQ(done.code, 0) << done.text;
    return nlohmann::json::parse(done.text)["data"];
  };
  const auto filled = hidden(windowed), nothing_hidden = hidden(padded);
  EXPECT_EQ(filled["invariances"][0]["is_not_judged"], true);
  EXPECT_EQ(filled["counts"]["invariances"]["not_judged"], 1);
  EXPECT_EQ(nothing_hidden["invariances"][0]["is_not_judged"], false);
  EXPECT_EQ(nothing_hidden["counts"]["invariances"]["not_judged"], 0);
  for (const auto& data : {filled, nothing_hidden})
    EXPECT_EQ(data["invariances"][0]["verdict"], "unsupported");
}

TEST_F(Invariances, ReproduceCommandRepeatsViolation) {
  const auto first = run("--invariances --case '" + id("varies_lse", padded) + "'");
  const std::string mark = "reproduce: ";
  const auto at = first.text.find(mark);
  ASSERT_NE(at, std::string::npos) << first.text;
  const std::string line =
      first.text.substr(at + mark.size(), first.text.find('\n', at) - at - mark.size());
  EXPECT_THAT(line, HasSubstr("--invariances=lse"));
  const auto again = shell(line);
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("invariances: 1 fail"));
}

TEST_F(Invariances, BundledKernelsKeepPinnedInvariances) {
  const auto ours = plumbline("run " + suite("invariances.toml") +
                              " --invariances --no-store -q --match '*/cpu/*'");
  EXPECT_EQ(ours.code, 0) << ours.text;
  const auto unknown =
      plumbline("run " + suite("invariances.toml") + " --invariances=nonsense --no-store -q");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, AllOf(HasSubstr("there is no invariance \"nonsense\""),
                                  HasSubstr("run_to_run, solo")));
}

}  // namespace
}  // namespace plumbline
