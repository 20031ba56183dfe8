// The tensor-core models give the bits of this machine's GPU. The hardware decides: if they differ,
// the model is wrong.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "tests/emulator/corner_cases.h"
#include "tests/gpu/hardware_mma.h"
#include "tests/need_gpu.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

// Skips without a GPU, or if the GPU has no model.
class HardwareMma : public ::testing::Test {
 protected:
  void SetUp() override {
    static const Gpu gpu = find_gpu();
    if (!gpu.missing.empty())
      PLUMBLINE_SKIP_WITHOUT_GPU(gpu.missing + " (toolkit " + gpu.toolkit + ")");
    fmt::print("{} ({}), driver {}, toolkit {}\n", gpu.name, gpu.arch, gpu.driver, gpu.toolkit);
    const auto arch = emulator::parse_arch(gpu.arch);
    if (!arch) GTEST_SKIP() << "no model of " << gpu.arch;
    arch_ = *arch;
  }
  Arch arch_ = Arch::sm_80;
};

// Returns element (0, 0) of the corner's instruction on the GPU.
std::uint32_t on_gpu(const Corner& corner) {
  Fragments fragments = fragments_of(corner);
  const std::string error = mma_on_gpu(corner.instruction, 1, fragments.a.data(),
                                       fragments.b.data(), fragments.c.data(), fragments.d.data());
  EXPECT_EQ(error, "");
  return fragments.d[0] & (corner.instruction.accumulator == MmaAccumulator::f32 ? ~0u : 0xffffu);
}

TEST_F(HardwareMma, FingerprintMatchesArchitecture) {
  for (const bool wide : {true, false}) {
    const Corner probe = fingerprint(wide);
    const std::uint32_t hardware = on_gpu(probe);
    fmt::print("{}: {:08x}\n", probe.name, hardware);
    EXPECT_EQ(hardware, predict(probe, model(arch_, probe.instruction))) << probe.name;
  }
}

TEST_F(HardwareMma, DisputedCornersFollowTheModel) {
  for (const Corner& corner : corners()) {
    if (!supports(arch_, corner.instruction)) continue;
    const emulator::MmaModel present = model(arch_, corner.instruction);
    const std::uint32_t hardware = on_gpu(corner);
    fmt::print("{}: {:08x}\n", corner.name, hardware);
    for (const Hypothesis& hypothesis : hypotheses) {
      const std::uint32_t predicted = predict(corner, under(hypothesis, present));
      fmt::print("  {} {:08x} {}\n", predicted == hardware ? "agrees:   " : "disagrees:", predicted,
                 hypothesis.name);
    }
    EXPECT_EQ(hardware, predict(corner, present)) << corner.name;
  }
}

std::string row_of(const MmaInstruction& instruction, const Fragments& f, int row, int column) {
  const emulator::MmaRegisters count = registers(instruction);
  const int bits = operand_bits(instruction.format), digits = bits / 4;
  std::string text;
  for (int k = 0; k < instruction.k; ++k) {
    text += fmt::format(
        " {:0{}x}*{:0{}x}", get_element(f.a.data(), count.a, place_a(instruction, row, k), bits),
        digits, get_element(f.b.data(), count.b, place_b(instruction, k, column), bits), digits);
  }
  const int c_bits = accumulator_bits(instruction.accumulator);
  return text +
         fmt::format(" + {:0{}x}",
                     get_element(f.c.data(), count.c, place_c(instruction, row, column), c_bits),
                     c_bits / 4);
}

// Consecutive instructions, as for mma_on_gpu.
struct Batch {
  Batch(const MmaInstruction& i, int n) : instruction(i), count(registers(i)), size(n) {
    for (auto [array, words] : {std::pair{&a, count.a}, std::pair{&b, count.b},
                                std::pair{&c, count.c}, std::pair{&d, count.c}}) {
      array->resize(static_cast<std::size_t>(size) * 32 * static_cast<std::size_t>(words));
    }
  }
  Fragments at(int n) const {
    Fragments f;
    const auto copy = [n](const std::vector<std::uint32_t>& from, int words, auto& to) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(n) * 32 * words, 32 * words,
                  to.begin());
    };
    copy(a, count.a, f.a);
    copy(b, count.b, f.b);
    copy(c, count.c, f.c);
    copy(d, count.c, f.d);
    return f;
  }
  void set(int n, const Fragments& f) {
    const auto copy = [n](const auto& from, int words, std::vector<std::uint32_t>& to) {
      std::copy_n(from.begin(), 32 * words,
                  to.begin() + static_cast<std::ptrdiff_t>(n) * 32 * words);
    };
    copy(f.a, count.a, a);
    copy(f.b, count.b, b);
    copy(f.c, count.c, c);
  }

  MmaInstruction instruction;
  emulator::MmaRegisters count;
  int size;
  std::vector<std::uint32_t> a, b, c, d;
};

