// GPU architectures by name ("sm_90"): which are emulated, how their tensor cores accumulate.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "harness/problem/rounding_spec.h"

namespace plumbline {

// sm_80, sm_86, sm_89, sm_90, sm_100: those whose tensor cores were recorded on hardware, so that
// an emulator can answer bit for bit.
inline constexpr std::array<std::string_view, 5> emulated_arch_names{"sm_80", "sm_86", "sm_89",
                                                                     "sm_90", "sm_100"};
constexpr std::span<const std::string_view> emulated_archs() { return emulated_arch_names; }

// What "tensor_core" means as an accumulator: how mma.sync of that architecture sums products of
// `operands`. fp32 operands go to tensor cores as tf32. An architecture that is not in the table
// ("", a CPU, a newer GPU) gives tensor_core_accumulator, and fp8 operands in the table
// fp8_accumulator.
//
//   {fp32, toward zero, F, L}      fp16, bf16     tf32 (fp32)
//   sm_80, sm_86, sm_87, sm_89     24, 8          24, 4
//   sm_90, sm_100, sm_120          25, 16         25, 8
//
// Evidence: recordings of A100, A2, Ada, L40S, H100, H200 and B200 (5,000 rows a format each, no
// mismatch; F + 1, F - 1 and L / 2 are refuted by them); sm_87 and sm_120, and two steps of 8 for
// k16 on sm_80, rest on MMA-Sim alone.
Accumulator tensor_core_accumulator_of(std::string_view arch, DType operands);

}  // namespace plumbline
