// `plumbline run` from a suite to a verdict in SQLite, and its reports of planted errors.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using RunCommand = test::CommandTest;

const char* const small_suite = R"(
schema = 1
name = "small"
[[group]]
name = "g"
reason = "a few quick cases"
kernels = ["cpu/flash"]
set = { heads_q = 4, heads_kv = 2, seq_q = 17, seq_kv = 100, mask = "causal_bottom_right" }
product = { dtype = ["fp16", "bf16"] }
)";

TEST_F(RunCommand, SmokePassesTwiceAndLeavesReports) {
  const auto first =
      plumbline("run " + suite("smoke.toml") + " --db a.db --junit j.xml --markdown m.md -q");
  EXPECT_EQ(first.code, 0) << first.text;
  EXPECT_THAT(read("j.xml"), HasSubstr("<testsuite "));
  EXPECT_THAT(read("m.md"), HasSubstr("smoke"));
  const auto second = plumbline("run " + suite("smoke.toml") + " --db a.db --format json -q");
  EXPECT_EQ(second.code, 0);
  const auto json = nlohmann::json::parse(second.text)["data"];
  EXPECT_EQ(json["exit_code"], 0);
  const auto verdicts = plumbline(
      "query \"SELECT DISTINCT verdict FROM v_latest ORDER BY 1\" --db a.db --format csv");
  EXPECT_THAT(verdicts.text, HasSubstr("pass"));
  EXPECT_THAT(verdicts.text, Not(HasSubstr("first_seen")));  // the second run has a past
}

TEST_F(RunCommand, ScaleErrorOfTenthPercentFails) {
  const auto run =
      plumbline("run " + suite("smoke.toml") + " --no-store -q -v --match '*/fp16/*' --provider '" +
                    cpu_provider("scale=1.001") + "'",
                "COLUMNS=400 ");
  EXPECT_EQ(run.code, 1) << run.text;
  EXPECT_THAT(run.text, HasSubstr("scale: the logits are too large"));
}

TEST_F(RunCommand, CausalOffByOneIsLocated) {
  const auto run = plumbline("run " + suite("smoke.toml") + " --no-store -q --provider '" +
                             cpu_provider("mask=off_by_one") + "'");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("edge: the key after the last visible one is seen"));
}

TEST_F(RunCommand, DroppedLastKeyIsLocated) {
  // -v: without it, one report stands for all failures of one cause.
  const auto run = plumbline("run " + suite("smoke.toml") + " --no-store -q -v --provider '" +
                                 cpu_provider("drop_last_key=1") + "'",
                             "COLUMNS=400 ");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("edge: the last visible key weighs too little"));
}

TEST_F(RunCommand, SaveOutputsKeepsPassingTensors) {
  write("s.toml", small_suite);
  const auto run = plumbline(
      "run s.toml --no-store -q --match '*/fp16/*' --save-failures failed --save-outputs saved");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(shell("ls saved/*.safetensors | wc -l").text, "1\n");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "failed"));
}

TEST_F(RunCommand, FailureReportHasLocationAndReproduce) {
  write("s.toml", small_suite);
  const auto run = plumbline(
      "run s.toml --no-store -q -v --match '*/fp16/*' --save-failures saved --provider '" +
      cpu_provider("drop_last_key=1") + "'");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("sample"));
  EXPECT_THAT(run.text, HasSubstr("P rounding"));
  EXPECT_THAT(run.text, HasSubstr("sigma"));
  EXPECT_THAT(run.text, HasSubstr("ulp"));
  const std::string mark = "reproduce: ";
  const auto at = run.text.find(mark);
  ASSERT_NE(at, std::string::npos) << run.text;
  const auto line = run.text.substr(at + mark.size(), run.text.find('\n', at) - at - mark.size());
  const auto again = shell(line);
  EXPECT_EQ(again.code, 1) << line << "\n" << again.text;
  EXPECT_THAT(again.text, AnyOf(HasSubstr("last visible key"), HasSubstr("the sample's last key")));

  const auto saved = shell("ls saved/*.safetensors | wc -l");
  EXPECT_EQ(std::stoi(saved.text), 1);
}

TEST_F(RunCommand, LooserSpecThanContractFails) {
  write("s.toml", small_suite);
  const auto pinned =
      plumbline("run s.toml --no-store -q --provider '" + cpu_provider("p_dtype=e4m3") + "'");
  EXPECT_EQ(pinned.code, 1);
  EXPECT_THAT(pinned.text, HasSubstr("spec is looser than its contract"));

  write("reviewed/contracts.toml", "schema = 1\n");
  write("reviewed/support.toml", "schema = 1\n");
  const auto strict = plumbline("run s.toml --no-store -q --baselines reviewed --provider '" +
                                cpu_provider("p_dtype=e4m3") + "'");
  EXPECT_EQ(strict.code, 1);
  EXPECT_THAT(strict.text, HasSubstr("looser"));
}

