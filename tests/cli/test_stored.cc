// Commands that read stored runs show the stored values, in text and in JSON.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::HasSubstr;

class Stored : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "two runs of the same cases"
kernels = ["cpu/flash", "cpu/flash_p32"]
product = { dtype = ["fp16", "bf16"], seq = [16, 65] }
[[diff]]
name = "d"
reason = "two kernels"
set = { seq = 65 }
a = { kernel = "cpu/flash" }
b = { kernel = "cpu/flash_p32" }
)");
    ASSERT_EQ(plumbline("run s.toml -q").code, 0);
  }
};

TEST_F(Stored, ShowPrintsRunAndCase) {
  EXPECT_THAT(plumbline("show").text, HasSubstr("cpu/flash_p32"));
  const auto one = plumbline("show latest 'cpu/flash/bf16*s65*'");
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.text, HasSubstr("cpu/flash/bf16"));
  EXPECT_EQ(plumbline("show latest 'nothing'").code, 2);
  EXPECT_EQ(plumbline("show feedface").code, 2);
  EXPECT_TRUE(nlohmann::json::accept(plumbline("show --format json").text));
  EXPECT_THAT(plumbline("show --format junit").text, HasSubstr("<testsuite"));
  EXPECT_THAT(plumbline("show latest d").text, HasSubstr("cpu/flash_p32"));
}

TEST_F(Stored, RunAndJudgeSupportShowFormats) {
  for (const std::string verb : {"run s.toml -q --no-store", "judge latest"}) {
    EXPECT_THAT(plumbline(verb + " --format junit").text, HasSubstr("<testsuite")) << verb;
    EXPECT_THAT(plumbline(verb + " --format markdown").text, HasSubstr("## plumbline: ")) << verb;
  }
}

TEST_F(Stored, CompareReportsChanges) {
  ASSERT_EQ(plumbline("run s.toml -q").code, 0);
  const auto same = plumbline("compare");
  EXPECT_EQ(same.code, 0);
  EXPECT_THAT(same.text, HasSubstr("0 only in"));
  ASSERT_EQ(plumbline("run s.toml -q --provider '" + cpu_provider("drop_last_key=1") + "'").code,
            1);
  const auto worse = plumbline("compare latest~1 latest");
  EXPECT_EQ(worse.code, 1);
  EXPECT_THAT(worse.text, HasSubstr("pass -> fail"));
  const auto json =
      nlohmann::json::parse(plumbline("compare latest~1 latest --format json").text)["data"];
  EXPECT_EQ(json["only_before"], 0);
}

TEST_F(Stored, ChangedBitsCanBeAccepted) {
  const auto changed = plumbline("run s.toml -q --provider '" + test::planted_cpu_provider() + "'",
                                 test::planted("tile_kv=24"));
  EXPECT_EQ(changed.code, 0) << changed.text;
  EXPECT_THAT(plumbline("query \"SELECT verdict FROM v_latest\" --format csv").text,
              HasSubstr("changed"));
  EXPECT_EQ(
      plumbline("baseline accept latest --cases 'cpu/*' --who me --why 'tile size reviewed'").code,
      0);
  EXPECT_THAT(plumbline("baseline list").text, HasSubstr("tile size reviewed"));
  EXPECT_EQ(plumbline("baseline accept latest --why ''").code, 2);
  EXPECT_EQ(plumbline("baseline accept latest").code, 2);
}

TEST_F(Stored, HistoryAndQuery) {
  const auto history = plumbline("history 'cpu/flash/bf16*'");
  EXPECT_EQ(history.code, 0) << history.text;
  EXPECT_THAT(history.text, HasSubstr("first seen"));
  EXPECT_EQ(plumbline("history \"it's not there\"").code, 4);
  EXPECT_EQ(plumbline("query \"DELETE FROM outcome\"").code, 2);
  EXPECT_EQ(plumbline("query \"SELECT nonsense\"").code, 2);
  EXPECT_EQ(plumbline("query").code, 2);
  const auto list = plumbline("query --list");
  EXPECT_EQ(list.code, 0);
  EXPECT_TRUE(nlohmann::json::accept(
      plumbline("query \"SELECT case_id FROM v_latest\" --format json").text));
}

