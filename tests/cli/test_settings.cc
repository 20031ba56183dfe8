// plumbline.toml: the values that commands use, what overrides them, and errors in the file.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* suite_text = R"(
schema = 1
name = "s"
[[group]]
name = "g"
reason = "one small case"
kernels = ["cpu/flash"]
set = { dtype = "bf16", seq = 20 }
)";

class Settings : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    write("p/suites/s.toml", suite_text);
    std::filesystem::create_directories(directory_ / "p/sub/deep");
  }
  void configure(const std::string& text) const { write("p/plumbline.toml", text); }
  test::CommandResult at(const std::string& folder, const std::string& arguments,
                         const std::string& before = "") const {
    return shell("cd '" + folder + "' && " + before + "'" + program().string() + "' " + arguments);
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(directory_ / file); }
};

TEST_F(Settings, ApplyInFoldersBelow) {
  configure(
      "suites = [\"suites/s.toml\"]\ndb = \"runs.db\"\n[report]\njunit = \"out/j.xml\"\n"
      "markdown = \"out/m.md\"\n[run]\njobs = 1\n");
  const auto run = at("p/sub/deep", "run");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text,
              AllOf(HasSubstr("settings of ../../plumbline.toml: suites ../../suites/s.toml, --db "
                              "../../runs.db, --jobs 1, --junit ../../out/j.xml, --markdown "
                              "../../out/m.md"),
                    HasSubstr("no failure in 1 case"), HasSubstr("stored in ../../runs.db")));
  for (const char* file : {"p/runs.db", "p/out/j.xml", "p/out/m.md"}) EXPECT_TRUE(exists(file));
  EXPECT_FALSE(exists("p/sub/deep/plumbline.db"));
  EXPECT_EQ(at("p", "show latest").code, 0) << "every command with --db has that database";
  EXPECT_THAT(at("p", "list").text, HasSubstr("s/g/cpu/flash/bf16"));
  EXPECT_THAT(at("p", "run -q").text, Not(HasSubstr("settings of")));
  EXPECT_THAT(at("p", "run --format json").text, testing::StartsWith("{"));
}

TEST_F(Settings, CommandLineOverridesEnvironmentAndFile) {
  configure("suites = [\"suites/s.toml\"]\ndb = \"file.db\"\n");
  EXPECT_THAT(at("p", "run").text, HasSubstr("stored in file.db"));
  const auto variable = at("p", "run", "PLUMBLINE_DB=variable.db ");
  EXPECT_THAT(variable.text, AllOf(HasSubstr("--db variable.db (PLUMBLINE_DB)"),
                                   HasSubstr("stored in variable.db")));
  const auto typed = at("p", "run --db typed.db", "PLUMBLINE_DB=variable.db ");
  EXPECT_THAT(typed.text, AllOf(HasSubstr("stored in typed.db"), Not(HasSubstr("--db"))));
  const auto without = at("p", "run suites/s.toml --no-config", "PLUMBLINE_DB=variable.db ");
  EXPECT_THAT(without.text, AllOf(HasSubstr("settings of the environment: --db variable.db"),
                                  HasSubstr("stored in variable.db")));
  EXPECT_EQ(at("p", "run --no-config").code, 2) << "no suite is named";
}

TEST_F(Settings, NearestOrNamedFileIsUsed) {
  configure("suites = [\"suites/s.toml\"]\ndb = \"outer.db\"\n");
  write("p/sub/plumbline.toml", "db = \"inner.db\"\n");
  write("other.toml", "suites = [\"p/suites/s.toml\"]\ndb = \"other.db\"\n");
  EXPECT_EQ(at("p/sub/deep", "run").code, 2) << "files do not add up";
  EXPECT_THAT(at("p/sub", "run --config ../../other.toml").text,
              HasSubstr("stored in ../../other.db"));
  EXPECT_THAT(at("p/sub", "--config ../../other.toml run").text,
              HasSubstr("stored in ../../other.db"));
  EXPECT_THAT(at("p/sub", "run", "PLUMBLINE_CONFIG=../../other.toml ").text,
              HasSubstr("stored in ../../other.db"));
  EXPECT_THAT(
      at("p/sub", "run --config ../plumbline.toml", "PLUMBLINE_CONFIG=../../other.toml ").text,
      HasSubstr("stored in ../outer.db"));
  EXPECT_EQ(at("p", "run --config x --no-config").code, 2);
}

// The command that repeats a case has the settings that the case needs, and stores nothing.
TEST_F(Settings, ReproduceCommandHasSettings) {
  configure(
      "suites = [\"suites/s.toml\"]\nproviders = [\"cpu:drop_last_key=1\"]\ndb = \"runs.db\"\n"
      "[run]\ntimeout = 30\n");
  const auto failed = at("p", "run -q");
  EXPECT_EQ(failed.code, 1) << failed.text;
  const std::size_t begin = failed.text.find("reproduce: ") + 11;
  const std::string line = failed.text.substr(begin, failed.text.find('\n', begin) - begin);
  EXPECT_THAT(line,
              AllOf(HasSubstr("--provider 'cpu:drop_last_key=1'"), HasSubstr("--timeout 30")));
  const auto again = shell("cd p && " + line);
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, AllOf(HasSubstr("1 failure in 1 case"), Not(HasSubstr("stored in")),
                                Not(HasSubstr("suites"))));
}

