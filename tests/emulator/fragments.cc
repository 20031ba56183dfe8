// Fills a warp's registers with random operands, and reads and writes single matrix elements.
#include "tests/emulator/fragments.h"

#include <algorithm>

namespace plumbline::testing {
namespace {

using emulator::MmaAccumulator;
using emulator::MmaFormat;

struct Layout {
  int exponent_bits, fraction_bits;
};

Layout layout(MmaFormat format) {
  switch (format) {
    case MmaFormat::f16:
      return {5, 10};
    case MmaFormat::bf16:
      return {8, 7};
    case MmaFormat::tf32:
      return {8, 23};  // includes the ignored bits
    case MmaFormat::e4m3:
      return {4, 3};
    case MmaFormat::e5m2:
      return {5, 2};
  }
  return {};
}
Layout layout(MmaAccumulator accumulator) {
  return accumulator == MmaAccumulator::f32 ? Layout{8, 23} : Layout{5, 10};
}

class Elements {
 public:
  Elements(Operands kind, Layout l, std::mt19937_64& random)
      : kind_(kind), l_(l), random_(random) {}

  std::uint32_t next() {
    // the largest field that is finite in every format
    const int bias = (1 << (l_.exponent_bits - 1)) - 1, last = 2 * bias;
    const std::uint32_t fraction = below(1u << l_.fraction_bits);
    switch (kind_) {
      case Operands::ordinary:
        return bits(bias - 3 + pick(5), fraction);
      case Operands::wide:
        return bits(std::clamp(bias - 20 + pick(40), 0, last), fraction);
      case Operands::full_range:
        return bits(pick(last + 1), fraction);
      case Operands::sparse:
        return pick(4) != 0 ? bits(0, 0) : bits(bias - 3 + pick(5), fraction);
      case Operands::powers_of_two:
        return bits(std::clamp(bias - 13 + pick(26), 0, last), 0);
      case Operands::subnormal:
        return bits(pick(2) != 0 ? 0 : pick(std::min(last, 2 * l_.exponent_bits)), fraction);
      case Operands::huge:
        return bits(last - pick(3), fraction);
      case Operands::nonfinite:
        return pick(12) != 0 ? bits(bias - 3 + pick(5), fraction)
                             : bits(last + 1, pick(2) != 0 ? fraction : 0);
      case Operands::zeros:
        return bits(0, 0);
    }
    return 0;
  }

 private:
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_() >> 32) % bound;
  }
  int pick(int bound) { return static_cast<int>(below(static_cast<std::uint32_t>(bound))); }
  std::uint32_t bits(int field, std::uint32_t fraction) {
    return (below(2) << (l_.exponent_bits + l_.fraction_bits)) |
           (static_cast<std::uint32_t>(field) << l_.fraction_bits) | fraction;
  }

  Operands kind_;
  Layout l_;
  std::mt19937_64& random_;
};

void fill_words(Elements elements, int bits, int words, std::uint32_t* fragment) {
  for (int word = 0; word < words; ++word) {
    fragment[word] = 0;
    for (int shift = 0; shift < 32; shift += bits) fragment[word] |= elements.next() << shift;
  }
}

}  // namespace

int operand_bits(MmaFormat format) {
  return format == MmaFormat::tf32                                ? 32
         : format == MmaFormat::e4m3 || format == MmaFormat::e5m2 ? 8
                                                                  : 16;
}
int accumulator_bits(MmaAccumulator accumulator) {
  return accumulator == MmaAccumulator::f32 ? 32 : 16;
}

void set_element(std::uint32_t* fragment, int registers, const emulator::FragmentPlace& place,
                 int bits, std::uint32_t value) {
  std::uint32_t& word = fragment[place.lane * registers + place.register_index];
  const int shift = place.element * bits;
  const std::uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
  word = (word & ~mask) | ((value << shift) & mask);
}

std::uint32_t get_element(const std::uint32_t* fragment, int registers,
                          const emulator::FragmentPlace& place, int bits) {
  const std::uint32_t word =
      fragment[place.lane * registers + place.register_index] >> (place.element * bits);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

void fill(Operands kind, const emulator::MmaInstruction& instruction, std::mt19937_64& random,
          Fragments& fragments) {
  const emulator::MmaRegisters count = emulator::registers(instruction);
  const int bits = operand_bits(instruction.format);
  const Layout operand = layout(instruction.format);
  fill_words({kind, operand, random}, bits, 32 * count.a, fragments.a.data());
  fill_words({kind, operand, random}, bits, 32 * count.b, fragments.b.data());
  fill_words({kind, layout(instruction.accumulator), random},
             accumulator_bits(instruction.accumulator), 32 * count.c, fragments.c.data());
}

std::string name(Operands operands) {
  constexpr std::array names{"ordinary",  "wide", "full_range", "sparse", "powers_of_two",
                             "subnormal", "huge", "nonfinite",  "zeros"};
  return names.at(static_cast<std::size_t>(operands));
}

std::string name(MmaFormat format) {
  constexpr std::array names{"f16", "bf16", "tf32", "e4m3", "e5m2"};
  return names.at(static_cast<std::size_t>(format));
}

std::string name(const emulator::MmaInstruction& instruction) {
  return name(instruction.format) +
         (instruction.accumulator == MmaAccumulator::f32 ? "_f32_k" : "_f16_k") +
         std::to_string(instruction.k);
}

std::optional<emulator::MmaInstruction> parse_instruction(const std::string& text) {
  for (const emulator::MmaInstruction& instruction : all_instructions) {
    if (name(instruction) == text) return instruction;
  }
  return std::nullopt;
}

}  // namespace plumbline::testing
