// Runs plumbline audit end to end, on a provider with a few bugs.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const char* const suite_text = R"(
schema = 1
name = "few"
[[group]]
name = "g"
reason = "two lengths of keys"
kernels = ["tiny/*"]
set = { heads = 2, seq_q = 9 }
product = { dtype = ["fp16", "fp32"], seq_kv = [70, 33] }
)";

std::string mutant(const std::string& name, const std::string& bug_class,
                   const std::string& diagnosis) {
  return "[[mutant]]\nname = \"" + name + "\"\nclass = \"" + bug_class + "\"\nwhat = \"what " +
         name + " does\"\n" + diagnosis + "\n";
}

const char* const reviewed_ulp =
    "schema = 1\n[[survivor]]\nname = \"lse_ulp\"\ndtype = \"*\"\nreason = \"one ulp is "
    "rounding\"\n";

class Audit : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("s.toml", suite_text);
    write("reviewed/contracts.toml", "schema = 1\n");
    write("reviewed/support.toml", "schema = 1\n");
    write("reviewed/audit.toml", reviewed_ulp);
    write_catalogue("lse");
  }
  void write_catalogue(const std::string& class_of_ulp, const std::string& modes = "") {
    write("m.toml", "schema = 1\nprovider = \"tiny\"\n" +
                        mutant("mask_last_key", "mask", "diagnosis = \"edge\"") +
                        mutant("percent", "scale", "diagnosis = [\"denominator\", \"scale\"]") +
                        mutant("lse_base", "lse", "diagnosis = \"none\"") +
                        mutant("lse_ulp", class_of_ulp, modes) +
                        mutant("inert", "mask",
                               "needs = [\"what no problem has\"]\nmodes = [\"fp16\", \"bf16\"]"));
  }
  test::CommandResult audit(const std::string& arguments, const std::string& options = "") const {
    const auto library =
        (test::build_directory / "lib" / "plumbline" / "plumbline_tiny_mutants.so").string();
    return plumbline("audit " + arguments +
                     " -q -j 2 --catalogue m.toml --baselines reviewed --provider '" + library +
                     options + "'");
  }
};

TEST_F(Audit, CountsCatchesOfEachRule) {
  const auto result = audit("s.toml --format json");
  ASSERT_EQ(result.code, 0) << result.text;
  const json report = json::parse(result.text)["data"];
  EXPECT_EQ(report["problems"], 4);
  EXPECT_EQ(report["runs"], 28);
  EXPECT_EQ(report["false_alarms"], 0);
  EXPECT_EQ(report["not_exercised"], json::array({"inert (fp16)"}));
  EXPECT_EQ(report["mistrusted"], json::array());
  ASSERT_EQ(report["dtypes"].size(), 2U);
  for (const json& row : report["dtypes"]) {
    EXPECT_EQ(row["mutants"], 4) << "inert changes no bit";
    EXPECT_EQ(row["caught"], 3);
    EXPECT_EQ(row["caught_without_lse"], 2);
    EXPECT_EQ(row["legal_kernels"], 2);
    EXPECT_EQ(row["legal_runs"], 4);
    EXPECT_EQ(row["rules"].size(), 13U);
    for (const json& rule : row["rules"]) {
      if (rule["rule"] == "FlashAttention 2x") {
        EXPECT_EQ(rule["applies"], row["dtype"] == "fp16");
      }
      if (rule["rule"] == "allclose 1e-3") {
        EXPECT_EQ(rule["caught"], 2) << "none looks at the LSE";
      }
    }
  }
  EXPECT_EQ(report["diagnoses"]["right"], 2);
  EXPECT_EQ(report["diagnoses"]["not stated"], 1);
  for (const json& m : report["mutants"]) {
    if (m["name"] == "mask_last_key") {
      EXPECT_EQ(m["location"], "edge");
    }
    if (m["name"] == "lse_ulp") {
      EXPECT_EQ(m["reviewed"], "one ulp is rounding");
    }
    if (m["name"] == "lse_base") {
      EXPECT_THAT(m["first_case"].get<std::string>(), HasSubstr("tiny/lse_base/"));
    }
  }
}

TEST_F(Audit, UnreviewedSurvivorFails) {
  write("reviewed/audit.toml", "schema = 1\n");
  const auto result = audit("s.toml");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text,
              AllOf(HasSubstr("Survivors"), HasSubstr("what lse_ulp does"),
                    HasSubstr("2 unreviewed survivors"),
                    HasSubstr("changed no bit on this suite, not counted: inert (fp16)"),
                    HasSubstr("Caught by the LSE alone")));
  std::filesystem::remove(directory_ / "reviewed/audit.toml");
  EXPECT_EQ(audit("s.toml").code, 1);
}

