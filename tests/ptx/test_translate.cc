// The result of a translation: layouts, refused instructions with their lines, contractions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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

TEST(TranslatePtx, ParameterAndSharedMemoryLayout) {
  const Translation made = translated(
      module_text(".param .u32 a, .param .u64 b, .param .align 4 .b8 c[5], .param .f32 d",
                  ".shared .align 16 .b8 tile[20];\n.shared .b64 word;\nmov.u64 %y1, word;",
                  ".shared .b16 first;\n.extern .shared .align 16 .b8 more[];"));
  std::vector<std::size_t> offsets;
  for (const Parameter& parameter : made.parameters) offsets.push_back(parameter.offset);
  EXPECT_THAT(offsets, ElementsAre(0U, 8U, 16U, 24U));
  EXPECT_EQ(made.parameter_bytes, 28U);
  // 2 bytes, then 20 at offset 16, then 8 at offset 40
  EXPECT_EQ(made.static_shared_bytes, 48U);
  EXPECT_THAT(made.source, HasSubstr("u64{40}"));
}

TEST(TranslatePtx, ModuleVariablesAreInitialized) {
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

// Unknown instructions are listed with line and opcode; executing them ends the launch.
TEST(TranslatePtx, UnknownInstructionNamesOpcodeAndLine) {
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

// a b - c rounds once or twice, depending on the option.
TEST(TranslatePtx, ContractionRoundsOnce) {
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

TEST(TranslatePtx, CompilerFailureHasRemedy) {
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

// The processor may flush only if all arithmetic has .ftz or computes the same with it.
TEST(TranslatePtx, ProcessorFlushesIfAllArithmeticDoes) {
  const auto flushes = [](std::string_view more) {
    return translated(module_text("", fmt::format("mul.ftz.f32 %f1, %f2, %f3;\n{}", more)))
        .host_flushes;
  };
  for (const std::string_view alike :
       {"", "mov.f32 %f4, %f1;", "selp.f32 %f4, %f1, %f2, %p1;", "neg.f32 %f4, %f1;",
        "ex2.approx.ftz.f32 %f4, %f1;", "cvt.rn.bf16x2.f32 %r1, %f1, %f2;",
        "cvt.rzi.s32.f32 %r1, %f1;", "cvt.rmi.ftz.f32.f32 %f4, %f1;", "mul.f16 %h1, %h2, %h3;",
        "add.s32 %r1, %r2, %r3;", "setp.lt.ftz.f32 %p1, %f1, %f2;"})
    EXPECT_TRUE(flushes(alike)) << alike;
  for (const std::string_view other :
       {"add.f32 %f4, %f1, %f2;", "setp.lt.f32 %p1, %f1, %f2;", "ex2.approx.f32 %f4, %f1;",
        "cvt.rmi.f32.f32 %f4, %f1;", "cvt.f64.f32 %y1, %f1;", "add.f64 %y1, %y2, %y3;",
        "add.bf16 %h1, %h2, %h3;", "cvt.f32.bf16 %f4, %h1;", "max.bf16x2 %r1, %r2, %r3;",
        "atom.global.add.f32 %f4, [%y1], %f1;", "fma.rm.ftz.f32 %f4, %f1, %f2, %f3;"})
    EXPECT_FALSE(flushes(other)) << other;
  EXPECT_FALSE(translated(module_text("", "mov.f32 %f4, %f1;")).host_flushes);
}

// At most max_products consecutive products are executed together. A product begins a new group if
// it needs an earlier result, has a guard, or follows a label or another instruction.
TEST(TranslatePtx, ConsecutiveProductsAreCombined) {
  constexpr std::string_view by_a_and_b =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{{%f{0}, %f{0}, %f{0}, %f{0}}}, {{%r1, %r{1}}}, {{%r{2}}}, {{%f{3}, %f60, %f60, %f60}};\n";
  const auto product = [&](int to, int a, int b, int c) {
    return fmt::format(fmt::runtime(by_a_and_b), to, a, b, c);
  };
  const auto products = [](const std::string& body) {
    const Translation made = translated(module_text("", body));
    EXPECT_TRUE(made.refused.empty());
    std::vector<std::string> tables;
    constexpr std::string_view begin = "products_[] = {", end = "}; multiply";
    for (std::size_t at = made.source.find(begin); at != std::string::npos;
         at = made.source.find(begin, at + 1)) {
      const std::size_t from = at + begin.size();
      tables.push_back(made.source.substr(from, made.source.find(end, from) - from));
    }
    return tables;
  };
  // the first and last share b, the first two share a
  EXPECT_THAT(products(product(1, 2, 3, 60) + ".loc 1 2 3\n{\n" + product(2, 2, 4, 60) + "}\n" +
                       product(3, 5, 3, 60)),
              ElementsAre("{0, 0}, {0, 1}, {1, 0}, "));
  EXPECT_THAT(products(product(1, 2, 3, 60) + product(2, 2, 3, 1)),
              ElementsAre("{0, 0}, ", "{0, 0}, "));
  EXPECT_THAT(products(product(1, 2, 3, 60) + "HERE:\n" + product(2, 2, 3, 60)),
              ElementsAre("{0, 0}, ", "{0, 0}, "));
  EXPECT_THAT(products(product(1, 2, 3, 60) + "mov.u32 %r2, 0;\n" + product(2, 2, 3, 60)),
              ElementsAre("{0, 0}, ", "{0, 0}, "));
  EXPECT_THAT(products(product(1, 2, 3, 60) + "@%p1 " + product(2, 2, 3, 60)),
              ElementsAre("{0, 0}, ", "{0, 0}, "));
  std::string many;
  for (int i = 1; i <= 9; ++i) many += product(i, 2, 3, 60);
  EXPECT_THAT(products(many), ElementsAre("{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, "
                                          "{0, 0}, ",
                                          "{0, 0}, "));
}

}  // namespace
}  // namespace plumbline::ptx
