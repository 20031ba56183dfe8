// Completion and manual pages have every command and option. A real bash completes.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class HelpAndCompletion : public test::CommandTest {
 protected:
  struct Described {
    std::string name;  // "baseline accept"; "" for the program
    std::set<std::string> options;
  };
  // Returns every command and its options as --help lists them, for comparison with scripts and
  // pages.
  std::vector<Described> described(const std::string& command = "") const {
    static const std::regex option("^  (-[A-Za-z0-9-]+)(?:\\{[^}]*\\})?(?:,(--[a-z0-9-]+))?");
    static const std::regex below("^  ([a-z-]+)  +[A-Z]");
    std::vector<Described> all{{command, {}}};
    bool in_commands = false;
    for (const std::string& line : lines_of(plumbline(command + " --help").text)) {
      if (!line.starts_with(' ')) in_commands = line == "Subcommands:";
      std::smatch found;
      if (in_commands && std::regex_search(line, found, below)) {
        const std::string name = (command.empty() ? "" : command + " ") + found[1].str();
        const auto more = described(name);
        all.insert(all.end(), more.begin(), more.end());
      } else if (std::regex_search(line, found, option)) {
        all.front().options.insert(found[1]);
        if (found[2].matched) all.front().options.insert(found[2]);
      }
    }
    return all;
  }

  // Returns what bash suggests for the word `last`, which is being typed after `words`.
  std::vector<std::string> bash(const std::string& words, const std::string& last = "") const {
    write("ask.bash", "source <(plumbline completion bash)\nCOMP_WORDS=(plumbline " + words + " '" +
                          last +
                          "')\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_plumbline\n"
                          "((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"\ntrue\n");
    const auto answer = shell(on_path() + "bash --norc ask.bash");
    EXPECT_EQ(answer.code, 0) << answer.text;
    return lines_of(answer.text);
  }
  static std::string on_path() { return "PATH='" + program().parent_path().string() + "':$PATH "; }
  bool has(const std::string& shell_program) const {
    return shell("command -v " + shell_program).code == 0;
  }
};

TEST_F(HelpAndCompletion, HelpListsAllCommands) {
  const auto commands = described();
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  EXPECT_GE(commands.size(), 36U);
  EXPECT_THAT(names, IsSupersetOf({"", "run", "init", "baseline accept", "support suggest"}));
  EXPECT_THAT(commands.front().options, IsSupersetOf({"--version", "--color", "--config", "-h"}));
}

TEST_F(HelpAndCompletion, VersionNamesCommit) {
  const std::string version = plumbline("--version").text;
  EXPECT_THAT(version, testing::ContainsRegex("^plumbline [0-9]+\\.[0-9]+\\.[0-9]+ \\(judge "));
  if (!std::filesystem::exists(test::source_directory / ".git")) GTEST_SKIP() << "not a checkout";
  const auto head =
      shell("git -C '" + test::source_directory.string() + "' rev-parse --short=12 HEAD");
  if (head.code != 0) GTEST_SKIP() << head.text;
  EXPECT_THAT(version, testing::ContainsRegex(" commit [0-9a-f]{12}(, changed)?\n$"));
}

TEST_F(HelpAndCompletion, BashSuggestsCommandsAndOptions) {
  for (const auto& command : described()) {
    const auto offered = bash(command.name, "-");
    for (const std::string& option : command.options)
      EXPECT_THAT(offered, Contains(option)) << "plumbline " << command.name;
    const std::size_t space = command.name.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : command.name.substr(0, space);
    if (command.name.empty()) continue;
    EXPECT_THAT(bash(parent), Contains(command.name.substr(parent.empty() ? 0 : space + 1)));
  }
}

