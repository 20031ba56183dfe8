// Names and sizes of the ABI's dtypes. Free of instructions that an older CPU lacks.
#pragma once

#include <cstdint>
#include <iterator>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::cpu {

inline bool is_fp8(std::uint32_t dtype) {
  return dtype == PLUMBLINE_E4M3 || dtype == PLUMBLINE_E5M2;
}
// Of the dtypes these kernels store: fp32, fp16, bf16, e4m3, e5m2.
inline std::int64_t size_in_bytes(std::uint32_t dtype) {
  return dtype == PLUMBLINE_F32 ? 4 : is_fp8(dtype) ? 1 : 2;
}
inline bool is_16_bit(std::uint32_t dtype) {
  return dtype == PLUMBLINE_F16 || dtype == PLUMBLINE_BF16;
}
inline const char* name(std::uint32_t dtype) {
  constexpr const char* names[] = {"none", "fp32", "fp16", "bf16", "e4m3",
                                   "e5m2", "tf32", "fp64", "int32"};
  return dtype < std::size(names) ? names[dtype] : "an unknown dtype";
}

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace plumbline::cpu
