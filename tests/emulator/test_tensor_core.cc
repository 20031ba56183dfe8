// The fast tensor-core model gives the bits of the exact one, and fragments are laid out as in the
// tables of the PTX ISA.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/emulator/corner_cases.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

struct Configuration {
  Arch arch;
  MmaInstruction instruction;
};

std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  for (const Arch arch : emulator::all_archs) {
    for (const MmaFormat format :
         {MmaFormat::f16, MmaFormat::bf16, MmaFormat::tf32, MmaFormat::e4m3, MmaFormat::e5m2}) {
      for (const MmaAccumulator accumulator : {MmaAccumulator::f32, MmaAccumulator::f16}) {
        for (const int k : {4, 8, 16, 32}) {
          if (supports(arch, {format, accumulator, k}))
            all.push_back({arch, {format, accumulator, k}});
        }
      }
    }
  }
  return all;
}

class EveryArchitecture : public ::testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(TensorCore, EveryArchitecture, ::testing::ValuesIn(emulator::all_archs),
                         [](const auto& arch) { return std::string(emulator::name(arch.param)); });

// Every fourth time, c has operands of another kind; every eighth time, also B.
void fill_mixed(Operands operands, const MmaInstruction& instruction, int repeat,
                std::mt19937_64& random, Fragments& fragments) {
  fill(operands, instruction, random, fragments);
  if (repeat % 4 != 3) return;
  Fragments other;
  fill(all_operands[static_cast<std::size_t>(repeat / 4) % all_operands.size()], instruction,
       random, other);
  fragments.c = other.c;
  if (repeat % 8 == 3) fragments.b = other.b;
}

TEST_P(EveryArchitecture, FastEqualsExact) {
  for (const auto& [arch, instruction] : configurations()) {
    if (arch != GetParam()) continue;
    std::mt19937_64 random(7);
    for (const Operands operands : all_operands) {
      int different = 0;
      for (int repeat = 0; repeat < 36; ++repeat) {  // 36 x 128 outputs, nine kinds
        Fragments fragments;
        fill_mixed(operands, instruction, repeat, random, fragments);
        Fragments exact = fragments;
        mma_sync(arch, instruction, fragments.a.data(), fragments.b.data(), fragments.c.data(),
                 fragments.d.data());
        mma_sync_exact(arch, instruction, exact.a.data(), exact.b.data(), exact.c.data(),
                       exact.d.data());
        for (std::size_t word = 0; word < exact.d.size(); ++word)
          different += fragments.d[word] != exact.d[word];
      }
      EXPECT_EQ(different, 0) << name(instruction) << " with " << name(operands) << " operands";
    }
  }
}

TEST_P(EveryArchitecture, MayOverwriteC) {
  for (const auto& [arch, instruction] : configurations()) {
    if (arch != GetParam()) continue;
    std::mt19937_64 random(8);
    // the fast path, then the exact path
    for (const Operands operands : {Operands::ordinary, Operands::nonfinite}) {
      Fragments fragments;
      fill(operands, instruction, random, fragments);
      mma_sync(arch, instruction, fragments.a.data(), fragments.b.data(), fragments.c.data(),
               fragments.d.data());
      mma_sync(arch, instruction, fragments.a.data(), fragments.b.data(), fragments.c.data(),
               fragments.c.data());
      EXPECT_EQ(fragments.d, fragments.c) << name(instruction);
    }
  }
}

