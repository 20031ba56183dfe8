// The table of GPU architectures: which are emulated, and how their tensor cores accumulate.
#include "harness/problem/arch.h"

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

struct TensorCores {
  std::string_view arch;
  int fraction_bits;
  int products_16_bit, products_tf32;  // a step
};
constexpr std::array table{
    TensorCores{"sm_80", 24, 8, 4},   TensorCores{"sm_86", 24, 8, 4},
    TensorCores{"sm_87", 24, 8, 4},   TensorCores{"sm_89", 24, 8, 4},
    TensorCores{"sm_90", 25, 16, 8},  TensorCores{"sm_100", 25, 16, 8},
    TensorCores{"sm_120", 25, 16, 8},
};

}  // namespace

Accumulator tensor_core_accumulator_of(std::string_view arch, DType operands) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const TensorCores& cores) { return cores.arch == arch; });
  if (found == table.end()) return tensor_core_accumulator;
  switch (operands) {
    case DType::f16:
    case DType::bf16:
      return {DType::f32, true, found->fraction_bits, found->products_16_bit};
    case DType::f32:
    case DType::tf32:
      return {DType::f32, true, found->fraction_bits, found->products_tf32};
    case DType::e4m3:
    case DType::e5m2:
      return fp8_accumulator;
    default:
      return tensor_core_accumulator;
  }
}

}  // namespace plumbline
