// Executes docs/plug-in-your-kernel.md in an empty directory, exactly as the page shows.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/docs/page.h"

namespace plumbline {
namespace {

using test::PageSection;
using testing::ElementsAre;
using testing::IsEmpty;

std::string page_text() {
  std::ifstream file(test::source_directory / "docs" / "plug-in-your-kernel.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class PlugInYourKernel : public test::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    sections_ = test::read_page(page_text());
    setenv("PATH", ((test::build_directory / "bin").string() + ":" + std::getenv("PATH")).c_str(),
           1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("CMAKE_GENERATOR", GENERATOR, 1);
    use(test::build_directory);
  }
  static void use(const std::filesystem::path& plumbline) {
    setenv("PLUMBLINE", plumbline.c_str(), 1);
  }

  const PageSection& section(const std::string& heading) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(),
                                    [&](const PageSection& s) { return s.heading == heading; });
    EXPECT_NE(found, sections_.end()) << "the page has no heading " << heading;
    return found != sections_.end() ? *found : sections_.front();
  }
  void write_files(const std::string& heading) const {
    for (const auto& file : section(heading).files) write(file.name, file.text);
  }
  // Writes the files and runs the commands of a section, with the suite that all sections use.
  void execute(const std::string& heading) const {
    write_files("A suite to try it on");
    write_files(heading);
    ASSERT_THAT(section(heading).commands, testing::Not(IsEmpty()));
    for (const auto& command : section(heading).commands) {
      const auto result = shell(command.command);
      EXPECT_EQ(result.code, command.exit_code) << "$ " << command.command << "\n" << result.text;
      EXPECT_EQ(test::missing_line(command.expected, result.text), "")
          << "$ " << command.command << "\n"
          << result.text;
    }
  }
  // Returns why a Python section cannot be executed here; "" if it can.
  std::string skip_reason(const std::string& provider) const {
    const auto listed = plumbline("list --kernels --no-default-provider --provider " + provider);
    for (const char* absent : {"no usable numpy", "no Python interpreter", "No module named"}) {
      if (listed.text.find(absent) != std::string::npos) return listed.text;
    }
    return "";
  }

  std::vector<PageSection> sections_;
};

TEST_F(PlugInYourKernel, Python) {
  write_files("Python");
  if (const auto reason = skip_reason("mine.py"); !reason.empty()) GTEST_SKIP() << reason;
  write_files("A suite to try it on");
  const auto tried = plumbline("run mine.toml --provider mine.py --no-store --format json");
  if (tried.text.find("needs ml_dtypes") != std::string::npos)
    GTEST_SKIP() << "the suite has bf16, which NumPy takes from ml_dtypes";
  execute("Python");
}

TEST_F(PlugInYourKernel, PyTorch) {
  write_files("PyTorch");
  if (const auto reason = skip_reason("sdpa.py"); !reason.empty()) GTEST_SKIP() << reason;
  execute("PyTorch");
}

TEST_F(PlugInYourKernel, CppAgainstTheBuildTree) {
  execute("C++");
  execute("What your kernel refuses");
}

TEST_F(PlugInYourKernel, CppAgainstAnInstallation) {
  const auto prefix = directory_ / "prefix";
  const auto installed = shell("\"" CMAKE_PROGRAM "\" --install \"" PLUMBLINE_BINARY_DIRECTORY
                               "\" --component provider_abi --prefix '" +
                               prefix.string() + "'");
  ASSERT_EQ(installed.code, 0) << installed.text;
  use(prefix);
  execute("C++");
}

TEST(Page, HasPromisedFiles) {
  const auto sections = test::read_page(page_text());
  std::vector<std::string> files;
  for (const auto& section : sections) {
    for (const auto& file : section.files) files.push_back(file.name);
  }
  EXPECT_THAT(files, ElementsAre("mine.toml", "mine.py", "sdpa.py", "CMakeLists.txt", "mine.cc"));
}

// The page shows mine.py and the CMake project for C++ as `plumbline init` writes them.
TEST(Page, MatchesInitTemplates) {
  const auto sections = test::read_page(page_text());
  std::map<std::string, std::string> files;
  for (const auto& section : sections) {
    for (const auto& file : section.files) files[file.name] = file.text;
  }
  const auto templates = test::source_directory / "harness" / "cli" / "templates";
  for (const char* name : {"python/mine.py", "cpp/CMakeLists.txt"}) {
    std::ifstream file(templates / name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(files[std::filesystem::path(name).filename().string()], text) << name;
  }
}

TEST(Page, ParsesFilesAndCommands) {
  const auto sections = test::read_page(
      "intro\n\n## One\n\nPut this into `a.py`:\n\n```python\nx = 1\n\ny = 2\n```\n\n```console\n$ "
      "run a\nrun …: 3 of   4, exit code 1\n$ "
      "ls\n```\n"
      "## Two\n\n```cpp\nno file\n```\n");
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(sections[1].heading, "One");
  ASSERT_EQ(sections[1].files.size(), 1u);
  EXPECT_EQ(sections[1].files[0].name, "a.py");
  EXPECT_EQ(sections[1].files[0].text, "x = 1\n\ny = 2\n");
  ASSERT_EQ(sections[1].commands.size(), 2u);
  EXPECT_EQ(sections[1].commands[0].command, "run a");
  EXPECT_EQ(sections[1].commands[0].exit_code, 1);
  EXPECT_THAT(sections[1].commands[1].expected, IsEmpty());
  EXPECT_THAT(sections[2].files, IsEmpty());
}

TEST(Page, ExpectedLinesMustBeInOrder) {
  const std::string output = "first\nrun 12ab: 3 of 4, exit code 1\nlast\n";
  EXPECT_EQ(test::missing_line({"first", "run …: 3 of   4, exit code 1", "last"}, output), "");
  EXPECT_EQ(test::missing_line({"last", "first"}, output), "first");
  EXPECT_EQ(test::missing_line({"run …: 4 of 4"}, output), "run …: 4 of 4");
  EXPECT_EQ(test::missing_line({"first", "first"}, output), "first")
      << "one line of the output serves once";
}

}  // namespace
}  // namespace plumbline