// A NaN at each position of A, B and C in turn, among ordinary numbers.
TEST_P(EveryArchitecture, NanAnywhereMatchesExact) {
  for (const auto& [arch, instruction] : configurations()) {
    if (arch != GetParam()) continue;
    std::mt19937_64 random(9);
    Fragments ordinary;
    fill(Operands::ordinary, instruction, random, ordinary);
    const emulator::MmaRegisters count = registers(instruction);
    int different = 0;
    const auto compare_with_nan_in = [&](auto Fragments::*fragment, int words, int bits) {
      for (int place = 0; place < 32 * words * (32 / bits); ++place) {
        Fragments fast = ordinary;
        // All bits except the sign: NaN in each format.
        (fast.*fragment)[static_cast<std::size_t>(place * bits / 32)] |= (~0U >> (33 - bits))
                                                                         << (place * bits % 32);
        Fragments exact = fast;
        mma_sync(arch, instruction, fast.a.data(), fast.b.data(), fast.c.data(), fast.d.data());
        mma_sync_exact(arch, instruction, exact.a.data(), exact.b.data(), exact.c.data(),
                       exact.d.data());
        different += fast.d != exact.d ? 1 : 0;
      }
    };
    const int operand = operand_bits(instruction.format);
    compare_with_nan_in(&Fragments::a, count.a, operand);
    compare_with_nan_in(&Fragments::b, count.b, operand);
    compare_with_nan_in(&Fragments::c, count.c, accumulator_bits(instruction.accumulator));
    EXPECT_EQ(different, 0) << name(instruction);
  }
}

// 16 products of nearly 4 in units of 2^-25 are nearly 2^31. With these c, sums reach exactly -2^31
// (bf16) and exceed 32 bits.
TEST_P(EveryArchitecture, LargestSumsMatchExact) {
  for (const MmaFormat format : {MmaFormat::bf16, MmaFormat::f16}) {
    const MmaInstruction instruction{format, MmaAccumulator::f32, 16};
    for (const float c : {0.0F, 0.4990234375F, 0.75F, 1.75F}) {
      for (const std::uint32_t sign : {0U, 0x8000U}) {
        constexpr std::uint32_t largest = 0x3fff;  // below 2, in both formats
        Fragments fragments;
        fragments.a.fill((largest | sign) * 0x10001U);
        fragments.b.fill(largest * 0x10001U);
        fragments.c.fill(std::bit_cast<std::uint32_t>(sign == 0 ? c : -c));
        Fragments exact = fragments;
        mma_sync(GetParam(), instruction, fragments.a.data(), fragments.b.data(),
                 fragments.c.data(), fragments.d.data());
        mma_sync_exact(GetParam(), instruction, exact.a.data(), exact.b.data(), exact.c.data(),
                       exact.d.data());
        EXPECT_EQ(fragments.d, exact.d) << name(instruction) << " and c = " << c;
      }
    }
  }
}

TEST(TensorCore, NamesArchitectures) {
  for (const Arch arch : emulator::all_archs)
    EXPECT_EQ(emulator::parse_arch(emulator::name(arch)), arch);
  EXPECT_EQ(emulator::name(Arch::sm_100), "sm_100");
  EXPECT_EQ(emulator::parse_arch("sm_75"), std::nullopt);
  EXPECT_EQ(emulator::parse_arch("sm_9"), std::nullopt);
}

TEST(TensorCore, SupportsInstructionsOfPtxIsa) {
  const auto supported = [](Arch arch, MmaFormat format, MmaAccumulator accumulator, int k) {
    return supports(arch, {format, accumulator, k});
  };
  EXPECT_FALSE(supported(Arch::sm_80, MmaFormat::e4m3, MmaAccumulator::f32, 32));
  EXPECT_FALSE(supported(Arch::sm_86, MmaFormat::e5m2, MmaAccumulator::f16, 32));
  EXPECT_TRUE(supported(Arch::sm_89, MmaFormat::e5m2, MmaAccumulator::f16, 32));
  EXPECT_FALSE(supported(Arch::sm_90, MmaFormat::bf16, MmaAccumulator::f16, 16));
  EXPECT_FALSE(supported(Arch::sm_90, MmaFormat::tf32, MmaAccumulator::f16, 8));
  EXPECT_FALSE(supported(Arch::sm_90, MmaFormat::tf32, MmaAccumulator::f32, 16));
  EXPECT_FALSE(supported(Arch::sm_90, MmaFormat::f16, MmaAccumulator::f32, 4));
  EXPECT_EQ(configurations().size(), 5 * 8 + 3 * 8);
}

