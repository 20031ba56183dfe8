// Emulates mma.sync fast: in vectors of the 8 columns of D, two rows at a time. Lane group g holds
// rows g and g + 8.
//
// All code is compiled for a Form: an instruction and the number L of products in a step. A step
// computes E = max(exponent of a + exponent of b, exponent of c), then t = int(a * b * 2^(F - E)).
// The conversion to integer truncates as the tensor core does, because the scaled product is exact
// or below 1 in magnitude. Elements take the exact path if they have Inf or NaN, if E would take a
// power of two out of the range of fp32, or if the sum does not fit 32 bits.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <limits>
#include <utility>

#include "emulator/tensor_core/tensor_core.h"
#include "emulator/tensor_core/tensor_core_tile.h"

namespace plumbline::emulator {
namespace {

using namespace vectors;

// Returns slot i of both rows, for all columns.
template <int i>
Shorts spread(Shorts rows) {
  return __builtin_shufflevector(rows, rows, i, i, i, i, i, i, i, i, 8 + i, 8 + i, 8 + i, 8 + i,
                                 8 + i, 8 + i, 8 + i, 8 + i);
}

// Raises `largest` to the largest product exponents of slots begin to begin + form.products - 1,
// for rows g and g + 8.
template <Form form>
[[gnu::always_inline]] inline void largest_of_products(const Tile<form>& tile, int g, int begin,
                                                       Ints (&largest)[2]) {
  const std::int32_t* const a = tile.a_exponent + g * form.row_words();
  for (int slot = begin; slot < begin + form.products; ++slot) {
    const int offset = a_offsets<form>[static_cast<std::size_t>(slot)];
    largest[0] = larger(largest[0], a[offset] + tile.b_exponent[slot]);
    largest[1] = larger(largest[1], a[offset + 1] + tile.b_exponent[slot]);
  }
}
template <Form form>
requires(form.is_sixteen_bit())
    [[gnu::always_inline]] inline void largest_of_products(const Tile<form>& tile, int g, int begin,
                                                           Ints (&largest)[2]) {
  Shorts both = shorts(2 * zero_exponent);
  for (int slots = begin; slots < begin + form.products; slots += 8) {
    const Shorts a = tile.a_exponent[g][slots / 8];
    [&]<int... i>(std::integer_sequence<int, i...>) {
      ((both = larger(both, spread<i>(a) + tile.b_exponent[slots + i])), ...);
    }
    (std::make_integer_sequence<int, 8>());
  }
  largest[0] = larger(largest[0], from_low(both));
  largest[1] = larger(largest[1], from_high(both));
}

// Computes the exponent E of a step, for rows g and g + 8.
template <Form form>
[[gnu::always_inline]] inline void largest_of_step(const FusedSum& how, const Tile<form>& tile,
                                                   int g, int begin, const Floats (&c)[2],
                                                   Ints (&largest)[2]) {
  constexpr int min_exponent_c = form.accumulator == MmaAccumulator::f16 ? -14 : -126;
  for (int row = 0; row < 2; ++row) {
    const Ints exponent =
        larger(((std::bit_cast<Ints>(c[row]) >> 23) & 0xff) - 127, Ints{} + min_exponent_c);
    largest[row] = exponent + ((c[row] == 0) & (2 * zero_exponent));
  }
  largest_of_products<form>(tile, g, begin, largest);
  for (int row = 0; row < 2; ++row) {
    const Ints floored = larger(largest[row], Ints{} + how.min_exponent);
    largest[row] = floored & (largest[row] >= no_terms);
  }
}

// Takes rows g and g + 8 through one step and replaces c by the result. Marks the elements that
// need the exact path; their result is undefined.
template <Form form>
[[gnu::always_inline]] inline void step(const FusedSum& how, const Tile<form>& tile, int g,
                                        int begin, Floats (&c)[2], Ints (&inexact)[2]) {
  Ints largest[2];
  largest_of_step<form>(how, tile, g, begin, c, largest);
  // One sum of more than 8 products might overflow, so there are two. They are unsigned, because
  // the sums of marked elements may overflow.
  constexpr int sums = form.products > 8 ? 2 : 1;
  const float* const a = tile.a_value + g * form.row_words();
#pragma GCC unroll 2
  for (int row = 0; row < 2; ++row) {
    inexact[row] |= (largest[row] < smallest_exponent) | (largest[row] > largest_exponent);
    const Floats scale = power_of_two(how.fraction_bits - largest[row]);
    const Floats unit = power_of_two(largest[row] - how.fraction_bits);
    Words sum[2] = {chopped(c[row] * scale), {}};
#pragma GCC unroll 16
    for (int i = 0; i < form.products; ++i) {
      const int slot = begin + i;
      const float of_row = a[a_offsets<form>[static_cast<std::size_t>(slot)] + row];
      sum[i % sums] += chopped((of_row * tile.b_value[slot]) * scale);
    }
    const Ints sum0 = std::bit_cast<Ints>(sum[0]), sum1 = std::bit_cast<Ints>(sum[1]);
    if constexpr (form.result() != Conversion::f32_toward_zero) {
      c[row] = convert(form.result(), sum0, sum1, unit);
    } else {
      const Ints total = std::bit_cast<Ints>(sum[0] + sum[1]);
      if (sums == 2) inexact[row] |= ((sum0 ^ total) & (sum1 ^ total)) < 0;  // overflow
      c[row] = chopped_to_f32(total, unit);
    }
  }
}

// Reads rows g and g + 8 of C, 8 columns each, from the registers of lane group g.
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

// C + h if the tensor core adds from zero (MmaModel::through_f16).
Floats add_outside(MmaAccumulator accumulator, Floats c, Floats h, Ints& inexact) {
  if (accumulator == MmaAccumulator::f32) {
    const Floats sum = c + h;
    return sum == sum ? sum : std::bit_cast<Floats>(Ints{} + 0x7fffffff);
  }
  inexact |= (std::bit_cast<Ints>(c) & 0x7f800000) == 0x7f800000;
  return join(round_to_f16(low(c) + low(h)), round_to_f16(high(c) + high(h)));
}

// Writes rows g and g + 8 of D to the registers of lane group g and marks the elements that need
// the exact path.
template <Form form>
void multiply_rows(const FusedSum& how, const Tile<form>& tile, const std::uint32_t* c, int g,
                   std::uint32_t* d, Ints (&inexact)[2]) {
  Floats start[2], rows[2]{};
  unpack(form.accumulator, c, g, start);
  if (!form.through_f16) std::copy_n(start, 2, rows);
#pragma GCC unroll 8
  for (int begin = 0; begin < form.slots; begin += form.products)
    step<form>(how, tile, g, begin, rows, inexact);
  if (form.through_f16) {
    for (int row = 0; row < 2; ++row)
      rows[row] = add_outside(form.accumulator, start[row], rows[row], inexact[row]);
  }
  pack(form.accumulator, rows, g, d);
}

// An instruction and its operands.
struct Operands {
  Arch arch;
  MmaInstruction instruction;
  const std::uint32_t *a, *b, *c;
};

// Returns true if an element of the register is NaN.
bool holds_nan(MmaFormat format, std::uint32_t word) {
  const auto any = [&](int bits, std::uint32_t magnitude, std::uint32_t infinity) {
    for (int shift = 0; shift < 32; shift += bits)
      if ((word >> shift & magnitude) > infinity) return true;
    return false;
  };
  switch (format) {
    case MmaFormat::f16:
      return any(16, 0x7fff, 0x7c00);
    case MmaFormat::bf16:
      return any(16, 0x7fff, 0x7f80);
    case MmaFormat::tf32:  // the low 13 bits are ignored
      return any(32, 0x7fffe000, 0x7f800000);
    case MmaFormat::e4m3:
      return any(8, 0x7f, 0x7e);
    case MmaFormat::e5m2:
      return any(8, 0x7f, 0x7c);
  }
  return false;
}

// Rows of A and columns of B that contain a NaN, as bits. These rows and columns of D are all NaN.
struct NanLines {
  std::uint32_t rows = 0, columns = 0;
};
NanLines find_nan(const Operands& from) {
  const MmaRegisters count = registers(from.instruction);
  NanLines found;
  for (int lane = 0; lane < 32; ++lane) {  // positions: place_a and place_b
    for (int i = 0; i < count.a; ++i)
      if (holds_nan(from.instruction.format, from.a[lane * count.a + i]))
        found.rows |= 1u << (lane / 4 + i % 2 * 8);
    for (int i = 0; i < count.b; ++i)
      if (holds_nan(from.instruction.format, from.b[lane * count.b + i]))
        found.columns |= 1u << (lane / 4);
  }
  return found;
}

// Recomputes the marked elements of D exactly. Kernels multiply tiles of unwritten shared memory,
// so most of these are NaN.
void repair(const Operands& from, const Ints (&inexact)[8][2], std::uint32_t* d) {
  const int registers_c = registers(from.instruction).c;
  const bool is_f32 = from.instruction.accumulator == MmaAccumulator::f32;
  const NanLines nan = find_nan(from);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      if (inexact[row % 8][row / 8][column] == 0) continue;
      const FragmentPlace place = place_c(from.instruction, row, column);
      std::uint32_t& word = d[place.lane * registers_c + place.register_index];
      const std::uint32_t mask = is_f32 ? ~0u : 0xffffu << (16 * place.element);
      const std::uint32_t start =
          from.c[place.lane * registers_c + place.register_index] >> (place.element * 16);
      const bool is_nan = ((nan.rows >> row | nan.columns >> column) & 1) != 0 ||
                          (is_f32 ? (start & 0x7fffffff) > 0x7f800000 : (start & 0x7fff) > 0x7c00);
      const std::uint32_t bits = is_nan ? (is_f32 ? 0x7fffffff : 0x7fff)
                                        : mma_element_exact(from.arch, from.instruction, from.a,
                                                            from.b, from.c, row, column);
      word = (word & ~mask) | bits << (16 * place.element);
    }
  }
}

