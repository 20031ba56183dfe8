// Arithmetic of pages, guard bytes and poison, shared by plumbline and its worker.
#pragma once

#include <cstddef>

namespace plumbline {

inline constexpr std::size_t page_bytes = 4096;  // x86-64, the only architecture we build for
inline constexpr std::size_t tensor_alignment = 64;
inline constexpr std::size_t workspace_alignment = 256;
inline constexpr int poison_byte = 0xFF;
inline constexpr unsigned char fence_byte = 0xA5;

// Requires `unit` to be a power of two.
constexpr std::size_t round_down(std::size_t value, std::size_t unit) {
  return value & ~(unit - 1);
}
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return round_down(value + unit - 1, unit);
}

}  // namespace plumbline
