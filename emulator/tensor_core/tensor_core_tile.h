// The operands of one mma.sync, decoded and ordered by steps, for the fast emulation
// (tensor_core_fast.cc).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "emulator/tensor_core/tensor_core_vectors.h"

namespace plumbline::emulator::vectors {

// The parameters that determine the computation of an element of D. A slot is one index k of the
// sum over K, numbered in the order of the steps.
struct Form {
  MmaFormat format;
  MmaAccumulator accumulator;
  int slots;
  int products;  // products of a step
  bool through_f16;

  constexpr bool is_sixteen_bit() const {
    return format == MmaFormat::f16 || format == MmaFormat::bf16;
  }
  constexpr int elements() const { return elements_per_register(format); }
  constexpr int halves() const { return slots / (4 * elements()); }  // a lane's registers along K
  constexpr int row_words() const { return 8 * halves(); }  // from one row of A to the next
  constexpr int words() const { return 64 * halves(); }     // words of A
  constexpr int min_exponent() const {
    if (format == MmaFormat::bf16 || format == MmaFormat::tf32) return -126;
    return format == MmaFormat::e4m3 && !through_f16 ? -6 : -14;
  }
  constexpr Conversion result() const {
    if (accumulator == MmaAccumulator::f16) return Conversion::f16_to_nearest_even;
    return is_fp8(format) && !through_f16 ? Conversion::f32_e8m13_toward_zero
                                          : Conversion::f32_toward_zero;
  }
  // Returns the slot of element `element` in register `half` of lane t of a group of four.
  constexpr int slot(int half, int t, int element) const {
    return through_f16 ? element / 2 * (8 * halves()) + (half * 4 + t) * 2 + element % 2
                       : (half * 4 + t) * elements() + element;
  }
};

// Offsets of a slot's element in Tile after decode_a(), from the first word of its row. The next
// word is the element of row + 8.
template <Form form>
constexpr auto a_offsets = [] {
  std::array<int, static_cast<std::size_t>(form.slots)> offsets{};
  for (int half = 0; half < form.halves(); ++half) {
    for (int t = 0; t < 4; ++t) {
      for (int element = 0; element < form.elements(); ++element)
        offsets[static_cast<std::size_t>(form.slot(half, t, element))] =
            element * form.words() + t * 2 * form.halves() + 2 * half;
    }
  }
  return offsets;
}();

// The operands of one instruction.
template <Form form>
struct Tile {
  alignas(32) float a_value[form.elements() * form.words()];
  Floats b_value[form.slots];
  alignas(32) std::int32_t a_exponent[form.elements() * form.words()];
  Ints b_exponent[form.slots];
};

// The operands for 16-bit elements. a_exponent[g][i] holds slots 8 i to 8 i + 7 of rows g and g +
// 8. b_exponent[slot] holds the slot's 8 columns twice.
template <Form form>
requires(form.is_sixteen_bit()) struct Tile<form> {
  alignas(32) float a_value[form.elements() * form.words()];
  Floats b_value[form.slots];
  Shorts a_exponent[8][form.slots / 8];
  Shorts b_exponent[form.slots];
};

template <Form form>
inline void decode_a(const std::uint32_t* a, Tile<form>& tile) {
  for (int element = 0; element < form.elements(); ++element) {
    for (int word = 0; word < form.words(); word += 8) {
      const Decoded decoded = decode<form.format>(load(a + word), element, form.min_exponent());
      const int at = element * form.words() + word;
      __builtin_memcpy(&tile.a_value[at], &decoded.value, sizeof decoded.value);
      if constexpr (!form.is_sixteen_bit())
        __builtin_memcpy(&tile.a_exponent[at], &decoded.exponent, sizeof decoded.exponent);
    }
  }
}

// Decodes the exponents of A. A lane's words are rows g and g + 8, then both rows of the upper half
// of K.
template <Form form>
inline void decode_a_exponents(const std::uint32_t* a, Tile<form>& tile) {
  for (int g = 0; g < 8; ++g) {
    const std::uint32_t* const words = a + g * form.row_words();
    const Ints x = load(words);
    if constexpr (form.halves() == 1) {
      tile.a_exponent[g][0] = exponents<form.format>(
          std::bit_cast<Shorts>(__builtin_shufflevector(x, x, 0, 2, 4, 6, 1, 3, 5, 7)));
    } else {
      const Ints y = load(words + 8);
      tile.a_exponent[g][0] = exponents<form.format>(
          std::bit_cast<Shorts>(__builtin_shufflevector(x, y, 0, 4, 8, 12, 1, 5, 9, 13)));
      tile.a_exponent[g][1] = exponents<form.format>(
          std::bit_cast<Shorts>(__builtin_shufflevector(x, y, 2, 6, 10, 14, 3, 7, 11, 15)));
    }
  }
}

// Decodes register `half` of lane t in the lane groups of all 8 columns.
template <Form form>
inline void decode_columns(Ints words, int half, int t, Tile<form>& tile) {
  for (int element = 0; element < form.elements(); ++element) {
    const int slot = form.slot(half, t, element);
    const Decoded decoded = decode<form.format>(words, element, form.min_exponent());
    tile.b_value[slot] = decoded.value;
    if constexpr (!form.is_sixteen_bit()) tile.b_exponent[slot] = decoded.exponent;
  }
  if constexpr (form.is_sixteen_bit()) {
    const Shorts both = exponents<form.format>(std::bit_cast<Shorts>(words));
    tile.b_exponent[form.slot(half, t, 0)] =
        __builtin_shufflevector(both, both, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    tile.b_exponent[form.slot(half, t, 1)] =
        __builtin_shufflevector(both, both, 1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15);
  }
}

template <Form form>
inline void decode_b(const std::uint32_t* b, Tile<form>& tile) {
  constexpr int halves = form.halves();
  if constexpr (halves == 2) {
    Ints words[8];
    for (int column = 0; column < 8; ++column) words[column] = load(b + 8 * column);
    transpose(words);
    for (int i = 0; i < 8; ++i) decode_columns<form>(words[i], i % 2, i / 2, tile);
  } else {
    for (int t = 0; t < 4; ++t) {
      Ints words;
      for (int column = 0; column < 8; ++column)
        words[column] = static_cast<std::int32_t>(b[column * 4 + t]);
      decode_columns<form>(words, 0, t, tile);
    }
  }
}

}  // namespace plumbline::emulator::vectors