template <Form form>
void multiply(const FusedSum& how, const Operands& from, std::uint32_t* d) {
  assert(how.result == form.result());
  Tile<form> tile;
  decode_a<form>(from.a, tile);
  if constexpr (form.is_sixteen_bit()) decode_a_exponents<form>(from.a, tile);
  decode_b<form>(from.b, tile);
  alignas(32) std::array<std::uint32_t, 128> result;  // d may be c
  Ints inexact[8][2]{}, any{};
  for (int g = 0; g < 8; ++g) {
    multiply_rows<form>(how, tile, from.c, g, result.data(), inexact[g]);
    any |= inexact[g][0] | inexact[g][1];
  }
  const Longs words = std::bit_cast<Longs>(any);
  if ((words[0] | words[1] | words[2] | words[3]) != 0) repair(from, inexact, result.data());
  std::copy_n(result.begin(), 32 * registers(from.instruction).c, d);
}

using Multiply = void (*)(const FusedSum&, const Operands&, std::uint32_t*);

// The model of an instruction and the function that computes it; nullptr if not supported.
struct Compiled {
  FusedSum how{};
  Multiply multiply = nullptr;
};

template <MmaFormat format, MmaAccumulator accumulator, int k>
Multiply multiply_of(const MmaModel& how) {
  if constexpr (is_fp8(format)) {
    return how.through_f16 ? multiply<Form{format, accumulator, k, k / 2, true}>
                           : multiply<Form{format, accumulator, k, 16, false}>;
  } else {
    constexpr int half = 4 * elements_per_register(format);  // of the longer instruction's k
    return how.sum.products_per_step < k ? multiply<Form{format, accumulator, k, half, false}>
                                         : multiply<Form{format, accumulator, k, k, false}>;
  }
}