TEST_F(RunCommand, LegalTwinsNeedContract) {
  write("s.toml", std::string(small_suite));
  const auto undeclared = plumbline("run s.toml --no-store -q --provider '" +
                                    cpu_provider("denominator=rounded,undeclared=1") + "'");
  EXPECT_EQ(undeclared.code, 1);
  EXPECT_THAT(undeclared.text, HasSubstr("lse"));
  for (const char* kernel : {"cpu/flash_denominator", "cpu/split_kv_16"}) {
    const std::string id =
        std::string(kernel) + "/bf16/b1-h4x2-s17x400-d64/mask=causal_bottom_right";
    EXPECT_EQ(plumbline("run --case '" + id + "' -q").code, 0) << kernel;
    write("strict/contracts.toml", "schema = 1\n");
    write("strict/support.toml", "schema = 1\n");
    EXPECT_EQ(plumbline("run --case '" + id + "' -q --baselines strict").code, 1) << kernel;
  }
}

TEST_F(RunCommand, UnlistedRefusalFails) {
  write("s.toml", R"(
schema = 1
name = "fp32"
[[group]]
name = "g"
reason = "S5, beside a case that is measured: where all are refused, the table does not matter"
kernels = ["cpu/flash"]
set = { seq = 32 }
product = { dtype = ["fp32", "bf16"] }
)");
  const auto listed = plumbline("run s.toml --no-store -q");
  EXPECT_EQ(listed.code, 0) << listed.text;
  EXPECT_THAT(listed.text, HasSubstr("unsupported"));
  EXPECT_EQ(shell("mkdir r && cp '" +
                  (test::source_directory / "baselines/contracts.toml").string() + "' r/")
                .code,
            0);
  write("r/support.toml", "schema = 1\n");
  const auto unlisted = plumbline("run s.toml --no-store -q --baselines r");
  EXPECT_EQ(unlisted.code, 1) << unlisted.text;
  EXPECT_THAT(unlisted.text, HasSubstr("FlashAttention only supports fp16 and bf16"));
}

TEST_F(RunCommand, BadSuiteErrorNamesLine) {
  write("bad.toml",
        "schema = 1\nname = \"bad\"\n[[group]]\nname = \"g\"\nreason = \"r\"\nkernels = "
        "[\"cpu/flash\"]\nset = { dtyp = \"fp16\" }\n");
  const auto run = plumbline("run bad.toml --db a.db -q");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("bad.toml:7"));
  EXPECT_THAT(run.text, HasSubstr("dtype"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a.db"));
}

TEST_F(RunCommand, ThirdPartyKernelRunsSuiteProblems) {
  const auto library =
      (test::build_directory / "lib" / "plumbline" / "plumbline_test_provider.so").string();
  const auto run = plumbline("run " + suite("smoke.toml") + " --no-store -q --provider '" +
                             library + "' --kernel 'test/ok' --match '*/dense/*bf16*'");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("test/ok"));
  const auto crash =
      plumbline("run " + suite("smoke.toml") + " --no-store -q --provider '" + library +
                "' --kernel 'test/ok' --kernel 'test/crash_null' --match '*/dense/*bf16*'");
  EXPECT_EQ(crash.code, 1);
  EXPECT_THAT(crash.text, HasSubstr("crashed"));
  // the run continued: its four cases are in the table
  EXPECT_THAT(crash.text, ContainsRegex("test/ok +4"));
}

TEST_F(RunCommand, ShardsAreJudgedTogether) {
  ASSERT_EQ(plumbline("run " + suite("smoke.toml") + " --db a.db -q --shard 1/2").code, 0);
  EXPECT_THAT(plumbline("judge latest --db a.db").text, Not(HasSubstr("statistics passed")));
  EXPECT_THAT(plumbline("show latest -v --db a.db").text, HasSubstr("not judged"));
  ASSERT_EQ(plumbline("run " + suite("smoke.toml") + " --db a.db -q --shard 2/2").code, 0);
  const auto whole = plumbline("judge latest~1 latest --db a.db");
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_THAT(whole.text, ContainsRegex("[0-9]+ suite statistics passed"));
}

TEST_F(RunCommand, PartialRunStaysPartialAfterJudging) {
  ASSERT_EQ(plumbline("run " + suite("smoke.toml") + " --db a.db -q --match '*bf16*'").code, 0);
  EXPECT_THAT(plumbline("judge latest --db a.db").text,
              Not(ContainsRegex("suite statistics? passed")));
}

