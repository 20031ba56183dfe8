// Names and sizes of the dtypes, the same for all providers. Uses no instructions that an older CPU
// lacks.
#pragma once

#include <cstdint>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::cpu {

using provider::is_16_bit;
using provider::is_fp8;
using provider::is_padded;
using provider::is_paged;

inline std::int64_t size_in_bytes(std::uint32_t dtype) { return provider::dtype_bytes(dtype); }

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace plumbline::cpu
