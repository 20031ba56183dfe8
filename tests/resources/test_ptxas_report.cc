// Tests the reader on recorded output of ptxas, and on damaged reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "harness/resources/ptxas_report.h"
#include "tests/resources/recorded.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

PtxasReport parsed(const std::string& text) {
  auto report = parse_ptxas_report(text, "x.ptxas.txt");
  if (!report) ADD_FAILURE() << to_string(report.error());
  return report.value_or(PtxasReport{});
}
std::string complaint(const std::string& text) {
  const auto report = parse_ptxas_report(text, "x.ptxas.txt");
  return report ? "no error" : to_string(report.error());
}
std::string without_lines(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) == std::string::npos) kept += line + "\n";
  }
  return kept;
}

TEST(PtxasReport, LinesOfAnyLength) {
  const std::string name(1 << 20, 'x');
  const PtxasReport report = parsed(
      "# source: a.cu\n# toolkit: " + name + "\nptxas info    : Compiling entry function '" + name +
      "' for 'sm_90'\nptxas info    : Used " + std::string(1 << 20, '9') + " registers\n");
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].kernel, name);
  EXPECT_EQ(report.kernels[0].registers, 1 << 30);
}

TEST(PtxasReport, SpillsByArchitecture) {
  const PtxasReport report = parsed(recorded::spilling_tile);
  EXPECT_EQ(report.source, "tests/resources/tile.cu");
  EXPECT_EQ(report.toolkit, "nvcc 13.0.88");
  const KernelUsage on_sm_80{"tile_attention", "sm_80", 255, 208, 396, 400, 0, 388, 1};
  KernelUsage on_sm_90 = on_sm_80;
  on_sm_90.arch = "sm_90";
  on_sm_90.constant_bytes = 0;
  EXPECT_THAT(report.kernels, ElementsAre(on_sm_80, on_sm_90));
}

TEST(PtxasReport, ReadsSharedConstantAndStackBytes) {
  EXPECT_THAT(parsed(recorded::functions).kernels,
              ElementsAre(KernelUsage{"anon<128, (Mode)0>", "sm_80", 10, 0, 0, 0, 512, 360, 1},
                          KernelUsage{"caller", "sm_80", 18, 32, 0, 0, 0, 368, 0}));
}

TEST(PtxasReport, ListsSpillOfDeviceFunction) {
  std::string text = recorded::functions;
  const std::string last = "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  text.replace(text.rfind(last), last.size(),
               "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n");
  EXPECT_EQ(parsed(text).kernels.back(),
            (KernelUsage{"helper (device function)", "sm_80", -1, 16, 8, 4, 0, 0, 0}));
}

TEST(PtxasReport, IgnoresWarningsBetweenLines) {
  EXPECT_THAT(parsed(recorded::warnings).kernels,
              ElementsAre(KernelUsage{"spill", "sm_75", 64, 288, 568, 592, 0, 360, 0}));
}

TEST(PtxasReport, DamagedReportsAreRefused) {
  EXPECT_THAT(complaint(""), HasSubstr("lacks its header"));
  EXPECT_THAT(complaint(without_lines(recorded::small_tile, "# toolkit")),
              HasSubstr("lacks its header"));
  EXPECT_THAT(complaint("# source: a.cu\n# toolkit: nvcc 13.0.88\n"), HasSubstr("names no kernel"));
  EXPECT_THAT(
      complaint(without_lines(recorded::small_tile, "Used 48")),
      AllOf(HasSubstr("x.ptxas.txt:8: "),
            HasSubstr("before the registers of tile_attention on sm_80"), HasSubstr("remedy")));
  EXPECT_THAT(complaint(without_lines(recorded::small_tile, "Compiling entry")),
              HasSubstr("x.ptxas.txt:4: "));
}

TEST(DisplayName, KeepsArgumentsDropsNamespaces) {
  EXPECT_EQ(
      display_name(
          "_ZN9plumbline9attention15naive_attentionI13__nv_bfloat16EEvNS0_15NaiveParametersE"),
      "naive_attention<__nv_bfloat16>");
  EXPECT_EQ(display_name("_ZN9plumbline9attention10decode_mmaINS0_9DecodeMmaINS0_"
                         "4HalfELi64EEEEEvNS0_10ParametersE"),
            "decode_mma<DecodeMma<Half, 64>>");
  EXPECT_EQ(display_name("_Z14tile_attentionPK6__halfS1_S1_Pfi"), "tile_attention");
  EXPECT_EQ(display_name("plain_c_kernel"), "plain_c_kernel");
}

TEST(ArchNumber, IgnoresLetters) {
  EXPECT_EQ(arch_number("sm_90a"), 90);
  EXPECT_EQ(arch_number("sm_120"), 120);
  EXPECT_EQ(arch_number("registers"), 0);
}

}  // namespace
}  // namespace plumbline
