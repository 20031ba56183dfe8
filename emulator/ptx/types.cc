// The types of PTX and their sizes.
#include <algorithm>
#include <array>

#include "emulator/ptx/parse.h"

namespace plumbline::ptx {
namespace {

struct Type {
  std::string_view name;
  int bytes;
};
constexpr std::array types{
    Type{"pred", 0},   Type{"b8", 1},     Type{"u8", 1},     Type{"s8", 1},   Type{"b16", 2},
    Type{"u16", 2},    Type{"s16", 2},    Type{"f16", 2},    Type{"bf16", 2}, Type{"b32", 4},
    Type{"u32", 4},    Type{"s32", 4},    Type{"f32", 4},    Type{"tf32", 4}, Type{"f16x2", 4},
    Type{"bf16x2", 4}, Type{"b64", 8},    Type{"u64", 8},    Type{"s64", 8},  Type{"f64", 8},
    Type{"b128", 16},  Type{"e4m3x2", 2}, Type{"e5m2x2", 2}, Type{"e4m3", 1}, Type{"e5m2", 1},
    Type{"u16x2", 4},  Type{"s16x2", 4}};

}  // namespace

int bytes_of(std::string_view type) {
  const auto* const found =
      std::find_if(types.begin(), types.end(), [&](const Type& t) { return t.name == type; });
  return found == types.end() ? -1 : found->bytes;
}

std::uint64_t bytes_of(const Variable& variable) {
  return static_cast<std::uint64_t>(bytes_of(variable.type)) *
         static_cast<std::uint64_t>(variable.vector) * variable.count;
}

std::uint64_t alignment_of(const Variable& variable) {
  const int own = bytes_of(variable.type) * variable.vector;
  return variable.align != 0 ? variable.align : static_cast<std::uint64_t>(std::max(own, 1));
}

}  // namespace plumbline::ptx
