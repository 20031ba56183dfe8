// Matrices as the registers of a warp, filled with several kinds of operands.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::testing {

struct Fragments {
  std::array<std::uint32_t, 128> a{}, c{}, d{};
  std::array<std::uint32_t, 64> b{};
};

int operand_bits(emulator::MmaFormat);
int accumulator_bits(emulator::MmaAccumulator);

// Sets or returns one element's raw bits.
void set_element(std::uint32_t* fragment, int registers, const emulator::FragmentPlace&, int bits,
                 std::uint32_t value);
std::uint32_t get_element(const std::uint32_t* fragment, int registers,
                          const emulator::FragmentPlace&, int bits);

enum class Operands {
  ordinary,
  wide,
  full_range,
  sparse,
  powers_of_two,
  subnormal,
  huge,
  nonfinite,
  zeros
};
inline constexpr std::array all_operands{
    Operands::ordinary, Operands::wide,          Operands::full_range,
    Operands::sparse,   Operands::powers_of_two, Operands::subnormal,
    Operands::huge,     Operands::nonfinite,     Operands::zeros};
std::string name(Operands);

// Fills a, b and c of one instruction. Sets every bit of every register, including the ignored bits
// of tf32.
void fill(Operands, const emulator::MmaInstruction&, std::mt19937_64&, Fragments&);

// All instructions that at least one architecture supports.
inline constexpr std::array all_instructions{
    emulator::MmaInstruction{emulator::MmaFormat::f16, emulator::MmaAccumulator::f32, 16},
    emulator::MmaInstruction{emulator::MmaFormat::f16, emulator::MmaAccumulator::f32, 8},
    emulator::MmaInstruction{emulator::MmaFormat::f16, emulator::MmaAccumulator::f16, 16},
    emulator::MmaInstruction{emulator::MmaFormat::f16, emulator::MmaAccumulator::f16, 8},
    emulator::MmaInstruction{emulator::MmaFormat::bf16, emulator::MmaAccumulator::f32, 16},
    emulator::MmaInstruction{emulator::MmaFormat::bf16, emulator::MmaAccumulator::f32, 8},
    emulator::MmaInstruction{emulator::MmaFormat::tf32, emulator::MmaAccumulator::f32, 8},
    emulator::MmaInstruction{emulator::MmaFormat::tf32, emulator::MmaAccumulator::f32, 4},
    emulator::MmaInstruction{emulator::MmaFormat::e4m3, emulator::MmaAccumulator::f32, 32},
    emulator::MmaInstruction{emulator::MmaFormat::e4m3, emulator::MmaAccumulator::f32, 16},
    emulator::MmaInstruction{emulator::MmaFormat::e4m3, emulator::MmaAccumulator::f16, 32},
    emulator::MmaInstruction{emulator::MmaFormat::e4m3, emulator::MmaAccumulator::f16, 16},
    emulator::MmaInstruction{emulator::MmaFormat::e5m2, emulator::MmaAccumulator::f32, 32},
    emulator::MmaInstruction{emulator::MmaFormat::e5m2, emulator::MmaAccumulator::f32, 16},
    emulator::MmaInstruction{emulator::MmaFormat::e5m2, emulator::MmaAccumulator::f16, 32},
    emulator::MmaInstruction{emulator::MmaFormat::e5m2, emulator::MmaAccumulator::f16, 16}};

std::string name(emulator::MmaFormat);
std::string name(const emulator::MmaInstruction&);  // "bf16_f32_k16"
std::optional<emulator::MmaInstruction> parse_instruction(const std::string& name);

}  // namespace plumbline::testing
