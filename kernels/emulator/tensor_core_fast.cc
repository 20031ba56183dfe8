// Emulates mma.sync fast: in vectors of the 8 columns of D, two rows at a time. Lane group g holds
// rows g and g + 8.
//
// Per step of L products: E = max(exponent of a + exponent of b, exponent of c); then t = int(a * b
// * 2^(F - E)), where the conversion to integer *is* the chop: product and scaling are exact, or
// too small to reach 1. Elements with Inf or NaN, or an E that would take a power of two out of the
// range of fp32, take the exact path.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>

#include "kernels/emulator/tensor_core.h"

namespace plumbline::emulator {
namespace {

using Ints = std::int32_t __attribute__((vector_size(32)));
using Words = std::uint32_t __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(32)));
using HalfFloats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));
using Longs = std::int64_t __attribute__((vector_size(32)));

constexpr int max_slots = 32, max_words = 128;
// Exponents outside these take the exact path. Zeros and non-finite values stand far outside, also
// added to any other exponent.
constexpr int smallest_exponent = -90, largest_exponent = 110;
constexpr int zero_exponent = -1000, nonfinite_exponent = 3000, no_terms = -700;

Ints larger(Ints x, Ints y) { return x > y ? x : y; }
Ints load(const std::uint32_t* words) {
  Ints loaded;
  __builtin_memcpy(&loaded, words, sizeof loaded);
  return loaded;
}
void store(Ints stored, std::uint32_t* words) { __builtin_memcpy(words, &stored, sizeof stored); }
Floats power_of_two(Ints exponent) { return std::bit_cast<Floats>((exponent + 127) << 23); }

// fp16 in the low half of each lane; Inf and NaN become some value of 2^16 or more.
Floats from_f16(Ints bits) {
  const Floats magnitude = std::bit_cast<Floats>((bits & 0x7fff) << 13) * 0x1p112f;
  return std::bit_cast<Floats>(std::bit_cast<Ints>(magnitude) | (bits & 0x8000) << 16);
}

// An fp16 value, or Inf.
Ints to_f16(Floats x) {
  const Ints bits = std::bit_cast<Ints>(x), magnitude = bits & 0x7fffffff;
  const Ints normal = (magnitude - (112 << 23)) >> 13;
  const Ints subnormal = __builtin_convertvector(std::bit_cast<Floats>(magnitude) * 0x1p24f, Ints);
  const Ints finite = magnitude < (113 << 23) ? subnormal : normal;
  return (finite > 0x7c00 ? Ints{} + 0x7c00 : finite) | ((bits >> 16) & 0x8000);
}

struct Decoded {
  Floats value;
  Ints exponent;
};

template <MmaFormat format>
Decoded decode(Ints words, int element, int min_exponent) {
  Floats value;
  Ints nonfinite;
  // e5m2 is the upper half of an fp16
  if constexpr (format == MmaFormat::f16 || format == MmaFormat::e5m2) {
    const Ints bits =
        format == MmaFormat::f16 ? words >> (16 * element) : (words >> (8 * element)) << 8;
    value = from_f16(bits);
    nonfinite = (bits & 0x7c00) == 0x7c00;
  } else if constexpr (format == MmaFormat::e4m3) {
    const Ints bits = words >> (8 * element);
    const Floats magnitude = std::bit_cast<Floats>((bits & 0x7f) << 20) * 0x1p120f;
    value = std::bit_cast<Floats>(std::bit_cast<Ints>(magnitude) | (bits & 0x80) << 24);
    nonfinite = (bits & 0x7f) == 0x7f;
  } else {
    const Ints bits = format == MmaFormat::tf32 ? words & ~0x1fff : (words >> (16 * element)) << 16;
    value = std::bit_cast<Floats>(bits);
    nonfinite = (bits & 0x7f800000) == 0x7f800000;
  }
  Ints exponent = larger(((std::bit_cast<Ints>(value) >> 23) & 0xff) - 127, Ints{} + min_exponent);
  exponent = value == 0 ? Ints{} + zero_exponent : exponent;
  exponent = nonfinite ? Ints{} + nonfinite_exponent : exponent;
  return {value, exponent};
}

