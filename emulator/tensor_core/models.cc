// Instructions of each architecture and how they add, with the evidence.
#include <algorithm>
#include <array>
#include <cassert>

#include "emulator/tensor_core/tensor_core.h"

namespace plumbline::emulator {
namespace {

enum class Operands { sixteen_bit, tf32, fp8 };
Operands operands(MmaFormat format) {
  return format == MmaFormat::tf32 ? Operands::tf32
         : is_fp8(format)          ? Operands::fp8
                                   : Operands::sixteen_bit;
}

struct Row {
  Arch first, last;
  Operands operands;
  std::string_view evidence;
};

// Sources. Recordings: Khattak and Mikaitis, 5,000 rows per GPU and format
// (tests/emulator/test_recordings.cc replays the available ones). MMA-Sim: arXiv 2511.10909. No
// recording has products below the smallest normal, zeros next to huge operands, or non-finite
// values. For those, all models follow an H200's results for a million random instructions of each
// kind (ci/gpu.sh --only mma).
constexpr std::array table{
    Row{Arch::sm_80, Arch::sm_89, Operands::sixteen_bit,
        "recordings of A100, A2, RTX 1000 Ada and L40S with 8 products; MMA-Sim has k = 16 in two "
        "steps, low k first"},
    Row{Arch::sm_80, Arch::sm_89, Operands::tf32,
        "recordings of A100, A2, RTX 1000 Ada and L40S with 4 products; MMA-Sim has k = 8 in two "
        "steps, low k first"},
    Row{Arch::sm_89, Arch::sm_89, Operands::fp8, "recordings of RTX 1000 Ada and L40S, both steps"},
    Row{Arch::sm_90, Arch::sm_100, Operands::sixteen_bit, "recordings of H100, H200 and B200"},
    Row{Arch::sm_90, Arch::sm_100, Operands::tf32,
        "recordings of H100, H200 and B200 with 4 products; MMA-Sim has 8 in one step"},
    Row{Arch::sm_90, Arch::sm_100, Operands::fp8,
        "recordings of H100, H200 (fp16 results) and B200 (both); the instructions ptxas 13.0 "
        "emits"},
};

// The numbers are columns of architectures.csv. fp8 has no column: sm_89 alone has instructions of
// its own, others compute fp8 as fp16.
FusedSum sum_of(Arch arch, Operands operands) {
  const Architecture& of = facts(arch);
  if (operands == Operands::fp8 && arch == Arch::sm_89)
    return {16, 13, Conversion::f32_toward_zero};
  const int products = operands == Operands::tf32 ? of.products_tf32 : of.products_16_bit;
  return {products, of.fraction_bits, Conversion::f32_toward_zero};
}

}  // namespace

std::optional<Arch> parse_arch(std::string_view text) {
  for (const Arch arch : all_archs)
    if (name(arch) == text) return arch;
  return std::nullopt;
}

std::string_view name(Arch arch) { return facts(arch).name; }

bool supports(Arch arch, const MmaInstruction& instruction) {
  const int full = 8 * elements_per_register(instruction.format);
  if (instruction.k != full && instruction.k != full / 2) return false;
  if (is_fp8(instruction.format)) return arch >= Arch::sm_89;
  return instruction.accumulator == MmaAccumulator::f32 || instruction.format == MmaFormat::f16;
}

MmaModel model(Arch arch, const MmaInstruction& instruction) {
  assert(supports(arch, instruction));
  const auto row = std::find_if(table.begin(), table.end(), [&](const Row& r) {
    return r.operands == operands(instruction.format) && r.first <= arch && arch <= r.last;
  });
  assert(row != table.end());
  FusedSum sum = sum_of(arch, row->operands);
  // min_exponent comes from the newest parameters of Khattak and Mikaitis. An H200 has the same
  // bound for bf16; fp8 inputs cannot reach it (tests/emulator, Fp8NeverReachesExponentFloor).
  if (instruction.accumulator == MmaAccumulator::f16) {
    sum.result = Conversion::f16_to_nearest_even;
    sum.min_exponent = sum.fraction_bits == 25 ? -21 : -20;
  } else {
    if (sum.fraction_bits == 13) sum.result = Conversion::f32_e8m13_toward_zero;
    sum.min_exponent = sum.fraction_bits == 25 ? -133 : -132;
  }
  const bool through_f16 = row->operands == Operands::fp8 && arch != Arch::sm_89;
  return {sum, through_f16, row->evidence};
}

// From recordings of V100. min_exponent of fp16 results is Khattak and Mikaitis's; fp32 results
// have none.
FusedSum mma_m8n8k4_sm_70(MmaAccumulator accumulator) {
  if (accumulator == MmaAccumulator::f16) return {4, 23, Conversion::f16_to_nearest_even, -19};
  return {4, 23, Conversion::f32_toward_zero};
}

// Recordings of H100 and H200, with c = 0.
FusedSum wgmma_fp8_sm_90() { return {32, 13, Conversion::f32_e8m13_toward_zero, -133}; }

// PTX ISA, "Matrix Fragments for mma.m16n8k…": a lane holds rows lane / 4 and lane / 4 + 8 of A,
// and column lane / 4 of B. A register holds consecutive k, the four lanes of a group hold four
// consecutive registers, and the upper registers hold the upper half of K.
FragmentPlace place_a(const MmaInstruction& instruction, int row, int k) {
  const int elements = elements_per_register(instruction.format);
  return {row % 8 * 4 + k / elements % 4, row / 8 + k / (4 * elements) * 2, k % elements};
}

FragmentPlace place_b(const MmaInstruction& instruction, int k, int column) {
  const int elements = elements_per_register(instruction.format);
  return {column * 4 + k / elements % 4, k / (4 * elements), k % elements};
}

FragmentPlace place_c(const MmaInstruction& instruction, int row, int column) {
  const int lane = row % 8 * 4 + column / 2;
  if (instruction.accumulator == MmaAccumulator::f16) return {lane, row / 8, column % 2};
  return {lane, row / 8 * 2 + column % 2, 0};
}

}  // namespace plumbline::emulator
