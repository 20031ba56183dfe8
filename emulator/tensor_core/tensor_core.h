// Bit-exact tensor cores: the results of mma.sync on each architecture.
//
// mma_sync takes the registers of a warp and is fast. mma_sync_exact computes the same bits with
// simple, readable code; fused_sum.h defines the sum of one output element. models.cc has the
// parameters and their sources. "emulated sm_90" is mma.sync of sm_90, never wgmma.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/architectures.h"
#include "emulator/tensor_core/fused_sum.h"

namespace plumbline::emulator {

std::optional<Arch> parse_arch(std::string_view);  // "sm_90"
std::string_view name(Arch);                       // "sm_90"

enum class MmaAccumulator { f32, f16 };  // of C and D

// mma.sync.aligned.m16n8kK.row.col: D (16 x 8) = A (16 x K) B (K x 8) + C.
struct MmaInstruction {
  MmaFormat format;  // of A and B
  MmaAccumulator accumulator;
  int k;  // 8 or 16 (f16, bf16), 4 or 8 (tf32), 16 or 32 (e4m3, e5m2)
};

// Returns true if the PTX ISA has the instruction on this architecture: fp8 needs sm_89, bf16 and
// tf32 accumulate only in f32.
bool supports(Arch, const MmaInstruction&);

// How an architecture computes one output element.
struct MmaModel {
  FusedSum sum;
  // For architectures after sm_89, ptxas 13.0 compiles an fp8 instruction to two fp16 instructions
  // with widened operands. The first adds the products with k mod 4 in {0, 1} to 0. The second adds
  // the other products to the first's result, which gives h. D = C + h, rounded to nearest.
  bool through_f16 = false;
  std::string_view evidence;
};
MmaModel model(Arch, const MmaInstruction&);  // the instruction must be supported (asserted)

// Tests compare these models with recordings of GPUs; the emulator does not execute the
// instructions. They are sm_70's mma.m8n8k4 on fp16 and sm_90's wgmma on fp8 with fp32 results.
FusedSum mma_m8n8k4_sm_70(MmaAccumulator);
FusedSum wgmma_fp8_sm_90();

// The number of 32-bit registers per lane.
struct MmaRegisters {
  int a, b, c;
};
constexpr bool is_fp8(MmaFormat format) {
  return format == MmaFormat::e4m3 || format == MmaFormat::e5m2;
}
constexpr int elements_per_register(MmaFormat format) {
  return format == MmaFormat::tf32 ? 1 : is_fp8(format) ? 4 : 2;
}
constexpr MmaRegisters registers(const MmaInstruction& instruction) {
  const int halves = instruction.k / (4 * elements_per_register(instruction.format));
  return {2 * halves, halves, instruction.accumulator == MmaAccumulator::f32 ? 4 : 2};
}

// The position of a matrix element in a fragment: the lane, its register, and the element of that
// register counted from the low bits.
struct FragmentPlace {
  int lane, register_index, element;
};
FragmentPlace place_a(const MmaInstruction&, int row, int k);
FragmentPlace place_b(const MmaInstruction&, int k, int column);
FragmentPlace place_c(const MmaInstruction&, int row, int column);

// Performs one mma.sync of a warp. Fragments are those of the PTX ISA; register r of a lane is
// a[lane * registers(instruction).a + r]. d may be c. The instruction must be supported (asserted).
void mma_sync(Arch, const MmaInstruction&, const std::uint32_t* a, const std::uint32_t* b,
              const std::uint32_t* c, std::uint32_t* d);
void mma_sync_exact(Arch, const MmaInstruction&, const std::uint32_t* a, const std::uint32_t* b,
                    const std::uint32_t* c, std::uint32_t* d);
// Returns one element of D as mma_sync_exact computes it: raw bits in the low bits of a word.
std::uint32_t mma_element_exact(Arch, const MmaInstruction&, const std::uint32_t* a,
                                const std::uint32_t* b, const std::uint32_t* c, int row,
                                int column);

// Returns c plus k products as the model computes them. Operands, c and the result are raw bits in
// the low bits of a word.
std::uint32_t dot(const MmaModel&, MmaFormat, int k, const std::uint32_t* a, const std::uint32_t* b,
                  std::uint32_t c);

}  // namespace plumbline::emulator