template <MmaFormat format, MmaAccumulator accumulator, int k>
Compiled compiled(Arch arch) {
  const MmaInstruction instruction{format, accumulator, k};
  if (!supports(arch, instruction)) return {};
  const MmaModel how = model(arch, instruction);
  return {how.sum, multiply_of<format, accumulator, k>(how)};
}

// By format, accumulator, and whole or half K.
using OfArch = std::array<Compiled, 5 * 2 * 2>;
OfArch all_of(Arch arch) {
  OfArch all;
  std::size_t next = 0;
  const auto add = [&]<MmaFormat format>() {
    constexpr int k = 8 * elements_per_register(format);
    all[next++] = compiled<format, MmaAccumulator::f32, k / 2>(arch);
    all[next++] = compiled<format, MmaAccumulator::f32, k>(arch);
    if constexpr (format != MmaFormat::bf16 && format != MmaFormat::tf32) {
      all[next] = compiled<format, MmaAccumulator::f16, k / 2>(arch);
      all[next + 1] = compiled<format, MmaAccumulator::f16, k>(arch);
    }
    next += 2;
  };
  add.template operator()<MmaFormat::f16>();
  add.template operator()<MmaFormat::bf16>();
  add.template operator()<MmaFormat::tf32>();
  add.template operator()<MmaFormat::e4m3>();
  add.template operator()<MmaFormat::e5m2>();
  return all;
}

const OfArch& of_arch(Arch arch) {
  static const auto all = [] {
    std::array<OfArch, all_archs.size()> list;
    std::transform(all_archs.begin(), all_archs.end(), list.begin(), all_of);
    return list;
  }();
  for (std::size_t i = 0; i < all_archs.size(); ++i)
    if (all_archs[i] == arch) return all[i];
  std::abort();
}

}  // namespace

void mma_sync(Arch arch, const MmaInstruction& instruction, const std::uint32_t* a,
              const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
  const bool whole = instruction.k == 8 * elements_per_register(instruction.format);
  const Compiled& found = of_arch(arch)[4 * static_cast<std::size_t>(instruction.format) +
                                        2 * static_cast<std::size_t>(instruction.accumulator) +
                                        static_cast<std::size_t>(whole)];
  assert(found.multiply != nullptr);
  found.multiply(found.how, {arch, instruction, a, b, c}, d);
}

}  // namespace plumbline::emulator