// Describes which elements of one instruction differ, the first of them in full.
std::string differences(Arch arch, const MmaInstruction& instruction, const Fragments& hardware,
                        const Fragments& emulated) {
  const int words = registers(instruction).c, bits = accumulator_bits(instruction.accumulator);
  std::string text;
  int different = 0;
  for (int element = 0; element < 128; ++element) {
    const int row = element / 8, column = element % 8;
    const std::uint32_t expected =
        get_element(hardware.d.data(), words, place_c(instruction, row, column), bits);
    const std::uint32_t got =
        get_element(emulated.d.data(), words, place_c(instruction, row, column), bits);
    if (expected == got || different++ != 0) continue;
    const std::uint32_t exact = mma_element_exact(
        arch, instruction, hardware.a.data(), hardware.b.data(), hardware.c.data(), row, column);
    text = fmt::format("D[{}][{}]: hardware {:08x}, emulated {:08x}, exact model {:08x}:{}", row,
                       column, expected, got, exact, row_of(instruction, hardware, row, column));
  }
  return text.empty() ? text : fmt::format("{} of 128 elements differ; {}", different, text);
}

class EveryInstruction : public HardwareMma,
                         public ::testing::WithParamInterface<MmaInstruction> {};
INSTANTIATE_TEST_SUITE_P(HardwareMma, EveryInstruction, ::testing::ValuesIn(all_instructions),
                         [](const auto& instruction) { return name(instruction.param); });

TEST_P(EveryInstruction, MillionResultsMatchModel) {
  const MmaInstruction instruction = GetParam();
  if (!supports(arch_, instruction)) {  // nothing to compare, so not a skipped test
    fmt::print("{} has no {}\n", emulator::name(arch_), name(instruction));
    return;
  }
  constexpr int batches = 90, batch_size = 11'112;
  Batch batch(instruction, batch_size);
  std::array<int, all_operands.size()> wrong{};
  std::string examples;
  for (int n = 0; n < batches; ++n) {
    const std::size_t kind = static_cast<std::size_t>(n) % all_operands.size();
    tbb::parallel_for(0, batch_size, [&](int i) {
      std::mt19937_64 random(static_cast<std::uint64_t>(n) * batch_size +
                             static_cast<std::uint64_t>(i));
      Fragments fragments;
      fill(all_operands[kind], instruction, random, fragments);
      batch.set(i, fragments);
    });
    ASSERT_EQ(mma_on_gpu(instruction, batch_size, batch.a.data(), batch.b.data(), batch.c.data(),
                         batch.d.data()),
              "");
    std::atomic<int> different = 0, example = batch_size;
    tbb::parallel_for(0, batch_size, [&](int i) {
      const Fragments hardware = batch.at(i);
      Fragments emulated = hardware;
      mma_sync(arch_, instruction, hardware.a.data(), hardware.b.data(), hardware.c.data(),
               emulated.d.data());
      if (hardware.d == emulated.d) return;
      ++different;
      example = i;
    });
    if (different != 0 && wrong[kind] == 0) {
      const Fragments hardware = batch.at(example);
      Fragments emulated = hardware;
      mma_sync(arch_, instruction, hardware.a.data(), hardware.b.data(), hardware.c.data(),
               emulated.d.data());
      examples += fmt::format("{}: {}\n", name(all_operands[kind]),
                              differences(arch_, instruction, hardware, emulated));
    }
    wrong[kind] += different;
  }
  fmt::print("{}: {} instructions", name(instruction), batches * batch_size);
  for (std::size_t kind = 0; kind < wrong.size(); ++kind)
    fmt::print(", {} {} differ", name(all_operands[kind]), wrong[kind]);
  fmt::print("\n");
  EXPECT_EQ(wrong, (std::array<int, all_operands.size()>{})) << examples;
}

}  // namespace
}  // namespace plumbline::testing