// The operands of one instruction. A slot is one k, in the order of the steps.
struct Tile {
  int slots;
  int row_words;  // from one row of A to the next
  // where a slot's element of A lies, from the first of its row; row + 8 follows it
  std::array<int, max_slots> a_offset;
  alignas(32) std::array<float, 4 * max_words> a_value;
  alignas(32) std::array<std::int32_t, 4 * max_words> a_exponent;
  std::array<Floats, max_slots> b_value;
  std::array<Ints, max_slots> b_exponent;
};

template <MmaFormat format>
void decode_tile(const MmaModel& how, const MmaInstruction& instruction, const std::uint32_t* a,
                 const std::uint32_t* b, Tile& tile) {
  constexpr bool is_fp8 = format == MmaFormat::e4m3 || format == MmaFormat::e5m2;
  constexpr int elements = format == MmaFormat::tf32 ? 1 : is_fp8 ? 4 : 2;
  const int min_exponent = format == MmaFormat::bf16 || format == MmaFormat::tf32 ? -126
                           : format == MmaFormat::e4m3 && !how.through_f16        ? -6
                                                                                  : -14;
  const int halves = instruction.k / (4 * elements), words = 64 * halves;
  for (int element = 0; element < elements; ++element) {
    for (int word = 0; word < words; word += 8) {
      const Decoded decoded = decode<format>(load(a + word), element, min_exponent);
      __builtin_memcpy(&tile.a_value[element * words + word], &decoded.value, sizeof decoded.value);
      __builtin_memcpy(&tile.a_exponent[element * words + word], &decoded.exponent,
                       sizeof decoded.exponent);
    }
  }
  for (int half = 0; half < halves; ++half) {
    for (int t = 0; t < 4; ++t) {
      Ints column_words;
      for (int column = 0; column < 8; ++column)
        column_words[column] = static_cast<std::int32_t>(b[(column * 4 + t) * halves + half]);
      for (int element = 0; element < elements; ++element) {
        const int slot = how.through_f16
                             ? element / 2 * (8 * halves) + (half * 4 + t) * 2 + element % 2
                             : (half * 4 + t) * elements + element;
        const Decoded decoded = decode<format>(column_words, element, min_exponent);
        tile.b_value[slot] = decoded.value;
        tile.b_exponent[slot] = decoded.exponent;
        tile.a_offset[slot] = element * words + t * 2 * halves + 2 * half;
      }
    }
  }
}

Doubles low(Floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Doubles);
}
Doubles high(Floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Doubles);
}
Doubles low(Ints x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Doubles);
}
Doubles high(Ints x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Doubles);
}
Floats join(Doubles x, Doubles y) {
  return __builtin_shufflevector(__builtin_convertvector(x, HalfFloats),
                                 __builtin_convertvector(y, HalfFloats), 0, 1, 2, 3, 4, 5, 6, 7);
}

Doubles chop(Doubles x, int fraction_bits) {
  return std::bit_cast<Doubles>(std::bit_cast<Longs>(x) &
                                ~((std::int64_t{1} << (52 - fraction_bits)) - 1));
}

// To the nearest fp16: adding and subtracting a number whose last bit is fp16's. The sign of a zero
// is that of x.
Doubles round_to_f16(Doubles x) {
  const Longs bits = std::bit_cast<Longs>(x),
              sign = bits & std::numeric_limits<std::int64_t>::min();
  const Longs field = bits >> 52 & 0x7ff;
  const Longs at_least = field > 1023 - 14 ? field : Longs{} + (1023 - 14);
  const Doubles magnitude = std::bit_cast<Doubles>(bits ^ sign);
  const Doubles shifter = std::bit_cast<Doubles>((at_least + 42) << 52);
  const Doubles rounded = magnitude >= 65520.0 ? Doubles{} + std::numeric_limits<double>::infinity()
                                               : (magnitude + shifter) - shifter;
  return std::bit_cast<Doubles>(std::bit_cast<Longs>(rounded) | sign);
}

// (sum0 + sum1) * 2^exponent in the format of the result.
Floats convert(Conversion result, Ints sum0, Ints sum1, Ints exponent) {
  const Doubles x = low(sum0) + low(sum1), y = high(sum0) + high(sum1);
  const Floats unit = power_of_two(exponent);
  if (result == Conversion::f16_to_nearest_even)
    return join(round_to_f16(x * low(unit)), round_to_f16(y * high(unit)));
  const int fraction_bits = result == Conversion::f32_toward_zero ? 23 : 13;
  return join(chop(x, fraction_bits), chop(y, fraction_bits)) * unit;
}