TEST_F(Settings, ProvidersArePathsOrNames) {
  std::filesystem::copy(test::cpu_provider(), directory_ / "p/mine.so");
  configure("providers = [\"mine.so\", \"mutants\"]\nno_default_provider = true\n");
  const auto kernels = at("p/sub", "list --kernels");
  EXPECT_EQ(kernels.code, 0) << kernels.text;
  EXPECT_THAT(kernels.text, AllOf(HasSubstr("../mine.so"), HasSubstr("provider mutants"),
                                  Not(HasSubstr("provider emulated"))));
  const auto other = at("p/sub", "list --kernels", "PLUMBLINE_PROVIDERS='mutants;mma_mutants' ");
  EXPECT_THAT(other.text, AllOf(HasSubstr("provider mma_mutants"), Not(HasSubstr("mine.so"))));
}

TEST_F(Settings, DoctorNamesFile) {
  configure("db = \"runs.db\"\n");
  const auto named = at("p/sub", "doctor --quick --no-default-provider");
  EXPECT_THAT(named.text, AllOf(HasSubstr((directory_ / "p/plumbline.toml").string()),
                                HasSubstr("--db ../runs.db")));
  EXPECT_THAT(named.text, HasSubstr("settings    "));
}

TEST_F(Settings, ErrorsNameLine) {
  configure(
      "suites = \"suites/s.toml\"\nprovider = [\"mine.so\"]\ndb = 3\nbaselines = \"\"\n"
      "no_default_provider = \"yes\"\n[run]\njobs = \"many\"\ntimout = 3\n[rport]\n");
  const auto wrong = at("p/sub", "run");
  EXPECT_EQ(wrong.code, 2);
  for (const char* said :
       {"../plumbline.toml:1: suites is not a list of texts",
        "../plumbline.toml:2: unknown key \"provider\"", "did you mean providers?",
        "../plumbline.toml:3: db is not a text", "../plumbline.toml:4: baselines is not a text",
        "../plumbline.toml:5: no_default_provider is not true or false",
        "../plumbline.toml:7: jobs is not a number", "../plumbline.toml:8: unknown key \"timout\"",
        "did you mean timeout?", "../plumbline.toml:9: unknown key \"rport\"",
        "did you mean report?"})
    EXPECT_THAT(wrong.text, HasSubstr(said));
  EXPECT_EQ(at("p", "show latest").code, 2) << "a broken file is no file to ignore";
  EXPECT_EQ(at("p", "--version").code, 0);
  EXPECT_EQ(at("p", "completion bash").code, 0);

  configure("suites = [\"suites/s.toml\"]\n[run]\njobs = 0\ntier = \"all\"\n");
  const auto refused = at("p", "run");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("plumbline.toml:3: "), HasSubstr("from 1 to 256")));
  configure("run = 3\n");
  EXPECT_THAT(at("p", "run").text, HasSubstr("plumbline.toml:1: run is not a table"));
  configure("db = [\n");
  EXPECT_THAT(at("p", "run").text, HasSubstr("plumbline.toml:1: "));
  EXPECT_THAT(at("p", "run", "PLUMBLINE_JOBS=x ").text, HasSubstr("plumbline.toml"));
  EXPECT_THAT(at(".", "run p/suites/s.toml", "PLUMBLINE_JOBS=x ").text,
              HasSubstr("PLUMBLINE_JOBS: "));
}

TEST_F(Settings, MissingFileIsReported) {
  const auto option = at("p", "run --config nowhere.toml");
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.text, AllOf(HasSubstr("nowhere.toml: --config names a file that is not there"),
                                 HasSubstr("--no-config")));
  const auto variable = at("p", "show", "PLUMBLINE_CONFIG=nowhere.toml ");
  EXPECT_EQ(variable.code, 2);
  EXPECT_THAT(variable.text, HasSubstr("PLUMBLINE_CONFIG names a file that is not there"));
  EXPECT_EQ(at("p", "run --config sub").code, 2) << "a folder";
}

// docs/configuration.md lists every key, and no other.
TEST_F(Settings, DocumentationListsEveryKey) {
  std::ifstream file(test::source_directory / "docs" / "configuration.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  configure("x = 1\n[run]\nx = 1\n[report]\nx = 1\n");
  const std::string answer = at("p", "run").text;
  int keys = 0;
  for (std::size_t at = 0; (at = answer.find("known are ", at)) != std::string::npos;) {
    at += 10;
    std::istringstream known(answer.substr(at, answer.find('\n', at) - at));
    for (std::string key; std::getline(known >> std::ws, key, ',');) {
      if (key == "run" || key == "report") continue;
      EXPECT_THAT(page, HasSubstr("`" + key + "`")) << key;
      ++keys;
    }
  }
  EXPECT_EQ(keys, 17) << answer;
}

}  // namespace
}  // namespace plumbline