TEST_F(HelpAndCompletion, BashSuggestsValuesAndFiles) {
  write("mine.toml", "");
  write("out/x.db", "");
  EXPECT_THAT(bash("run --format", "j"), ElementsAre("json", "junit"));
  EXPECT_THAT(bash("run --format =", "j"), ElementsAre("json", "junit"))
      << "cut at =, as bash does";
  EXPECT_THAT(bash("run --quiet --tier"), ElementsAre("smoke", "pr", "nightly", "full"));
  EXPECT_THAT(bash("run --color"), ElementsAre("auto", "always", "never"));
  EXPECT_THAT(bash("init --provider"), ElementsAre("python", "torch", "cpp", "c"));
  EXPECT_THAT(bash("baseline", "a"), ElementsAre("accept", "acknowledge"));
  EXPECT_THAT(bash("run", "cases/smo"), ElementsAre("cases/smoke.toml"));
  EXPECT_THAT(bash("run", "mi"), ElementsAre("mine.toml"));
  EXPECT_THAT(bash("run --kernel", "cpu/na"), ElementsAre("cpu/naive"));
  EXPECT_THAT(bash("show --db", "ou"), ElementsAre("out"));
  EXPECT_THAT(bash("run --save-failures", "o"), ElementsAre("out"));
  EXPECT_THAT(bash("run --case", "x"), IsEmpty());
  EXPECT_THAT(bash("run --case run --format", "te"), ElementsAre("text"))
      << "a value is no command";
}

TEST_F(HelpAndCompletion, CompletionQueriesAreFast) {
  for (const char* question : {"list --suites", "list --kernels"}) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(plumbline(question).code, 0);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    EXPECT_LT(best, 1) << question << ": 0.02 s on an idle machine";  // sanitizers, busy machines
  }
}

TEST_F(HelpAndCompletion, CompletionRefusesUnknownShell) {
  const auto refused = plumbline("completion zsh");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("bash"));
  EXPECT_EQ(plumbline("completion").code, 2);
}

TEST_F(HelpAndCompletion, ManualHasCommandsAndOptions) {
  ASSERT_EQ(plumbline("manual man1").code, 0);
  std::size_t pages = 0;
  for (const auto& command : described()) {
    std::string name = "plumbline" + (command.name.empty() ? "" : "-" + command.name);
    std::ranges::replace(name, ' ', '-');
    std::string page = read("man1/" + name + ".1");
    std::erase(page, '\\');  // roff writes \-
    ++pages;
    for (const char* heading : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"})
      EXPECT_THAT(page, HasSubstr(heading)) << name;
    for (const std::string& option : command.options)
      EXPECT_THAT(page, HasSubstr("fB" + option + "fR")) << name;
    if (command.name.empty()) continue;
    const std::size_t space = command.name.rfind(' ');  // "baseline" lists "baseline accept"
    const std::string above = space == std::string::npos ? "" : "-" + command.name.substr(0, space);
    std::string parent = read("man1/plumbline" + above + ".1");
    std::erase(parent, '\\');
    EXPECT_THAT(parent, HasSubstr("fB" + name + "fR(1)"));
  }
  const auto files = std::filesystem::directory_iterator(directory_ / "man1");
  EXPECT_EQ(std::distance(begin(files), end(files)), static_cast<std::ptrdiff_t>(pages));
  EXPECT_EQ(plumbline("manual man1/plumbline.1").code, 3) << "a file where a folder is meant";
}

TEST_F(HelpAndCompletion, ManualIsValidRoff) {
  if (!has("groff")) GTEST_SKIP() << "no groff here: ci/setup.sh";
  ASSERT_EQ(plumbline("manual man1").code, 0);
  const auto checked = shell("for page in man1/*.1; do groff -man -Tutf8 -ww -z $page; done");
  EXPECT_EQ(checked.text, "");
  write("bad.1", ".TH A 1\n.SH NAME\n.nonsense x\n\\fQx\n");
  EXPECT_NE(shell("groff -man -Tutf8 -ww -z bad.1").text, "") << "the check can fail";
  const auto shown = shell("groff -man -Tutf8 -P-cbou man1/plumbline-run.1");
  for (const char* text : {"plumbline run [OPTIONS] [SUITE.toml…]", "--tier smoke|pr|nightly|full",
                           "plumbline run cases/smoke.toml --seed 20261123"})
    EXPECT_THAT(shown.text, HasSubstr(text));
  if (!has("mandoc")) return;
  // Pages have no date, so that builds are reproducible.
  const auto lint = shell("mandoc -Tlint -Wwarning man1/*.1 | grep -v 'missing date'");
  EXPECT_EQ(lint.text, "");
}

}  // namespace
}  // namespace plumbline