// Two elements of one lane and the element that their product must reach: PTX ISA, "Matrix
// Fragments for mma.m16n8k…", computed by hand.
struct Meeting {
  MmaInstruction instruction;
  std::uint32_t a_two, b_three, d_six;  // 2, 3 and 6 in the formats
  emulator::FragmentPlace a, b, d;
};

constexpr MmaAccumulator f32 = MmaAccumulator::f32, f16 = MmaAccumulator::f16;
constexpr Meeting meetings[] = {
    // lane 5 is group 1, thread 1 in it. a0 = A[1][2], b0 = B[2][n = lane / 4]; D[1][n]: lane 4 + n
    // / 2, register n % 2.
    {{MmaFormat::bf16, f32, 16}, 0x4000, 0x4040, 0x40c00000, {5, 0, 0}, {5, 0, 0}, {4, 1, 0}},
    // a3 = A[9][3] of lane 5; b1 = B[3][7] of lane 29; D[9][7] is d3 of lane 7.
    {{MmaFormat::bf16, f32, 16}, 0x4000, 0x4040, 0x40c00000, {5, 1, 1}, {29, 0, 1}, {7, 3, 0}},
    // a5 = A[0][15] of lane 3; b3 = B[15][2] of lane 11; D[0][2] is d0 of lane 1.
    {{MmaFormat::f16, f32, 16}, 0x4000, 0x4200, 0x40c00000, {3, 2, 1}, {11, 1, 1}, {1, 0, 0}},
    // a6 = A[15][8] of lane 28; b2 = B[8][0] of lane 0; D[15][0] is d2 of lane 28, in fp16 the low
    // half of register 1.
    {{MmaFormat::f16, f32, 16}, 0x4000, 0x4200, 0x40c00000, {28, 3, 0}, {0, 1, 0}, {28, 2, 0}},
    {{MmaFormat::f16, f16, 16}, 0x4000, 0x4200, 0x4600, {28, 3, 0}, {0, 1, 0}, {28, 1, 0}},
    // m16n8k8: a3 = A[15][7] of lane 31; b1 = B[7][7] of lane 31; D[15][7] is d3 of lane 31.
    {{MmaFormat::f16, f32, 8}, 0x4000, 0x4200, 0x40c00000, {31, 1, 1}, {31, 0, 1}, {31, 3, 0}},
    {{MmaFormat::f16, f16, 8}, 0x4000, 0x4200, 0x4600, {31, 1, 1}, {31, 0, 1}, {31, 1, 1}},
    // tf32 m16n8k8: a1 = A[8][2] of lane 2; b0 = B[2][4] of lane 18; D[8][4] is d2 of lane 2.
    {{MmaFormat::tf32, f32, 8},
     0x40000000,
     0x40400000,
     0x40c00000,
     {2, 1, 0},
     {18, 0, 0},
     {2, 2, 0}},
    // a2 = A[3][4 + 1] of lane 13; b1 = B[5][6] of lane 25; D[3][6] is d0 of lane 15.
    {{MmaFormat::tf32, f32, 8},
     0x40000000,
     0x40400000,
     0x40c00000,
     {13, 2, 0},
     {25, 1, 0},
     {15, 0, 0}},
    // tf32 m16n8k4: a1 = A[10][3] of lane 11; b0 = B[3][1] of lane 7; D[10][1] is d3 of lane 8.
    {{MmaFormat::tf32, f32, 4},
     0x40000000,
     0x40400000,
     0x40c00000,
     {11, 1, 0},
     {7, 0, 0},
     {8, 3, 0}},
    // fp8 m16n8k32: a6 = A[9][4 + 2] of lane 5; b2 = B[6][3] of lane 13; D[9][3] is d3 of lane 5.
    {{MmaFormat::e4m3, f32, 32}, 0x40, 0x44, 0x40c00000, {5, 1, 2}, {13, 0, 2}, {5, 3, 0}},
    // a11 = A[7][3 + 16] of lane 28; b7 = B[19][0] of lane 0; D[7][0] is d0 of lane 28.
    {{MmaFormat::e5m2, f32, 32}, 0x40, 0x42, 0x40c00000, {28, 2, 3}, {0, 1, 3}, {28, 0, 0}},
    // a12 = A[8][12 + 16] of lane 3; b4 = B[28][5] of lane 23; D[8][5] is the high half of register
    // 1 of lane 2.
    {{MmaFormat::e5m2, f16, 32}, 0x40, 0x42, 0x4600, {3, 3, 0}, {23, 1, 0}, {2, 1, 1}},
    // fp8 m16n8k16: a5 = A[8][1] of lane 0; b1 = B[1][7] of lane 28; D[8][7] is d3 of lane 3.
    {{MmaFormat::e4m3, f32, 16}, 0x40, 0x44, 0x40c00000, {0, 1, 1}, {28, 0, 1}, {3, 3, 0}},
};

