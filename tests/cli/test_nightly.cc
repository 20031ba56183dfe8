// ci/nightly.sh restores the history, extends it and returns it, even if the night fails.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::HasSubstr;

class Nightly : public test::CommandTest {
 protected:
  void SetUp() override {
    test::CommandTest::SetUp();
    write("s.toml", R"(
schema = 1
name = "night"
tier = "nightly"
[[group]]
name = "g"
reason = "a short night"
kernels = ["cpu/flash"]
set = { seq = 40, heads_q = 2 }
product = { dtype = ["fp16", "bf16"] }
)");
  }
  // Runs a night with the existing history, otherwise a first night.
  test::CommandResult night(const std::string& arguments) const {
    const bool first = !std::filesystem::exists(directory_ / "h.db");
    return run_nightly(arguments + (first ? " --first-night" : ""));
  }
  test::CommandResult run_nightly(const std::string& arguments) const {
    const auto script = test::source_directory / "ci" / "nightly.sh";
    return shell("PLUMBLINE_BINARY='" + program().string() + "' '" + script.string() +
                 "' --suite \"$PWD/s.toml\" --out \"$PWD/out\" " + arguments);
  }
  std::string verdicts(const std::string& database) const {
    return plumbline(
               "query \"SELECT verdict, count(*) FROM v_history GROUP BY verdict ORDER BY 1\" "
               "--format csv --db " +
               database)
        .text;
  }
};

TEST_F(Nightly, SecondNightComparesWithFirst) {
  const auto first = night("--history \"$PWD/h.db\"");
  EXPECT_EQ(first.code, 0) << first.text;
  EXPECT_THAT(verdicts("h.db"), HasSubstr("first_seen,2"));
  EXPECT_THAT(first.text, testing::ContainsRegex("stored in /[^\n]*/h\\.db\n"));
  EXPECT_THAT(first.text, testing::Not(HasSubstr("night.db")))
      << "a file that is gone when the log is read";
  EXPECT_THAT(read("out/summary.md"), testing::Not(HasSubstr("### Resources")))
      << "the suite has no CUDA kernel";
  const auto second = night("--history \"$PWD/h.db\"");
  EXPECT_EQ(second.code, 0) << second.text;
  EXPECT_THAT(verdicts("h.db"), HasSubstr("pass,2"));
  EXPECT_THAT(read("out/summary.md"), HasSubstr("night"));
  EXPECT_THAT(read("out/junit.xml"), HasSubstr("testsuite"));
}

TEST_F(Nightly, FailingNightIsAddedToHistory) {
  ASSERT_EQ(night("--history \"$PWD/h.db\"").code, 0);
  const auto failing =
      night("--history \"$PWD/h.db\" -- --provider '" + cpu_provider("drop_last_key=1") + "'");
  EXPECT_EQ(failing.code, 1) << failing.text;
  EXPECT_THAT(verdicts("h.db"), HasSubstr("fail,2"));
  EXPECT_EQ(shell("ls out/failures/*.safetensors | wc -l").text, "2\n");
}

// The invariances are a separate run before the night's, and a broken one fails the night.
TEST_F(Nightly, BrokenInvarianceFailsNight) {
  const std::string suite_of_them = " --invariances \"$PWD/s.toml\"";
  const auto kept = night("--history \"$PWD/h.db\"" + suite_of_them);
  EXPECT_EQ(kept.code, 0) << kept.text;
  EXPECT_THAT(read("out/summary.md"), HasSubstr("### Invariances"));
  EXPECT_THAT(read("out/invariances.xml"), HasSubstr("two_scales of cpu/flash"));
  EXPECT_THAT(plumbline("query \"SELECT count(DISTINCT run_id), count(*) FROM v_invariances\" "
                        "--format csv --db h.db")
                  .text,
              HasSubstr("1,34"));
  EXPECT_THAT(plumbline("show latest --db h.db").text, testing::Not(HasSubstr("invariances of")));

  // Only the suite of the invariances names the kernel that breaks one.
  write("i.toml",
        "schema = 1\nname = \"broken\"\n[[group]]\nname = \"g\"\nreason = \"breaks solo\"\nkernels "
        "= [\"mutants/varies_solo\"]\n"
        "set = { batch = 2, seq = 40, heads_q = 8, dtype = \"bf16\" }\n");
  const auto library = test::build_directory / "lib" / "plumbline" / "plumbline_mutants.so";
  const auto failing =
      night("--history \"$PWD/h.db\" --invariances \"$PWD/i.toml\" -- --provider '" +
            library.string() + "'");
  EXPECT_EQ(failing.code, 1) << failing.text;
  EXPECT_THAT(read("out/summary.md"), HasSubstr("solo of mutants/varies_solo"));
  EXPECT_THAT(verdicts("h.db"), testing::Not(HasSubstr("fail")))
      << "the cases themselves are right";
}