TEST_F(Audit, ClassWithoutCatchIsMistrusted) {
  write_catalogue("ulps");
  const auto result = audit("s.toml --format markdown");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("mistrusted: no mutant of class ulps was caught"),
                                 HasSubstr("1 claim mistrusted"), HasSubstr("### Mutants caught")));
  write("m.toml", "claims = [\"mask\", \"lse\"]\n" + read("m.toml"));
  EXPECT_EQ(audit("s.toml").code, 0) << "the class is not claimed";
}

TEST_F(Audit, ClassWithoutChosenDtypeIsSkipped) {
  write_catalogue("ulps", "modes = [\"fp16\"]");
  const auto chosen = audit("s.toml --match '*/fp32/*'");
  EXPECT_EQ(chosen.code, 0) << chosen.text;
  EXPECT_THAT(chosen.text,
              AllOf(HasSubstr("not run: no mutant of class ulps has a dtype of these cases"),
                    Not(HasSubstr("mistrusted: "))));
  EXPECT_EQ(audit("s.toml --match '*/fp16/*'").code, 1) << "asked, and nothing caught";
  EXPECT_EQ(audit("s.toml").code, 1);
}

TEST_F(Audit, FlaggedLegalKernelFails) {
  const auto result = audit("s.toml", ":flagged");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("False alarms"), HasSubstr("tiny/legal_rounded_p"),
                                 HasSubstr("0 unreviewed survivors")));
}

TEST_F(Audit, ReviewOfCaughtMutantIsReported) {
  write("reviewed/audit.toml",
        std::string(reviewed_ulp) +
            "[[survivor]]\nname = \"scale_percent\"\ndtype = \"fp16\"\nreason = \"r\"\n");
  const auto result = audit("s.toml");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("reviewed as survivors, but caught: scale_percent (fp16)"));
}

TEST_F(Audit, BreakersAreListedNotRun) {
  const std::string others =
      read("m.toml").substr(0, read("m.toml").find("[[mutant]]\nname = \"inert\""));
  const auto breaker = [](const std::string& invariance) {
    return "[[breaker]]\nname = \"inert\"\nbreaks = \"" + invariance +
           "\"\nwhat = \"w\"\nzoo = \"\"\n";
  };
  write("m.toml", others + breaker("solo"));
  const auto result = audit("s.toml --format json");
  EXPECT_EQ(result.code, 0) << result.text;
  const json report = json::parse(result.text)["data"];
  EXPECT_EQ(report["runs"], 24);
  EXPECT_EQ(report["judged_by_invariances"], json::array({"inert (solo)"}));
  EXPECT_THAT(audit("s.toml").text,
              HasSubstr("judged by `run --invariances`, not here: inert (solo)"));
  EXPECT_EQ(
      json::parse(
          audit("s.toml --calibrate --format json --no-default-provider").text)["data"]["kernels"],
      json::array({"tiny/correct", "tiny/legal_rounded_p"}));

  write("m.toml", others + breaker("soloo"));
  const auto unknown = audit("s.toml");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("there is no invariance \"soloo\""));
}

TEST_F(Audit, UsesProblemsOfForeignSuite) {
  write("o.toml", R"(schema = 1
name = "other"
[[group]]
name = "g"
reason = "r"
kernels = ["cpu/*"]
set = { dtype = "fp16", heads = 2, seq_q = 9, seq_kv = 70 }
)");
  const json report = json::parse(audit("o.toml --format json").text)["data"];
  EXPECT_EQ(report["runs"], 7);
}

TEST_F(Audit, FindsCatalogueByLibraryName) {
  std::filesystem::copy_file(
      test::build_directory / "lib" / "plumbline" / "plumbline_tiny_mutants.so",
      directory_ / "bugs.so");
  write("bugs.toml", read("m.toml"));
  write("mutants.toml", "provider = \"other\"\n");
  const auto result = plumbline("audit s.toml -q --baselines reviewed --provider ./bugs.so");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, AllOf(HasSubstr("Mutants caught, by class"),
                                 ContainsRegex("tiny +mask +1 of 1 +1 of 1")));
  std::filesystem::remove(directory_ / "bugs.toml");
  EXPECT_THAT(plumbline("audit s.toml -q --baselines reviewed --provider ./bugs.so").text,
              HasSubstr("the provider other has no correct kernel"));
}