TEST_F(RunCommand, OverflowingInputsAreReported) {
  const auto run = plumbline("run -q --case 'cpu/flash/fp16/b1-h1-s17-d64/v_scale=60000'");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("the reference is not finite"));
}

TEST_F(RunCommand, UsageErrors) {
  EXPECT_EQ(plumbline("run --case 'cpu/none/bf16/b1-h1-s16-d64'").code, 2);
  EXPECT_EQ(plumbline("run --case 'cpu/flash/bf16/b1-h1-s16-d64' --shard 1/2").code, 2);
  EXPECT_EQ(plumbline("run " + suite("smoke.toml") + " --match nothing").code, 4);
  EXPECT_EQ(plumbline("run").code, 2);
  EXPECT_EQ(plumbline("run missing.toml").code, 2);
  EXPECT_EQ(plumbline("run --case 'cpu/flash/fp17/b1'").code, 2);
  EXPECT_EQ(plumbline("run --no-such-option").code, 2);
  EXPECT_EQ(plumbline("").code, 2);
  EXPECT_EQ(plumbline("run " + suite("smoke.toml") + " --shard 3/2").code, 2);
  EXPECT_EQ(plumbline("run " + suite("smoke.toml") + " --provider ./none.so").code, 3);
  write("text.db", "this is not a database, it only has the name of one");
  const auto run = plumbline("run " + suite("smoke.toml") + " --db text.db -q");
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(read("text.db"), "this is not a database, it only has the name of one");
}

TEST_F(RunCommand, ShardsCoverAllCases) {
  write("s.toml", small_suite);
  for (const char* shard : {"1/2", "2/2"}) {
    const auto run = plumbline("run s.toml --db a.db -q --shard " + std::string(shard));
    EXPECT_EQ(run.code, 0) << run.text;  // even if a shard has no case
  }
  const auto count =
      plumbline("query \"SELECT count(DISTINCT case_id) FROM v_history\" --db a.db --format csv");
  EXPECT_THAT(count.text, ContainsRegex("\n2"));
}

TEST_F(RunCommand, HelpHasExamples) {
  for (const char* command :
       {"list", "run", "judge", "show", "compare", "history", "baseline", "support",
        "support suggest", "resources", "query", "datasette-metadata", "doctor"}) {
    const auto help = plumbline(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.text, HasSubstr("Example")) << command;
  }
}

// The reference samples few rows, but a wrong row fails wherever it is.
TEST_F(RunCommand, OneDoubledRowIsFound) {
  const std::string id = "cpu/flash/bf16/b2-h2-s750x300-d64/mask=causal_bottom_right";
  const std::string command = "run --reference-cost 2e6 --row-seed 20260105 --case '" + id + "'";
  const auto legal = plumbline(command);
  EXPECT_EQ(legal.code, 0) << legal.text;
  int sampled = 0;
  for (const int row : {901, 1203, 1288, 1499, 2402, 2633, 2998}) {  // earlier rows see no key
    const auto run = plumbline(command + " --format json --provider '" +
                               cpu_provider("double_row=" + std::to_string(row)) + "'");
    EXPECT_EQ(run.code, 1) << row << '\n' << run.text;
    const auto outcome = nlohmann::json::parse(run.text)["data"]["outcomes"][0];
    EXPECT_EQ(outcome["row_seed"], 20260105);
    EXPECT_LT(outcome["reference_rows"].get<int>(), outcome["rows_total"].get<int>());
    if (outcome["errors"]["peak"].get<double>() > 6.5) {
      ++sampled;
    } else {
      EXPECT_EQ(outcome["worst"]["statistic"], "rows without a reference") << row;
    }
    const auto& worst = outcome["worst"]["element"];
    EXPECT_EQ(
        (worst["sample"].get<int>() * 750 + worst["row"].get<int>()) * 2 + worst["head"].get<int>(),
        row);
  }
  EXPECT_LT(sampled, 7);  // otherwise the reference had each row
  const auto text = plumbline(command + " --provider '" + cpu_provider("double_row=1203") + "'");
  EXPECT_THAT(text.text, HasSubstr("--row-seed 20260105"));
  const auto fixed_rows =
      plumbline("run --row-seed 0 --case cpu/flash/bf16/b1-h2-s40-d64 --provider '" +
                cpu_provider("drop_last_key=1") + "'");
  EXPECT_EQ(fixed_rows.code, 1) << fixed_rows.text;
  EXPECT_THAT(fixed_rows.text, HasSubstr(" --row-seed 0 --case")) << "else today's rows are drawn";
}

}  // namespace
}  // namespace plumbline
