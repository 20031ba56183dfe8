// What a translation says of a kernel: layouts, what it refuses and where, what it contracts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/ptx/compiled.h"

namespace plumbline::ptx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Translation translated(std::string_view text, bool contract = true) {
  const auto module = parse(text);
  EXPECT_TRUE(module) << module.error().line << ": " << module.error().text;
  const auto made = translate(*module, module->functions.back(), {.contract = contract});
  EXPECT_TRUE(made) << made.error().text;
  return made ? *made : Translation();
}

TEST(TranslatePtx, ParametersAndSharedMemoryAreLaidOutAsTheAbiHasThem) {
  const Translation made = translated(
      module_text(".param .u32 a, .param .u64 b, .param .align 4 .b8 c[5], .param .f32 d",
                  ".shared .align 16 .b8 tile[20];\n.shared .b64 word;\nmov.u64 %y1, word;",
                  ".shared .b16 first;\n.extern .shared .align 16 .b8 more[];"));
  std::vector<std::size_t> offsets;
  for (const Parameter& parameter : made.parameters) offsets.push_back(parameter.offset);
  EXPECT_THAT(offsets, ElementsAre(0U, 8U, 16U, 24U));
  EXPECT_EQ(made.parameter_bytes, 28U);
  // 2, then 20 from 16, then 8 from 40
  EXPECT_EQ(made.static_shared_bytes, 48U);
  EXPECT_THAT(made.source, HasSubstr("u64{40}"));
}

TEST(TranslatePtx, VariablesOfTheModuleHaveTheirValues) {
  const auto module = parse(
      ".global .align 8 .b8 text[3] = {65, 66, 0};\n.const .f32 table[2] = {0f3F800000, "
      "0f40000000};\n"
      ".global .u64 pointer = table;\n");
  ASSERT_TRUE(module);
  const ModuleMemory memory = module_memory(*module);
  EXPECT_EQ(memory.offsets.at("table"), 4U);
  EXPECT_EQ(memory.initial.size(), 24U);
  EXPECT_EQ(memory.initial[1], std::byte{66});
  EXPECT_EQ(memory.initial[11], std::byte{0x40});
  EXPECT_TRUE(memory.unknown.contains("pointer"));
}

// Unknown instructions are listed with line and opcode, and end the launch where they are reached.
TEST(TranslatePtx, WhatIsNotKnownIsRefusedByOpcodeAndLine) {
  const std::string text =
      module_text(".param .u32 reach",
                  "ld.param.u32 %r1, [reach];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\n"
                  "wgmma.fence.sync.aligned;\nadd.rz.f32 %f1, %f2, %f3;\nmov.u32 %r2, %r99;\nEND:");
  const Translation made = translated(text);
  std::vector<std::string> refused;
  for (const Refusal& refusal : made.refused)
    refused.push_back(std::to_string(refusal.line) + " " + refusal.opcode + ": " + refusal.reason);
  EXPECT_THAT(refused, ElementsAre("15 wgmma.fence.sync.aligned: unknown opcode",
                                   "16 add.rz.f32: rounding other than to nearest",
                                   "17 mov.u32: operand %r99"));
  const auto kernel = compiled(text);
  ASSERT_TRUE(kernel) << kernel.error();
  Launch how;
  how.options = compiled_options(emulator::Arch::sm_80);
  how.block = {1};
  const Arguments skips = Arguments(*kernel).add(0U);
  how.parameters = skips.data();
  EXPECT_EQ(launch(*kernel, how), "");
  const Arguments reaches = Arguments(*kernel).add(1U);
  how.parameters = reaches.data();
  EXPECT_THAT(launch(*kernel, how),
              AllOf(HasSubstr("k.ptx:15"), HasSubstr("not translated: wgmma.fence.sync.aligned")));
}

// a b - c rounds once or twice, as the option says.
TEST(TranslatePtx, AContractionRoundsOnce) {
  const std::string text =
      module_text(".param .u64 out, .param .f32 a, .param .f32 b, .param .f32 c",
                  "ld.param.u64 %y1, [out];\nld.param.f32 %f1, [a];\nld.param.f32 %f2, [b];\n"
                  "ld.param.f32 %f3, [c];\nmul.f32 %f4, %f1, %f2;\nsub.f32 %f5, %f4, %f3;\n"
                  "mul.f32 %f6, %f1, %f2;\nsub.f32 %f7, %f3, %f6;\nst.global.f32 [%y1], %f5;\n"
                  "st.global.f32 [%y1+4], %f7;");
  const float a = 1 + 0x1p-12F, c = 1 + 0x1p-11F;  // the square is c + 2^-24: halfway, to even
  for (const bool contract : {true, false}) {
    const auto kernel = compiled(text, {.contract = contract});
    ASSERT_TRUE(kernel) << kernel.error();
    float out[2] = {};
    const Arguments arguments = Arguments(*kernel).add(&out[0]).add(a).add(a).add(c);
    Launch how;
    how.options = compiled_options(emulator::Arch::sm_80);
    how.block = {1};
    how.parameters = arguments.data();
    ASSERT_EQ(launch(*kernel, how), "");
    EXPECT_EQ(out[0], contract ? 0x1p-24F : 0.0F);
    EXPECT_EQ(out[1], contract ? -0x1p-24F : 0.0F);
  }
}

TEST(TranslatePtx, ACompilerThatIsNotThereOrFailsHasARemedy) {
  const auto module = parse(module_text("", "mov.u32 %r1, 1;"));
  ASSERT_TRUE(module);
  CompileOptions how;
  how.cache = "ptx_cache_of_failures";
  how.compiler = "no-such-compiler";
  const auto absent = compile(*module, "k", "k.ptx", {}, how);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error(), HasSubstr("remedy: install g++ or clang, or name one in "
                                        "PLUMBLINE_PTX_CXX"));
  std::ofstream("failing_compiler") << "#!/bin/sh\n[ \"$1\" = --version ] && echo fails 1 && exit\n"
                                       "echo out of memory; exit 3\n";
  std::filesystem::permissions("failing_compiler", std::filesystem::perms::owner_all);
  how.compiler = "./failing_compiler";
  const auto failed = compile(*module, "k", "k.ptx", {}, how);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error(), AllOf(HasSubstr("(status 3)"), HasSubstr("out of memory")));
  EXPECT_THAT(compile(*module, "other", "k.ptx", {}, {}).error(), HasSubstr("no entry other"));
}

}  // namespace
}  // namespace plumbline::ptx
