// The command plumbline-ptx.
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

TEST(PtxCommand, CountsTranslatedInstructions) {
  std::ofstream("counted.ptx") << module_text("", "mov.u32 %r1, 1;\nwgmma.fence.sync.aligned;");
  const Said said = run("census counted.ptx");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, ContainsRegex("\nk +3 +3 +66.67 %\n"));
  EXPECT_THAT(said.text, HasSubstr("refused    1 times, first at counted.ptx:13\n"
                                   "  wgmma.fence.sync.aligned: unknown opcode"));
}

TEST(PtxCommand, ListsEveryUntranslatedLine) {
  std::ofstream("lines.ptx") << module_text("",
                                            "wgmma.fence.sync.aligned;\nmov.u32 %r1, 1;\n"
                                            "wgmma.fence.sync.aligned;");
  const Said said = run("census --lines lines.ptx");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, HasSubstr("refused    2 times, first at lines.ptx:12\n"
                                   "  wgmma.fence.sync.aligned: unknown opcode\n"
                                   "  at lines.ptx:12\n  at lines.ptx:14\n"));
}

TEST(PtxCommand, CountsSumsAndProducts) {
  std::ofstream("floats.ptx") << module_text(
      "",
      "mul.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nadd.ftz.f32 %f6, %f4, 0f00000000;\n"
      "sub.rn.f32 %f7, %f6, %f1;\nfma.rn.ftz.f32 %f8, %f7, %f7, %f7;\nadd.u32 %r1, %r2, %r3;");
  const Said contracted = run("counts floats.ptx");
  EXPECT_EQ(contracted.code, 0);
  EXPECT_THAT(contracted.text, ContainsRegex("fma +add +mul +plus_zero +contracted +kernel\n"
                                             " +2 +1 +0 +1 +1 +k\n"));
  EXPECT_THAT(run("counts --no-contract floats.ptx").text, ContainsRegex(" +1 +2 +1 +1 +0 +k\n"));
  EXPECT_EQ(run("counts absent.ptx").code, 3);
}

TEST(PtxCommand, PrintsTranslation) {
  std::ofstream("printed.ptx") << module_text("", "mov.u32 %r1, 1;");
  const Said said = run("translate printed.ptx -k k");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, HasSubstr("extern \"C\" void entry_k(const Thread& t"));
}

TEST(PtxCommand, PacksAndListsFatBinary) {
  std::ofstream("packed.ptx") << module_text("", "mov.u32 %r1, 1;");
  const Said packed = run("fatbin packed.ptx packed.ptx -o packed.fatbin");
  EXPECT_EQ(packed.code, 0);
  EXPECT_THAT(packed.text, ContainsRegex("packed.fatbin: [0-9]+ bytes, PTX of 2 files\n"));
  const Said listed = run("list packed.fatbin");
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.text, ContainsRegex("container kind +architecture +bytes compression\n"
                                         "0 +PTX +sm_[0-9]+ +[0-9]+ +-\n0 +PTX"));
}

TEST(PtxCommand, InvalidFatBinaryHasRemedy) {
  const Said absent = run("list absent.fatbin");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.text, HasSubstr("absent.fatbin: cannot be read\n  remedy: name a fat binary"));
  std::ofstream("text.fatbin") << ".version 8.4, and no fat binary";
  EXPECT_THAT(run("list text.fatbin").text,
              HasSubstr("text.fatbin: byte 0: no fat binary begins here"));
  const Said not_ptx = run("fatbin text.fatbin absent.ptx -o x.fatbin");
  EXPECT_EQ(not_ptx.code, 3);
  EXPECT_THAT(not_ptx.text, HasSubstr("text.fatbin: no .target with an architecture such as sm_80\n"
                                      "  remedy: name a file of PTX"));
  std::ofstream("unpacked.ptx") << module_text("", "");
  EXPECT_THAT(run("fatbin unpacked.ptx -o absent/x.fatbin").text,
              HasSubstr("absent/x.fatbin: cannot be written: No such file or directory"));
}

TEST(PtxCommand, BadInputHasRemedy) {
  const Said absent = run("census absent.ptx");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.text, HasSubstr("absent.ptx: cannot be read\n  remedy: name a file of PTX"));
  std::ofstream("broken.ptx") << ".version 8.4\n.nonsense\n";
  EXPECT_THAT(run("census broken.ptx").text,
              HasSubstr("broken.ptx:2: .nonsense: not a directive of a module"));
  std::ofstream("named.ptx") << module_text("", "");
  const Said other = run("translate named.ptx -k other");
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(
      other.text,
      HasSubstr("no kernel whose name has \"other\"\n  remedy: name one of its kernels:\n  k"));
  EXPECT_THAT(run("").text, HasSubstr("Run with --help for more information"));
  EXPECT_THAT(run("--help").text, HasSubstr("plumbline-ptx census kernel.ptx"));
}

}  // namespace
}  // namespace plumbline::ptx
