// nvcc's fat binary of our prefill kernel contains the PTX that it was made from.
#include <gtest/gtest.h>

#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include "emulator/ptx/fat_binary.h"

namespace plumbline::ptx {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in) << path;
  return text.str();
}

// nvcc removes comments and spaces from the text that it embeds.
std::string statements(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    for (const char c : line.substr(0, line.find("//")))
      if (c != ' ' && c != '\t') kept += c;
  return kept;
}

class PtxOwnKernelPacked : public testing::TestWithParam<std::pair<const char*, Packing>> {};

TEST_P(PtxOwnKernelPacked, ContainsSamePtx) {
  const auto& [mode, packing] = GetParam();
  const std::string file = contents(PLUMBLINE_OWN_KERNEL_PACKED + std::string(mode) + ".fatbin");
  const auto entries = read_fat_binary(std::as_bytes(std::span(file)));
  ASSERT_TRUE(entries) << entries.error();
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().packing, packing);
  EXPECT_EQ(architecture(entries->front()), "sm_80");
  EXPECT_GT(entries->front().text.size(), 10'000U);
  EXPECT_EQ(statements(entries->front().text), statements(contents(PLUMBLINE_OWN_KERNEL_PTX)));
  EXPECT_EQ(*choose_ptx(*entries, emulator::Arch::sm_90), &entries->front());
}

INSTANTIATE_TEST_SUITE_P(Modes, PtxOwnKernelPacked,
                         testing::Values(std::pair("default", Packing::zstd),
                                         std::pair("speed", Packing::lz4),
                                         std::pair("none", Packing::none)),
                         [](const auto& mode) { return std::string(mode.param.first); });

}  // namespace
}  // namespace plumbline::ptx
