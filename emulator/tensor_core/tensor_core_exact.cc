// Computes mma.sync element by element: unpacks the fragments; each output is one dot product.
#include <algorithm>
#include <array>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {
namespace {

constexpr int lane_count = 32, rows = 16, columns = 8, max_k = 32;

std::uint32_t element(const std::uint32_t* fragment, int registers_per_lane,
                      const FragmentPlace& place, int bits) {
  const std::uint32_t word = fragment[place.lane * registers_per_lane + place.register_index];
  return bits == 32 ? word : (word >> (place.element * bits)) & ((1u << bits) - 1);
}

int bits_of(MmaFormat format) {
  return format == MmaFormat::tf32                                ? 32
         : format == MmaFormat::e4m3 || format == MmaFormat::e5m2 ? 8
                                                                  : 16;
}

// Computes an fp8 product as ptxas compiles it for architectures without fp8 instructions: two
// chained fp16 instructions with half of the products each.
std::uint32_t dot_through_f16(const MmaModel& model, MmaFormat format, int k,
                              const std::uint32_t* a, const std::uint32_t* b, std::uint32_t c) {
  std::uint32_t h = 0;
  for (const int pair : {0, 2}) {
    std::array<std::uint32_t, max_k> a16{}, b16{};
    int count = 0;
    for (int i = 0; i < k; ++i) {
      if (i % 4 / 2 * 2 != pair) continue;
      a16[count] = widen_to_f16(format, a[i]);
      b16[count] = widen_to_f16(format, b[i]);
      ++count;
    }
    h = fused_sum(model.sum, MmaFormat::f16, count, a16.data(), b16.data(), h);
  }
  return add_to_nearest(model.sum.result, c, h);
}

}  // namespace

std::uint32_t dot(const MmaModel& model, MmaFormat format, int k, const std::uint32_t* a,
                  const std::uint32_t* b, std::uint32_t c) {
  if (model.through_f16) return dot_through_f16(model, format, k, a, b, c);
  return fused_sum(model.sum, format, k, a, b, c);
}

std::uint32_t mma_element_exact(Arch arch, const MmaInstruction& instruction,
                                const std::uint32_t* a, const std::uint32_t* b,
                                const std::uint32_t* c, int row, int column) {
  const MmaRegisters count = registers(instruction);
  const int operand_bits = bits_of(instruction.format),
            c_bits = instruction.accumulator == MmaAccumulator::f32 ? 32 : 16;
  std::array<std::uint32_t, max_k> a_row{}, b_column{};
  for (int k = 0; k < instruction.k; ++k) {
    a_row[k] = element(a, count.a, place_a(instruction, row, k), operand_bits);
    b_column[k] = element(b, count.b, place_b(instruction, k, column), operand_bits);
  }
  const std::uint32_t start = element(c, count.c, place_c(instruction, row, column), c_bits);
  return dot(model(arch, instruction), instruction.format, instruction.k, a_row.data(),
             b_column.data(), start);
}

void mma_sync_exact(Arch arch, const MmaInstruction& instruction, const std::uint32_t* a,
                    const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
  const int count = registers(instruction).c;
  std::array<std::uint32_t, lane_count * 4> result{};  // d may be c
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const FragmentPlace place = place_c(instruction, row, column);
      result[place.lane * count + place.register_index] |=
          mma_element_exact(arch, instruction, a, b, c, row, column) << (place.element * 16);
    }
  }
  std::copy_n(result.begin(), lane_count * count, d);
}

}  // namespace plumbline::emulator