// An approved kernel that was not compiled fails the night. The resources of compiled ones are
// stored with its run.
TEST_F(Nightly, MissingResourcesFailNight) {
  write("reports/new.ptxas.txt",
        "# source: new.cu\n# toolkit: nvcc 13.0.88\nptxas info    : Compiling entry function "
        "'fresh' for 'sm_90'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used "
        "48 registers, used 1 barriers\n");
  const auto first = night("--history \"$PWD/h.db\" --reports \"$PWD/reports\"");
  EXPECT_EQ(first.code, 1) << first.text;
  EXPECT_THAT(first.text, HasSubstr("approved, but not compiled"));
  EXPECT_THAT(read("out/summary.md"), HasSubstr("### Resources of compiled kernels"));
  const auto stored = plumbline(
      "query \"SELECT r.kernel, r.registers FROM v_resources AS r JOIN v_history AS h USING "
      "(run_id) WHERE r.verdict = 'first_seen' LIMIT "
      "1\" "
      "--format csv --db h.db");
  EXPECT_THAT(stored.text, HasSubstr("fresh,48"));
}

// Without its history, a night would find no regression and be green.
TEST_F(Nightly, MissingHistoryFailsExceptFirstNight) {
  const auto lost = run_nightly("--history \"$PWD/h.db\"");
  EXPECT_EQ(lost.code, 3) << lost.text;
  EXPECT_THAT(lost.text, testing::AllOf(HasSubstr("h.db is missing"), HasSubstr("remedy"),
                                        HasSubstr("--first-night")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "h.db"));
  write("h.db", "");
  EXPECT_EQ(run_nightly("--history \"$PWD/h.db\"").code, 3) << "an empty file is no history";
  std::filesystem::remove(directory_ / "h.db");
  EXPECT_EQ(run_nightly("--history \"$PWD/h.db\" --first-night").code, 0);
  const auto again = run_nightly("--history \"$PWD/h.db\" --first-night");
  EXPECT_EQ(again.code, 3) << again.text;
  EXPECT_THAT(again.text, HasSubstr("not the first night"));
}

// The commit is that of the code under test: --commit, otherwise that of the repository in which
// the night starts.
TEST_F(Nightly, StoresCommitUnderTest) {
  const auto commits = [&] {
    return plumbline(
               "query \"SELECT code_commit FROM v_runs ORDER BY run_order\" --format csv --db h.db")
        .text;
  };
  shell(
      "git init -q . && git -c user.name=n -c user.email=e@example.com commit -q --allow-empty -m "
      "m");
  const auto head = shell("git rev-parse HEAD").text;
  const auto script = "PLUMBLINE_BINARY='" + program().string() + "' '" +
                      (test::source_directory / "ci" / "nightly.sh").string() +
                      "' --suite \"$PWD/s.toml\" --out \"$PWD/out\" --history \"$PWD/h.db\" ";
  ASSERT_EQ(shell("unset PLUMBLINE_COMMIT GITHUB_SHA; " + script + "--first-night").code, 0);
  EXPECT_THAT(commits(), HasSubstr(head.substr(0, 40)));
  ASSERT_EQ(shell(script + "--commit abc123").code, 0);
  EXPECT_THAT(commits(), HasSubstr("abc123"));
}

// The earlier night had a case that this one lacks.
TEST_F(Nightly, VanishedCaseLeavesNightOpen) {
  ASSERT_EQ(night("--history \"$PWD/h.db\"").code, 0);
  const std::string suite = read("s.toml");
  write("s.toml", suite.substr(0, suite.find("[\"fp16\"")) + "[\"bf16\"] }\n");
  const auto lost = night("--history \"$PWD/h.db\"");
  EXPECT_EQ(lost.code, 5) << lost.text;
  EXPECT_THAT(read("out/summary.md"),
              testing::AllOf(HasSubstr("vanished"), HasSubstr("cpu/flash/fp16")));
  EXPECT_EQ(
      plumbline("baseline accept latest --cases '*fp16*' --who me --why 'bf16 is enough' --db h.db")
          .code,
      0);
  EXPECT_EQ(night("--history \"$PWD/h.db\"").code, 0);
}

TEST_F(Nightly, InvalidHistoryStaysUnchanged) {
  write("h.db", "not a database at all, but somebody's file");
  EXPECT_NE(night("--history \"$PWD/h.db\"").code, 0);
  EXPECT_EQ(read("h.db"), "not a database at all, but somebody's file");
  EXPECT_EQ(night("").code, 2);
  EXPECT_EQ(night("--nonsense").code, 2);
}

}  // namespace
}  // namespace plumbline
