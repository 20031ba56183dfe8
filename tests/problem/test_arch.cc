// Accumulators of tensor cores agree with the recordings on hardware, for every emulated
// architecture.
#include <gtest/gtest.h>

#include "harness/problem/arch.h"

namespace plumbline {
namespace {

// arch.h has the evidence. Every kernel on tensor cores is judged by these numbers.
TEST(Arch, AccumulatorsOfTensorCores) {
  for (const char* arch : {"sm_80", "sm_86", "sm_87", "sm_89"}) {
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::f16), (Accumulator{DType::f32, true, 24, 8}))
        << arch;
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::bf16), (Accumulator{DType::f32, true, 24, 8}))
        << arch;
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::tf32), (Accumulator{DType::f32, true, 24, 4}))
        << arch;
  }
  for (const char* arch : {"sm_90", "sm_100", "sm_120"}) {
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::f16), (Accumulator{DType::f32, true, 25, 16}))
        << arch;
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::bf16),
              (Accumulator{DType::f32, true, 25, 16}))
        << arch;
    EXPECT_EQ(tensor_core_accumulator_of(arch, DType::f32), (Accumulator{DType::f32, true, 25, 8}))
        << arch;
  }
}

TEST(Arch, UnlistedArchHasDefault) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::tf32, DType::e4m3}) {
    EXPECT_EQ(tensor_core_accumulator_of("", dtype), tensor_core_accumulator);
    EXPECT_EQ(tensor_core_accumulator_of("sm_75", dtype), tensor_core_accumulator);
    EXPECT_EQ(tensor_core_accumulator_of("x86-64-v3", dtype), tensor_core_accumulator);
  }
  EXPECT_EQ(tensor_core_accumulator_of("sm_90", DType::e4m3), fp8_accumulator);
}

// The default of a kernel's table is the default of the judge.
static_assert(unknown_tensor_core.fraction_bits == tensor_core_accumulator.fraction_bits);
static_assert(unknown_tensor_core.products_16_bit == tensor_core_accumulator.products_per_step);
static_assert(unknown_tensor_core.products_tf32 == tensor_core_accumulator.products_per_step);

// Tests loop over the emulated architectures. This list shows if one is lost.
TEST(Arch, EmulatedArchsAreInTable) {
  EXPECT_EQ(emulator::names_of_emulated, "sm_80, sm_86, sm_89, sm_90 and sm_100");
  for (const std::string_view arch : emulated_archs())
    EXPECT_NE(tensor_core_accumulator_of(arch, DType::tf32), tensor_core_accumulator) << arch;
}

}  // namespace
}  // namespace plumbline
