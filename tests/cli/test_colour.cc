// Colours are printed on a terminal only, unless --color, NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR
// state otherwise.
#include <gmock/gmock.h>
#include <pty.h>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class Colour : public test::CommandTest {
 protected:
  // Returns what a command prints on a terminal.
  std::string run_on_terminal(const std::string& command) const {
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      const std::string line = "cd '" + directory_.string() + "' && " + command;
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    EXPECT_TRUE(WIFEXITED(status)) << text;
    EXPECT_THAT(text, HasSubstr("1 failure in 1 case"));
    return text;
  }
  void SetUp() override {
    CommandTest::SetUp();
    write("s.toml",
          "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = \"a failure\"\n"
          "kernels = [\"cpu/flash\"]\nset = { dtype = \"bf16\", seq = 20 }\n");
  }
  // Returns a command that fails; the first word of its report is coloured.
  static std::string failing(const std::string& before, const std::string& arguments = "") {
    return "env -u NO_COLOR -u FORCE_COLOR -u CLICOLOR_FORCE TERM=xterm " + before + " '" +
           program().string() + "' run s.toml --no-store -q --provider '" +
           test::cpu_provider("drop_last_key=1") + "' " + arguments;
  }
  static bool coloured(const std::string& text) { return text.find("\x1b[") != std::string::npos; }
};

TEST_F(Colour, PrintedOnTerminal) {
  EXPECT_TRUE(coloured(run_on_terminal(failing(""))));
  EXPECT_FALSE(coloured(run_on_terminal(failing("TERM=dumb"))));
  EXPECT_FALSE(coloured(run_on_terminal(failing("NO_COLOR=1"))));
  EXPECT_FALSE(coloured(run_on_terminal(failing("NO_COLOR=0")))) << "whatever its value";
  EXPECT_TRUE(coloured(run_on_terminal(failing("NO_COLOR=")))) << "but an empty one";
  EXPECT_FALSE(coloured(run_on_terminal(failing("NO_COLOR=1 FORCE_COLOR=1"))));
  EXPECT_FALSE(coloured(run_on_terminal(failing("", "--color never"))));
  EXPECT_TRUE(coloured(run_on_terminal(failing("NO_COLOR=1 TERM=dumb", "--color always"))));
}

TEST_F(Colour, OmittedInPipe) {
  const auto piped = [&](const std::string& before, const std::string& arguments = "") {
    return coloured(shell(failing(before, arguments)).text);
  };
  EXPECT_FALSE(piped(""));
  EXPECT_FALSE(piped("", "--color auto"));
  EXPECT_TRUE(piped("", "--color=always"));
  EXPECT_TRUE(piped("FORCE_COLOR=1"));
  EXPECT_TRUE(piped("CLICOLOR_FORCE=1"));
  EXPECT_FALSE(piped("CLICOLOR_FORCE=0"));
  EXPECT_FALSE(piped("FORCE_COLOR=1", "--color never"));
}

TEST_F(Colour, OmittedInJson) {
  EXPECT_FALSE(coloured(shell(failing("", "--color always --format json")).text));
}

TEST_F(Colour, UnknownValueIsRefused) {
  const auto refused = plumbline("list --color sometimes");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("sometimes"));
}

}  // namespace
}  // namespace plumbline