TEST_F(Stored, RejudgingKeepsVerdicts) {
  const auto before =
      plumbline("query \"SELECT case_id, verdict FROM v_latest ORDER BY 1\" --format csv").text;
  const auto judged = plumbline("judge latest");
  EXPECT_EQ(judged.code, 0) << judged.text;
  EXPECT_EQ(
      plumbline("query \"SELECT case_id, verdict FROM v_latest ORDER BY 1\" --format csv").text,
      before);
  EXPECT_TRUE(nlohmann::json::accept(plumbline("judge latest --format json").text));
  EXPECT_EQ(plumbline("judge nothing").code, 2);
}

TEST_F(Stored, ListAndDoctor) {
  EXPECT_THAT(plumbline("list s.toml").text, HasSubstr("s/g/cpu/flash/fp16"));
  EXPECT_THAT(plumbline("list s.toml --count").text, HasSubstr("total"));
  EXPECT_EQ(
      nlohmann::json::parse(plumbline("list s.toml --format json").text)["data"]["cases"].size(),
      8U);
  EXPECT_THAT(plumbline("list --kernels").text, HasSubstr("cpu/split_kv"));
  EXPECT_EQ(plumbline("list").code, 2);
  const auto doctor = plumbline("doctor --format json");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  EXPECT_TRUE(nlohmann::json::accept(doctor.text)) << doctor.text;
  // --quick, because loading every bundled provider takes 20 processor seconds.
  EXPECT_EQ(plumbline("doctor --quick --provider ./none.so").code, 3);
  const std::string library =
      (test::build_directory / "lib" / "plumbline" / "plumbline_test_provider.so").string();
  EXPECT_THAT(plumbline("doctor --quick --provider " + library + ":allocate=35").text,
              HasSubstr(" (no device: allocate failed with code 35)"));
}

// Without numpy no Python provider works: one cause, one remedy.
TEST_F(Stored, DoctorNamesCauseOnce) {
  write("bare", "#!/bin/sh\nexec python3 -S \"$@\"\n");
  const auto doctor =
      shell("chmod +x bare && PLUMBLINE_PYTHON=\"$PWD/bare\" '" + program().string() + "' doctor");
  EXPECT_EQ(doctor.code, 0) << doctor.text;
  const auto count = [&](const std::string& words) {
    std::size_t found = 0;
    for (auto at = doctor.text.find(words); at != std::string::npos;
         at = doctor.text.find(words, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("numpy absent"), 1U) << doctor.text;
  EXPECT_EQ(count("/bare -m pip install numpy ml_dtypes"), 1U) << doctor.text;
  EXPECT_EQ(count("cannot be used: Python (above) cannot run kernels"), 1U) << doctor.text;
  EXPECT_EQ(count("usable numpy"), 0U) << doctor.text;
}

TEST_F(Stored, DoctorQuickSkipsBundledProviders) {
  const auto quick = plumbline("doctor --quick");
  EXPECT_EQ(quick.code, 0) << quick.text;
  EXPECT_THAT(quick.text, HasSubstr("bundled     not checked (--quick): "));
  EXPECT_THAT(quick.text, HasSubstr("torch"));
  EXPECT_EQ(quick.text.find("--provider torch"), std::string::npos) << quick.text;
}

TEST_F(Stored, PrintsDatasetteMetadata) {
  const auto printed = plumbline("datasette-metadata plumbline.db");
  EXPECT_EQ(printed.code, 0) << printed.text;
  const auto metadata = nlohmann::json::parse(printed.text);
  EXPECT_TRUE(metadata["databases"]["plumbline"]["queries"].contains("failing-since"));
  EXPECT_TRUE(metadata["databases"]["plumbline"]["tables"].contains("v_latest"));
}

TEST_F(Stored, MissingDatabaseIsReported) {
  for (const char* command :
       {"show --db no/where.db", "history x --db no/where.db", "compare --db no/where.db"}) {
    EXPECT_EQ(plumbline(command).code, 3) << command;
  }
}

}  // namespace
}  // namespace plumbline
