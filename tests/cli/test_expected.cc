// Expected failures from the suite to the exit code, with planted bugs of the CPU kernels.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Expected : public test::CommandTest {
 protected:
  // Writes four cases of cpu/flash. Those of fp16 are expected to fail until `expires`.
  void write_suite(const std::string& expires, const std::string& kernels = "cpu/flash") {
    write("s.toml", R"(schema = 1
name = "s"
[[group]]
name = "g"
reason = "the last key counts"
kernels = ["cpu/flash"]
product = { dtype = ["fp16", "bf16"], seq = [16, 65] }
[[expect_failure]]
reason = "the last key is dropped"
issue = "https://example.com/issues/7"
expires = )" + expires + "\nkernels = [\"" +
                        kernels + "\"]\nmatch = { dtype = \"fp16\" }\n");
  }
  test::CommandResult run(const std::string& planted, const std::string& more = "") {
    return plumbline("run s.toml -q " + more +
                         (planted.empty() ? "" : " --provider '" + cpu_provider(planted) + "'"),
                     "COLUMNS=400 ");
  }
  std::string verdicts() {
    std::string csv = plumbline(
                          "query \"SELECT dtype, verdict, count(*) FROM v_latest GROUP BY 1, 2 "
                          "ORDER BY 1, 2\" --format csv")
                          .text;
    std::erase(csv, '\r');
    return csv;
  }
};

TEST_F(Expected, FailuresPassUntilExpiry) {
  write_suite("2999-12-31");
  const auto fine = run("drop_last_key=1", "--match '*fp16*' --junit j.xml --markdown m.md");
  EXPECT_EQ(fine.code, 0) << fine.text;
  EXPECT_THAT(fine.text, AllOf(HasSubstr("2 expected_failure"), HasSubstr("expected failures\n"),
                               HasSubstr("https://example.com/issues/7")));
  EXPECT_THAT(
      read("j.xml"),
      AllOf(HasSubstr("skipped=\"2\""),
            HasSubstr("expected failure until 2999-12-31, https://example.com/issues/7: peak")));
  EXPECT_THAT(read("m.md"),
              AllOf(HasSubstr("Expected failures: "), HasSubstr("no failure in 2 cases")));
  EXPECT_THAT(
      plumbline("show latest '*fp16*s65*'", "COLUMNS=400 ").text,
      AllOf(HasSubstr("expected_failure: would be explained if each sample's last key"),
            HasSubstr("\n  cpu/flash/fp16/b1-h1-s65-d64: "), HasSubstr("the last key is dropped"),
            HasSubstr("worst"), HasSubstr("reproduce: ")));
  const auto json = nlohmann::json::parse(plumbline("show --format json").text)["data"];
  EXPECT_EQ(json["outcomes"][0]["expected_failure"]["expires"], "2999-12-31");
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(plumbline("judge latest").code, 0);
  EXPECT_EQ(verdicts(), "dtype,verdict,count(*)\nfp16,expected_failure,2\n");
}

// The failure comes from a limit, because other options of the provider would be another series.
TEST_F(Expected, FailuresAreNotBaselines) {
  std::filesystem::create_directory(directory_ / "tight");
  write("tight/support.toml", "schema = 1\n");
  write("tight/contracts.toml", R"(schema = 1
[[contract]]
kernel = "cpu/flash"
reason = "no kernel keeps to it"
padding_policy = "zeros"
spec = { p_dtype = "input", qk_accumulator = "fma", pv_accumulator = "fma" }
limits = { rms = 0.01 }
)");
  for (const std::string expires : {"2999-12-31", "2020-01-01"}) {
    write_suite(expires);
    const bool is_fine = expires == "2999-12-31";
    EXPECT_EQ(run("", "--match '*fp16*' --baselines tight").code, is_fine ? 0 : 1) << expires;
    EXPECT_EQ(verdicts(), is_fine ? "dtype,verdict,count(*)\nfp16,expected_failure,2\n"
                                  : "dtype,verdict,count(*)\nfp16,fail,2\n");
  }
  EXPECT_EQ(run("", "--match '*fp16*'").code, 0);
  EXPECT_EQ(verdicts(), "dtype,verdict,count(*)\nfp16,first_seen,2\n");
}

TEST_F(Expected, UncoveredFailuresStillFail) {
  write_suite("2999-12-31");
  EXPECT_EQ(run("drop_last_key=1").code, 1);
  EXPECT_EQ(verdicts(), "dtype,verdict,count(*)\nbf16,fail,2\nfp16,expected_failure,2\n");
}

TEST_F(Expected, FailuresAreExcludedFromSuiteScores) {
  const auto summed = [this] {
    return plumbline("query \"SELECT DISTINCT dtype FROM v_suite_scores\" --format csv").text;
  };
  write_suite("2999-12-31");
  run("drop_last_key=1");
  EXPECT_THAT(summed(), AllOf(HasSubstr("bf16"), Not(HasSubstr("fp16"))));
  write_suite("2020-01-01");
  run("drop_last_key=1");
  EXPECT_THAT(summed(), AllOf(HasSubstr("bf16"), HasSubstr("fp16")));
}

TEST_F(Expected, UnexpectedPassFails) {
  write_suite("2999-12-31");
  const auto passes = run("", "--junit j.xml");
  EXPECT_EQ(passes.code, 1);
  EXPECT_THAT(passes.text, AllOf(HasSubstr("2 unexpected_pass"),
                                 HasSubstr("remove the [[expect_failure]] at s.toml:8")));
  EXPECT_THAT(read("j.xml"), HasSubstr("<failure type=\"unexpected_pass\""));
  EXPECT_EQ(verdicts(), "dtype,verdict,count(*)\nbf16,first_seen,2\nfp16,unexpected_pass,2\n");
  EXPECT_EQ(plumbline("judge latest").code, 1);
}

TEST_F(Expected, ExpiredFailuresFail) {
  write_suite("2020-01-01");
  const auto expired = run("drop_last_key=1", "--match '*fp16*'");
  EXPECT_EQ(expired.code, 1);
  EXPECT_THAT(expired.text, AllOf(HasSubstr("2 fail"), HasSubstr("expired on 2020-01-01")));
}

TEST_F(Expected, ListCommandShowsEntries) {
  write_suite("2999-12-31");
  const auto listed = plumbline("list s.toml --expected");
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.text, AllOf(HasSubstr("days left"), HasSubstr("2999-12-31"),
                                 HasSubstr("the last key is dropped"), Not(HasSubstr("bf16"))));
  const auto json = nlohmann::json::parse(
      plumbline("list s.toml --expected --format json").text)["data"]["expected_failures"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["expired"], false);
  EXPECT_GT(json[0]["days_left"], 300'000);
  EXPECT_EQ(json[0]["line"], 8);
  write_suite("\"2020-01-01\"");
  EXPECT_THAT(plumbline("list s.toml --expected").text, HasSubstr("EXPIRED"));
  EXPECT_EQ(plumbline("list s.toml --expected --match '*bf16*'").text,
            "no case is expected to fail\n");
  EXPECT_EQ(plumbline("list s.toml --expected --count").code, 2);
}

TEST_F(Expected, KernelWithoutCaseIsRefused) {
  write_suite("2999-12-31", "cpu/naive");
  const auto unknown = plumbline("run s.toml -q");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("s.toml:8: the expected failure occurs in no case"));
}

}  // namespace
}  // namespace plumbline