TEST(TensorCore, FragmentLayoutMatchesPtxIsa) {
  for (const Meeting& meeting : meetings) {
    const emulator::MmaRegisters count = registers(meeting.instruction);
    const int bits = operand_bits(meeting.instruction.format),
              c_bits = accumulator_bits(meeting.instruction.accumulator);
    Fragments fragments;
    set_element(fragments.a.data(), count.a, meeting.a, bits, meeting.a_two);
    set_element(fragments.b.data(), count.b, meeting.b, bits, meeting.b_three);
    Fragments expected = fragments, exact = fragments;
    set_element(expected.d.data(), count.c, meeting.d, c_bits, meeting.d_six);
    mma_sync(Arch::sm_89, meeting.instruction, fragments.a.data(), fragments.b.data(),
             fragments.c.data(), fragments.d.data());
    mma_sync_exact(Arch::sm_89, meeting.instruction, exact.a.data(), exact.b.data(), exact.c.data(),
                   exact.d.data());
    const std::size_t index = static_cast<std::size_t>(&meeting - meetings);
    EXPECT_EQ(fragments.d, expected.d) << name(meeting.instruction) << ", meeting " << index;
    EXPECT_EQ(exact.d, expected.d) << name(meeting.instruction) << ", meeting " << index;

    // The accumulator has the position of the result.
    Fragments through;
    set_element(through.c.data(), count.c, meeting.d, c_bits, meeting.d_six);
    mma_sync(Arch::sm_89, meeting.instruction, through.a.data(), through.b.data(), through.c.data(),
             through.d.data());
    EXPECT_EQ(through.d, expected.d) << name(meeting.instruction) << ", meeting " << index;
  }
}

TEST(TensorCore, PlacesAreOneToOne) {
  for (const auto& [arch, instruction] : configurations()) {
    const emulator::MmaRegisters count = registers(instruction);
    const int per_word = 32 / operand_bits(instruction.format),
              per_c = 32 / accumulator_bits(instruction.accumulator);
    std::vector<int> a(static_cast<std::size_t>(32 * count.a * per_word)),
        b(static_cast<std::size_t>(32 * count.b * per_word)),
        c(static_cast<std::size_t>(32 * count.c * per_c));
    const auto mark = [](std::vector<int>& seen, const emulator::FragmentPlace& place, int regs,
                         int per) {
      ++seen.at(static_cast<std::size_t>((place.lane * regs + place.register_index) * per +
                                         place.element));
    };
    for (int k = 0; k < instruction.k; ++k) {
      for (int row = 0; row < 16; ++row) mark(a, place_a(instruction, row, k), count.a, per_word);
      for (int column = 0; column < 8; ++column)
        mark(b, place_b(instruction, k, column), count.b, per_word);
    }
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column)
        mark(c, place_c(instruction, row, column), count.c, per_c);
    }
    EXPECT_THAT(a, ::testing::Each(1)) << name(instruction);
    EXPECT_THAT(b, ::testing::Each(1)) << name(instruction);
    EXPECT_THAT(c, ::testing::Each(1)) << name(instruction);
  }
}