// Rows g and g + 8 through one step: c becomes its result. Lanes that need the exact path are
// marked (and their result means nothing).
void step(const FusedSum& how, const Tile& tile, int first_word, int begin, int end, Floats (&c)[2],
          Ints (&inexact)[2]) {
  const std::int32_t* a_exponent = tile.a_exponent.data() + first_word;
  const float* a_value = tile.a_value.data() + first_word;
  const int min_exponent_c = how.result == Conversion::f16_to_nearest_even ? -14 : -126;
  Ints largest[2];
  for (int row = 0; row < 2; ++row) {
    const Ints exponent =
        larger(((std::bit_cast<Ints>(c[row]) >> 23) & 0xff) - 127, Ints{} + min_exponent_c);
    largest[row] = c[row] == 0 ? Ints{} + 2 * zero_exponent : exponent;
  }
  for (int slot = begin; slot < end; ++slot) {
    const std::int32_t* a = a_exponent + tile.a_offset[slot];
    const Ints b = tile.b_exponent[slot];
    largest[0] = larger(largest[0], a[0] + b);
    largest[1] = larger(largest[1], a[1] + b);
  }

  for (int row = 0; row < 2; ++row) {
    const Ints floored = larger(largest[row], Ints{} + how.min_exponent);
    largest[row] = largest[row] < no_terms ? Ints{} : floored;
    inexact[row] |= (largest[row] < smallest_exponent) | (largest[row] > largest_exponent);
  }

  const Floats scale[2] = {power_of_two(how.fraction_bits - largest[0]),
                           power_of_two(how.fraction_bits - largest[1])};
  const auto chopped = [](Floats x) {
    return std::bit_cast<Words>(__builtin_convertvector(x, Ints));
  };
  // Two sums for each row: 16 products of up to 2^27 would overflow one. Unsigned, as lanes without
  // meaning may overflow.
  Words sum[2][2] = {{chopped(c[0] * scale[0]), {}}, {chopped(c[1] * scale[1]), {}}};
  for (int slot = begin; slot < end; slot += 2) {
    for (int half = 0; half < 2; ++half) {
      const float* a = a_value + tile.a_offset[slot + half];
      const Floats b = tile.b_value[slot + half];
      sum[0][half] += chopped((a[0] * b) * scale[0]);
      sum[1][half] += chopped((a[1] * b) * scale[1]);
    }
  }
  for (int row = 0; row < 2; ++row) {
    const Ints sum0 = std::bit_cast<Ints>(sum[row][0]), sum1 = std::bit_cast<Ints>(sum[row][1]);
    c[row] = convert(how.result, sum0, sum1, largest[row] - how.fraction_bits);
  }
}

// Rows g and g + 8 of C, 8 columns each, from the registers of lane group g.
void unpack(MmaAccumulator accumulator, const std::uint32_t* c, int g, Floats (&rows)[2]) {
  if (accumulator == MmaAccumulator::f32) {
    const Ints x = load(c + 16 * g), y = load(c + 16 * g + 8);
    rows[0] = std::bit_cast<Floats>(__builtin_shufflevector(x, y, 0, 1, 4, 5, 8, 9, 12, 13));
    rows[1] = std::bit_cast<Floats>(__builtin_shufflevector(x, y, 2, 3, 6, 7, 10, 11, 14, 15));
    return;
  }
  const Ints words = load(c + 8 * g), x = words & 0xffff, y = words >> 16 & 0xffff;
  for (int row = 0; row < 2; ++row) {
    const Ints bits = row == 0 ? __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14)
                               : __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    const Ints nonfinite = (bits & 0x7c00) == 0x7c00;
    rows[row] = nonfinite ? Floats{} + std::numeric_limits<float>::infinity() : from_f16(bits);
  }
}

