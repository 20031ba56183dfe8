// Time gating: a planted 2x slowdown is a regression, and the same kernel again is not. Also the
// spread of times that evidence/time_statistics.py prints.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

class TimeGate : public test::CommandTest {
 protected:
  // Measures ten A/A runs and one at half the speed, in a database of their own. Returns what went
  // wrong, or "".
  std::string attempt(const std::string& database) const {
    for (int i = 0; i < 10; ++i) {
      const auto run = plumbline("run s.toml -q --db " + database);
      if (run.code != 0)
        return "A/A run " + std::to_string(i) + " exits " + std::to_string(run.code) + "\n" +
               run.text;
    }
    const auto slow = plumbline(
        "run s.toml -q --db " + database + " --provider '" + test::planted_cpu_provider() + "'",
        test::planted("slow=2"));
    if (slow.code != 1)
      return "half the speed exits " + std::to_string(slow.code) + "\n" + slow.text;
    const auto verdict =
        plumbline("query \"SELECT verdict FROM v_latest\" --format csv --db " + database);
    return verdict.text.find("regressed") != std::string::npos ? "" : verdict.text;
  }
};

// The promise is for an undisturbed machine. Other work may spoil a history, so a spoilt attempt is
// repeated.
TEST_F(TimeGate, SlowdownFailsAndRerunsPass) {
  write("s.toml", R"(
schema = 1
name = "timed"
[[group]]
name = "g"
reason = "one timed shape"
kernels = ["cpu/flash"]
timed = true
set = { dtype = "bf16", heads = 2, seq = 96, mask = "causal_bottom_right" }
)");
  std::string trouble;
  for (const char* database : {"a.db", "b.db", "c.db"}) {
    const auto result = attempt(database);
    if (result.empty()) return;
    trouble += result + "\n";
  }
  FAIL() << trouble;
}

class TimeStatistics : public test::CommandTest {
 protected:
  test::CommandResult statistics(const std::string& arguments) const {
    const auto script = test::source_directory / "evidence" / "time_statistics.py";
    return shell("python3 '" + script.string() + "' " + arguments);
  }
};

TEST_F(TimeStatistics, PrintsEachSeriesByClock) {
  write("s.toml", R"(
schema = 1
name = "timed"
[[group]]
name = "g"
reason = "two timed shapes"
kernels = ["cpu/flash"]
timed = true
set = { dtype = "bf16", heads = 2 }
product = { seq = [32, 48] }
)");
  for (int i = 0; i < 2; ++i)
    plumbline("run s.toml -q --repetitions 3 --db h.db --provider '" + test::cpu_provider() + "'");
  for (const char* clock : {"ratio", "cpu", "wall"}) {
    const auto text = statistics(std::string("h.db --least-runs 2 --format csv --clock ") + clock);
    EXPECT_EQ(text.code, 0) << text.text;
    EXPECT_THAT(text.text,
                testing::StartsWith("case,runs,median,between_runs,between_rounds,robust\n"));
    EXPECT_THAT(text.text, testing::HasSubstr("cpu/flash/bf16/b1-h2-s32-d64,2,"));
    EXPECT_THAT(text.text, testing::HasSubstr("cpu/flash/bf16/b1-h2-s48-d64,2,"));
  }
  EXPECT_THAT(statistics("h.db --least-runs 2").text, testing::HasSubstr("2 series by ratio"));
}

TEST_F(TimeStatistics, BadFileIsReported) {
  const auto missing = statistics("h.db");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.text, testing::HasSubstr("there is no file h.db; remedy: "));
  write("t.db", "no database");
  EXPECT_EQ(statistics("t.db").code, 2);
  EXPECT_THAT(statistics("t.db").text, testing::HasSubstr("file is not a database; remedy: "));
}

}  // namespace
}  // namespace plumbline