// Returns element (0, 0) of a complete instruction.
std::uint32_t run(const Corner& corner, Arch arch, decltype(emulator::mma_sync)* mma) {
  Fragments fragments = fragments_of(corner);
  mma(arch, corner.instruction, fragments.a.data(), fragments.b.data(), fragments.c.data(),
      fragments.d.data());
  return fragments.d[0] & (corner.instruction.accumulator == MmaAccumulator::f32 ? ~0u : 0xffffu);
}

TEST(TensorCore, CornersUnderEveryHypothesis) {
  for (const Corner& corner : corners()) {
    const emulator::MmaModel sm_90 = model(Arch::sm_90, corner.instruction);
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      EXPECT_EQ(predict(corner, under(hypotheses[i], sm_90)), corner.on_sm_90[i])
          << corner.name << ", " << hypotheses[i].name;
    }
    // The hypothesis that the emulator follows.
    EXPECT_EQ(run(corner, Arch::sm_90, emulator::mma_sync), corner.on_sm_90[0]) << corner.name;
    EXPECT_EQ(run(corner, Arch::sm_90, emulator::mma_sync_exact), corner.on_sm_90[0])
        << corner.name;
  }
}

// E is at least -126 if c is not zero, and at least -28 if a product of fp8 is not zero. So no
// input can distinguish the floor of Hopper's fp8 in models.cc (-133) from another (-132 in
// mmaemu).
TEST(TensorCore, Fp8NeverReachesExponentFloor) {
  const emulator::FusedSum ours = emulator::wgmma_fp8_sm_90();
  ASSERT_EQ(ours.min_exponent, -133);
  for (const int floor : {-126, -132, emulator::no_exponent_floor}) {
    emulator::FusedSum other = ours;
    other.min_exponent = floor;
    for (const MmaFormat format : {MmaFormat::e4m3, MmaFormat::e5m2}) {
      for (const std::uint32_t c :
           {0U, 0x80000000U, 1U, 0x80000001U, 0x003fffffU, 0x807fffffU, 0x00800000U, 0x0d800001U}) {
        for (std::uint32_t pair = 0; pair < 0x10000; ++pair) {
          const std::uint32_t a[] = {pair & 0xffU, 1}, b[] = {pair >> 8U, 0x81};
          ASSERT_EQ(fused_sum(ours, format, 2, a, b, c), fused_sum(other, format, 2, a, b, c))
              << floor << " " << std::hex << pair << " " << c;
        }
      }
    }
  }
}

// sm_80 processes 16 products in two steps and rounds in between.
TEST(TensorCore, Sm80RoundsFp16BetweenSteps) {
  const Corner& corner = corners().back();
  EXPECT_EQ(run(corner, Arch::sm_80, emulator::mma_sync), 0x3c00u) << corner.name;
  EXPECT_EQ(run(corner, Arch::sm_80, emulator::mma_sync_exact), 0x3c00u) << corner.name;
}

TEST(TensorCore, TwoProbesIdentifyArchitecture) {
  const Corner wide = fingerprint(true), narrow = fingerprint(false);
  for (const Arch arch : emulator::all_archs) {
    EXPECT_EQ(run(wide, arch, emulator::mma_sync), arch >= Arch::sm_90 ? 0x3f800004u : 0x3f800000u)
        << emulator::name(arch);
    EXPECT_EQ(run(narrow, arch, emulator::mma_sync), 0x3f800008u) << emulator::name(arch);
  }
  EXPECT_EQ(predict(narrow, {mma_m8n8k4_sm_70(MmaAccumulator::f32), false, ""}), 0x3f800000u);
}

}  // namespace
}  // namespace plumbline::testing
