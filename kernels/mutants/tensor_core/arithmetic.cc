// Replaces the products of mma.sync by those of other instructions or other hardware.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/mutants/tensor_core/changes.h"

namespace plumbline::mutants {
namespace {

using emulator::Arch;
using emulator::Call;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;

constexpr int warp_size = 32;

std::uint32_t to_half(float x) {
  return static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
}
float from_half(std::uint32_t bits) { return _cvtsh_ss(static_cast<std::uint16_t>(bits)); }

std::uint32_t nearest_bf16(std::uint32_t fp32) {
  return (fp32 + 0x7fffU + (fp32 >> 16U & 1U)) & 0xffff0000U;
}

void change_words(std::byte* shared, std::uint32_t (*change)(std::uint32_t)) {
  std::array<std::uint32_t, 4> words;
  std::memcpy(words.data(), shared, sizeof words);
  std::transform(words.begin(), words.end(), words.begin(), change);
  std::memcpy(shared, words.data(), sizeof words);
}

// Returns the 16-bit or tf32 element of A or B at `place`, as dot() accepts it.
std::uint32_t element(const std::uint32_t* fragment, int registers,
                      const emulator::FragmentPlace& place, bool tf32) {
  const std::uint32_t word = fragment[place.lane * registers + place.register_index];
  return tf32 ? word : word >> place.element * 16 & 0xffffU;
}

}  // namespace

// Two adjacent fp32 registers of C become one fp16 register: first row g, then row g + 8.
bool multiply_in_fp16(const ThreadPosition&, Arch arch, const MmaInstruction& instruction,
                      std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                      std::uint32_t* d) {
  if (instruction.format != MmaFormat::f16) return false;
  std::array<std::uint32_t, warp_size * 2> halves;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = to_half(std::bit_cast<float>(c[2 * i])) |
                to_half(std::bit_cast<float>(c[2 * i + 1])) << 16U;
  }
  emulator::mma_sync(arch, {instruction.format, MmaAccumulator::f16, instruction.k}, a, b,
                     halves.data(), halves.data());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    d[2 * i] = std::bit_cast<std::uint32_t>(from_half(halves[i] & 0xffffU));
    d[2 * i + 1] = std::bit_cast<std::uint32_t>(from_half(halves[i] >> 16U));
  }
  return true;
}

template <int FractionBits>
bool multiply_with_bits(const ThreadPosition& place, Arch arch, const MmaInstruction& instruction,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d) {
  if (!place.in_values()) return false;
  emulator::MmaModel model = emulator::model(arch, instruction);
  model.sum.fraction_bits = FractionBits;
  model.sum.result = emulator::Conversion::f32_e8m13_toward_zero;
  const emulator::MmaRegisters count = emulator::registers(instruction);
  const bool tf32 = instruction.format == MmaFormat::tf32;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      std::array<std::uint32_t, 16> of_a{}, of_b{};
      for (int k = 0; k < instruction.k; ++k) {
        of_a[static_cast<std::size_t>(k)] =
            element(a, count.a, emulator::place_a(instruction, row, k), tf32);
        of_b[static_cast<std::size_t>(k)] =
            element(b, count.b, emulator::place_b(instruction, k, column), tf32);
      }
      const emulator::FragmentPlace at = emulator::place_c(instruction, row, column);
      const int word = at.lane * count.c + at.register_index;
      d[word] = emulator::dot(model, instruction.format, instruction.k, of_a.data(), of_b.data(),
                              c[word]);
    }
  }
  return true;
}
template bool multiply_with_bits<13>(const ThreadPosition&, Arch, const MmaInstruction&,
                                     std::uint32_t*, std::uint32_t*, const std::uint32_t*,
                                     std::uint32_t*);

bool multiply_as_sm_80(const ThreadPosition&, Arch, const MmaInstruction& instruction,
                       std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                       std::uint32_t* d) {
  emulator::mma_sync(Arch::sm_80, instruction, a, b, c, d);
  return true;
}

// Uses two m16n8k8 (tf32: m16n8k4) instructions, the first for the lower half of k.
bool multiply_in_halves(const ThreadPosition&, Arch arch, const MmaInstruction& instruction,
                        std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                        std::uint32_t* d) {
  const MmaInstruction half{instruction.format, instruction.accumulator, instruction.k / 2};
  std::array<std::uint32_t, warp_size * 2> half_a;
  std::array<std::uint32_t, warp_size> half_b;
  for (std::size_t part = 0; part < 2; ++part) {
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      half_a[2 * lane] = a[4 * lane + 2 * part];
      half_a[2 * lane + 1] = a[4 * lane + 2 * part + 1];
      half_b[lane] = b[2 * lane + part];
    }
    emulator::mma_sync(arch, half, half_a.data(), half_b.data(), part == 0 ? c : d, d);
  }
  return true;
}

bool multiply_other_keys(const ThreadPosition& place, Arch arch, const MmaInstruction& instruction,
                         std::uint32_t* a, std::uint32_t* b, const std::uint32_t* c,
                         std::uint32_t* d) {
  if (!place.in_values() || instruction.format != MmaFormat::tf32) return false;
  std::array<std::uint32_t, warp_size * 2> other;
  for (std::size_t lane = 0; lane < warp_size; ++lane) {
    for (std::size_t slot = 0; slot < 2; ++slot) {
      const std::size_t key = lane % 4 + 4 * slot;
      other[2 * lane + slot] = b[2 * (lane / 4 * 4 + key / 2) + key % 2];
    }
  }
  emulator::mma_sync(arch, instruction, a, other.data(), c, d);
  return true;
}

void truncate_to_tf32(const Tiles& tiles, std::byte* shared) {
  if (tiles.fp32) change_words(shared, [](std::uint32_t word) { return word & ~0x1fffU; });
}

void round_to_bf16(const Tiles& tiles, std::byte* shared) {
  if (tiles.fp32) change_words(shared, nearest_bf16);
}

std::uint32_t weights_as_bf16(Call call, std::uint32_t word) {
  if (call == Call::mma_bf16) return word;
  if (call == Call::mma_tf32) return nearest_bf16(word);
  const auto rounded = [](std::uint32_t half) {
    return to_half(
        std::bit_cast<float>(nearest_bf16(std::bit_cast<std::uint32_t>(from_half(half)))));
  };
  return rounded(word & 0xffffU) | rounded(word >> 16U) << 16U;
}

}  // namespace plumbline::mutants