TEST_F(Audit, DuplicateNameInCataloguesIsRefused) {
  write("again.toml", read("m.toml"));
  const auto result = audit("s.toml --catalogue again.toml");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, ContainsRegex("(again|m).toml:[0-9]+: mask_last_key comes twice"));
}

TEST_F(Audit, ErrorsNameFileAndRemedy) {
  write("m.toml", "provider = \"tiny\"\n" + mutant("gone", "mask", ""));
  const auto gone = audit("s.toml");
  EXPECT_EQ(gone.code, 2);
  EXPECT_THAT(
      gone.text,
      AllOf(HasSubstr("m.toml:2: no loaded provider has a kernel tiny/gone or tiny/mask_gone"),
            HasSubstr("neither mutants nor legal: tiny/mask_last_key")));
  const auto library = (test::build_directory / "lib" / "plumbline" / "plumbline_cpu.so").string();
  std::filesystem::copy_file(library, directory_ / "alone.so");
  const auto none = plumbline("audit s.toml --provider ./alone.so");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.text, HasSubstr("there is no mutants.toml beside a provider"));
  EXPECT_EQ(audit("s.toml --seeds 3").code, 2) << "--seeds needs --calibrate";
}

TEST_F(Audit, CalibrationRunsLegalKernelsOverSeeds) {
  const auto result = audit("s.toml --calibrate --seeds 5..7 --format json --no-default-provider");
  ASSERT_EQ(result.code, 0) << result.text;
  const json report = json::parse(result.text)["data"];
  EXPECT_EQ(report["kernels"], json::array({"tiny/correct", "tiny/legal_rounded_p"}));
  EXPECT_EQ(report["runs"], 2 * 4 * 3);
  EXPECT_EQ(report["false_alarms"], 0);
  ASSERT_EQ(report["rows"].size(), 2U) << "fp16 and fp32";
  for (const json& row : report["rows"]) {
    EXPECT_EQ(row["tier"], "strict");
    EXPECT_EQ(row["runs"], 12);
    EXPECT_EQ(row["elements"], 12 * 2 * 9 * 64);
    EXPECT_GT(row["peak"]["value"].get<double>(), 0.5);
    EXPECT_LT(row["peak"]["percent_of_limit"].get<double>(), 100);
    EXPECT_EQ(row["lse"]["limit"], 6);
  }
  const auto same = json::parse(
      audit("s.toml --calibrate --seeds 5..7 --format json --no-default-provider").text)["data"];
  EXPECT_EQ(same["rows"], report["rows"]) << "the same seeds give the same figures";
}

// A --kernel glob over a provider selects its legal kernels, but none of its bugs.
TEST_F(Audit, CalibrationSelectsLegalKernels) {
  const std::string calibrate = "s.toml --calibrate --format json --no-default-provider ";
  const auto result = audit(calibrate + "--kernel 'tiny/*'");
  ASSERT_EQ(result.code, 0) << result.text;
  const json report = json::parse(result.text)["data"];
  EXPECT_EQ(report["kernels"], json::array({"tiny/correct", "tiny/legal_rounded_p"}));
  EXPECT_EQ(report["runs"], 2 * 4);
  EXPECT_EQ(report["false_alarms"], 0);
  EXPECT_EQ(json::parse(audit(calibrate + "--kernel 'tiny/legal*'").text)["data"]["kernels"],
            json::array({"tiny/legal_rounded_p"}));

  const auto bugs = audit("s.toml --calibrate --kernel tiny/scale_percent --kernel 'tiny/lse*'");
  EXPECT_EQ(bugs.code, 2);
  EXPECT_THAT(bugs.text, HasSubstr("all chosen ones are known bugs"));
}

TEST_F(Audit, CalibrationFailsOnFalseAlarm) {
  const auto result = audit("s.toml --calibrate --seeds 2", ":flagged");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("false alarm: tiny/legal_rounded_p/fp16/"),
                                 HasSubstr("seeds 1 to 2"), HasSubstr("strict")));
  EXPECT_THAT(audit("s.toml --calibrate --seeds 9..8").text,
              HasSubstr("neither a number of seeds nor a range"));
  EXPECT_EQ(audit("s.toml --calibrate --seeds 0").code, 2);
}

}  // namespace
}  // namespace plumbline
