// plumbline bisect: in a real repository a provider becomes slow or wrong at a known commit, and
// the script finds it.
#include <gmock/gmock.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* case_id = "sample/naive/bf16/b1-h2-s96-d64";

// Nine commits of a small provider, which one call of the compiler builds.
class Bisect : public test::CommandTest {
 protected:
  static constexpr int commits = 9, first_bad = 6;

  void SetUp() override {
    CommandTest::SetUp();
    std::filesystem::create_directories(directory_ / "repo");
    git("init -q -b main && git config user.email a@example.com && git config user.name a");
    std::filesystem::copy(test::source_directory / "tests/sample_provider/sample_provider.c",
                          directory_ / "repo" / "provider.c");
    write("repo/.gitignore", "*.so\n");
    write("s.toml",
          "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"one\"\nkernels = "
          "[\"sample/naive\"]\ntimed = true\nset = { heads = 2, dtype = \"bf16\", seq = 96 }\n");
  }
  test::CommandResult git(const std::string& arguments) const {
    const auto done = shell("cd repo && git " + arguments);
    EXPECT_EQ(done.code, 0) << done.text;
    return done;
  }
  // Makes commit `number`. From the first bad commit on, the provider has `to` in place of `from`.
  void commit(int number, const std::string& from, const std::string& to) const {
    std::string text = read("repo/provider.c");
    if (number == first_bad) {
      const auto at = text.find(from);
      ASSERT_NE(at, std::string::npos);
      text.replace(at, from.size(), to);
    }
    write("repo/provider.c", text + "/* commit " + std::to_string(number) + " */\n");
    git("add -A && git commit -q -m 'commit " + std::to_string(number) + "'");
  }
  std::string head() const {
    std::string id = git("rev-parse HEAD").text;
    id.pop_back();
    return id;
  }
  static std::string build() {
    return "cc -O2 -shared -fPIC -I" + (test::source_directory / "harness/provider").string() +
           " -o provider.so provider.c -lm";
  }
  std::string measure(const std::string& commit) const {
    const auto built = shell("cd repo && " + build());
    EXPECT_EQ(built.code, 0) << built.text;
    const auto done = shell("cd repo && '" + program().string() +
                            "' run ../s.toml -q --no-default-provider --provider ./provider.so "
                            "--db ../h.db --repetitions 5 --commit " +
                            commit);
    return done.text;
  }
  test::CommandResult write_script(const std::string& more) const {
    return plumbline(std::string("bisect --db h.db --case ") + case_id + " --build '" + build() +
                     "' --provider ./provider.so --no-default-provider " + more + " > find.sh");
  }
  std::string first_, bad_, last_;  // commits
};

// If nothing is wrong, the script must report this instead of naming a commit.
TEST_F(Bisect, FindsWrongCommitAndRestoresCheckout) {
  for (int number = 1; number <= commits; ++number) {
    commit(number, "expf(s[j] - maximum)", "(j > 3 ? expf(s[j] - maximum) : 0)");
    if (number == 1) first_ = head(), measure(first_);
    if (number == first_bad) bad_ = head();
  }
  last_ = head();
  EXPECT_THAT(measure(last_), HasSubstr("fail"));
  const auto written = write_script("");
  ASSERT_EQ(written.code, 0) << read("find.sh") << written.text;
  EXPECT_THAT(read("find.sh"), AllOf(HasSubstr("good='" + first_ + "'"),
                                     HasSubstr("bad='" + last_ + "'"), HasSubstr("fails")));
  ASSERT_EQ(shell("bash -n find.sh").code, 0);
  const auto found = shell("cd repo && bash ../find.sh");
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_THAT(found.text, HasSubstr("first bad commit: " + bad_ + " commit 6"));
  EXPECT_EQ(git("symbolic-ref --short HEAD").text, "main\n");
  EXPECT_EQ(git("status --porcelain").text, "");

  write("repo/provider.c", read("repo/provider.c") + "\n");
  const auto dirty = shell("cd repo && bash ../find.sh");
  EXPECT_EQ(dirty.code, 2);
  EXPECT_THAT(dirty.text, HasSubstr("changes that are not committed"));
  git("checkout -q provider.c");

  // If both ends are good, or both are bad, nothing is bisected.
  ASSERT_EQ(write_script("--good " + first_ + " --bad " + first_ + " --by verdict").code, 0);
  const auto absent = shell("cd repo && bash ../find.sh");
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.text,
              AllOf(HasSubstr("the regression is not there"), Not(HasSubstr("first bad commit"))));
  ASSERT_EQ(write_script("--good " + bad_ + " --bad " + last_ + " --by verdict").code, 0);
  const auto always = shell("cd repo && bash ../find.sh");
  EXPECT_EQ(always.code, 1);
  EXPECT_THAT(always.text, HasSubstr("the good commit is also bad here"));
}

TEST_F(Bisect, FindsSlowerCommit) {
  const std::string loop = "attend_row(p, tensors, sample, row, head, s, o);";
  for (int number = 1; number <= commits; ++number) {
    commit(number, loop, "for (int again = 0; again < 8; ++again) " + loop);
    if (number == 1) first_ = head(), measure(first_);
    if (number == first_bad) bad_ = head();
    if (number == 4) {  // a commit that does not compile is skipped
      const std::string text = read("repo/provider.c");
      write("repo/provider.c", text + "#error half done\n");
      git("commit -q -a -m half");
      write("repo/provider.c", text);
    }
  }
  last_ = head();
  measure(last_);
  const auto written =
      write_script("--good " + first_.substr(0, 10) + " --bad " + last_ + " --by time");
  ASSERT_EQ(written.code, 0) << read("find.sh") << written.text;
  EXPECT_THAT(read("find.sh"), HasSubstr("has a time ratio above"));
  const auto found = shell("cd repo && bash ../find.sh");
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_THAT(found.text, HasSubstr("first bad commit: " + bad_));
}

TEST_F(Bisect, AcceptedFailureIsReported) {
  commit(first_bad, "expf(s[j] - maximum)", "(j > 3 ? expf(s[j] - maximum) : 0)");
  EXPECT_THAT(measure(head()), HasSubstr("fail"));
  ASSERT_EQ(plumbline("baseline accept --db h.db --who me --why test").code, 0);
  const auto accepted = write_script("");
  EXPECT_EQ(accepted.code, 2);
  EXPECT_THAT(accepted.text, AllOf(HasSubstr("was accepted"), HasSubstr("--good COMMIT")));
}

TEST_F(Bisect, MissingHistoryIsReported) {
  commit(1, "", "");
  measure(head());
  const auto fine = write_script("");
  EXPECT_EQ(fine.code, 2);
  EXPECT_THAT(fine.text, AllOf(HasSubstr("is fine"), HasSubstr("--good COMMIT --bad COMMIT")));
  EXPECT_EQ(plumbline("bisect --db h.db --case no/such --build true").code, 4);
  EXPECT_EQ(plumbline("bisect --db absent.db --case no/such --build true").code, 3);
  const auto by_time = write_script("--good aaaa --bad bbbb --by time");
  EXPECT_EQ(by_time.code, 2);
  EXPECT_THAT(by_time.text, HasSubstr("--limit VALUE"));
  EXPECT_EQ(write_script("--good aaaa --bad bbbb --by time --limit 4").code, 0);
}

}  // namespace
}  // namespace plumbline