void pack(MmaAccumulator accumulator, const Floats (&rows)[2], int g, std::uint32_t* d) {
  if (accumulator == MmaAccumulator::f32) {
    const Ints x = std::bit_cast<Ints>(rows[0]), y = std::bit_cast<Ints>(rows[1]);
    store(__builtin_shufflevector(x, y, 0, 1, 8, 9, 2, 3, 10, 11), d + 16 * g);
    store(__builtin_shufflevector(x, y, 4, 5, 12, 13, 6, 7, 14, 15), d + 16 * g + 8);
    return;
  }
  const Ints x = to_f16(rows[0]), y = to_f16(rows[1]);
  store(__builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14) |
            __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15) << 16,
        d + 8 * g);
}

// C + h where the tensor core adds from zero (MmaModel::through_f16).
Floats add_outside(MmaAccumulator accumulator, Floats c, Floats h, Ints& inexact) {
  if (accumulator == MmaAccumulator::f32) {
    const Floats sum = c + h;
    return sum == sum ? sum : std::bit_cast<Floats>(Ints{} + 0x7fffffff);
  }
  inexact |= (std::bit_cast<Ints>(c) & 0x7f800000) == 0x7f800000;
  return join(round_to_f16(low(c) + low(h)), round_to_f16(high(c) + high(h)));
}

// Rows g and g + 8 of D into the registers of lane group g; returns a bit per element, row g first,
// that needs the exact path.
unsigned multiply(const MmaModel& how, MmaAccumulator accumulator, const Tile& tile,
                  const std::uint32_t* c, int g, std::uint32_t* d) {
  Floats start[2], rows[2]{};
  Ints inexact[2]{};
  unpack(accumulator, c, g, start);
  if (!how.through_f16) std::copy_n(start, 2, rows);
  const int products =
      std::min(how.sum.products_per_step, how.through_f16 ? tile.slots / 2 : tile.slots);
  for (int begin = 0; begin < tile.slots; begin += products) {
    step(how.sum, tile, g * tile.row_words, begin, begin + products, rows, inexact);
  }
  if (how.through_f16) {
    for (int row = 0; row < 2; ++row)
      rows[row] = add_outside(accumulator, start[row], rows[row], inexact[row]);
  }
  pack(accumulator, rows, g, d);

  const Longs any = std::bit_cast<Longs>(inexact[0] | inexact[1]);
  if ((any[0] | any[1] | any[2] | any[3]) == 0) return 0;
  unsigned bits = 0;
  for (int i = 0; i < 16; ++i) bits |= static_cast<unsigned>(inexact[i / 8][i % 8] & 1) << i;
  return bits;
}

}  // namespace

void mma_sync(Arch arch, const MmaInstruction& instruction, const std::uint32_t* a,
              const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
  assert(supports(arch, instruction));
  const MmaModel how = model(arch, instruction);
  Tile tile;
  tile.slots = instruction.k;
  tile.row_words = 4 * registers(instruction).a;
  switch (instruction.format) {
    case MmaFormat::f16:
      decode_tile<MmaFormat::f16>(how, instruction, a, b, tile);
      break;
    case MmaFormat::bf16:
      decode_tile<MmaFormat::bf16>(how, instruction, a, b, tile);
      break;
    case MmaFormat::tf32:
      decode_tile<MmaFormat::tf32>(how, instruction, a, b, tile);
      break;
    case MmaFormat::e4m3:
      decode_tile<MmaFormat::e4m3>(how, instruction, a, b, tile);
      break;
    case MmaFormat::e5m2:
      decode_tile<MmaFormat::e5m2>(how, instruction, a, b, tile);
      break;
  }
  const MmaRegisters count = registers(instruction);
  alignas(32) std::array<std::uint32_t, max_words> result;  // d may be c
  for (int g = 0; g < 8; ++g) {
    unsigned inexact = multiply(how, instruction.accumulator, tile, c, g, result.data());
    for (; inexact != 0; inexact &= inexact - 1) {
      const int i = std::countr_zero(inexact), row = g + i / 8 * 8, column = i % 8;
      const FragmentPlace place = place_c(instruction, row, column);
      std::uint32_t& word = result.data()[place.lane * count.c + place.register_index];
      const std::uint32_t mask =
          instruction.accumulator == MmaAccumulator::f32 ? ~0u : 0xffffu << (16 * place.element);
      word = (word & ~mask) | mma_element_exact(arch, instruction, a, b, c, row, column)
                                  << (16 * place.element);
    }
  }
  std::copy_n(result.begin(), 32 * count.c, d);
}

}  // namespace plumbline::emulator
