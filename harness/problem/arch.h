// GPU architectures by name ("sm_90"): which are emulated, how their tensor cores accumulate.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "emulator/architectures.h"
#include "harness/problem/rounding_spec.h"

namespace plumbline {

// Names of the architectures whose tensor cores were recorded on hardware, so that an emulator can
// reproduce them bit for bit.
inline constexpr auto emulated_arch_names = [] {
  std::array<std::string_view, emulator::all_archs.size()> list;
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = emulator::facts(emulator::all_archs[i]).name;
  return list;
}();
constexpr std::span<const std::string_view> emulated_archs() { return emulated_arch_names; }

// Returns the accumulator that "tensor_core" stands for in a contract: how mma.sync of that
// architecture sums products of `operands`. fp32 operands go to tensor cores as tf32. An
// architecture without fraction_bits in the table ("", a CPU, a newer GPU) has
// tensor_core_accumulator. For the others, fp8 operands have fp8_accumulator.
//
// The table is emulator/architectures.csv: {fp32, toward zero, fraction_bits, products per step}.
// Evidence: recordings of A100, A2, Ada, L40S, H100, H200 and B200, 5,000 rows per format. All rows
// agree; with other fraction_bits or half the products per step, they would differ. MMA-Sim alone
// is the evidence for sm_87, sm_120 and some step counts (emulator/tensor_core/models.cc).
Accumulator tensor_core_accumulator_of(std::string_view arch, DType operands);

}  // namespace plumbline
