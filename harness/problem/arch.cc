// Looks architectures up in their table.
#include "harness/problem/arch.h"

namespace plumbline {

Accumulator tensor_core_accumulator_of(std::string_view arch, DType operands) {
  const Architecture* found = nullptr;
  for (const Architecture& one : architectures)
    if (one.name == arch && one.fraction_bits > 0) found = &one;
  if (found == nullptr) return tensor_core_accumulator;
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
