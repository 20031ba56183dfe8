// plumbline-ptx, as it is typed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

struct Said {
  int code;
  std::string text;
};

Said run(const std::string& arguments) {
  FILE* const pipe = popen((PLUMBLINE_PTX_TOOL " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), count);
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), text};
}

TEST(PtxCommand, CountsWhatTranslates) {
  std::ofstream("counted.ptx") << module_text("", "mov.u32 %r1, 1;\nwgmma.fence.sync.aligned;");
  const Said said = run("census counted.ptx");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, ContainsRegex("\nk +3 +3 +66.67 %\n"));
  EXPECT_THAT(said.text, HasSubstr("refused    1 times, first at counted.ptx:13\n"
                                   "  wgmma.fence.sync.aligned: unknown opcode"));
}

TEST(PtxCommand, PrintsATranslation) {
  std::ofstream("printed.ptx") << module_text("", "mov.u32 %r1, 1;");
  const Said said = run("translate printed.ptx -k k");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, HasSubstr("extern \"C\" void entry_k(const Thread& t"));
}

TEST(PtxCommand, BadInputsHaveARemedy) {
  const Said absent = run("census absent.ptx");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.text, HasSubstr("absent.ptx: cannot be read\n  remedy: name a file of PTX"));
  std::ofstream("broken.ptx") << ".version 8.4\n.nonsense\n";
  EXPECT_THAT(run("census broken.ptx").text,
              HasSubstr("broken.ptx:2: .nonsense: not a directive of a module"));
  std::ofstream("named.ptx") << module_text("", "");
  const Said other = run("translate named.ptx -k other");
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.text, HasSubstr("no kernel whose name has \"other\"\n  remedy: one of\n  k"));
  EXPECT_THAT(run("").text, HasSubstr("Run with --help for more information"));
  EXPECT_THAT(run("--help").text, HasSubstr("plumbline-ptx census kernel.ptx"));
}

}  // namespace
}  // namespace plumbline::ptx
