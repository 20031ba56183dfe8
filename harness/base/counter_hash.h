// Small deterministic randomness for choices (lengths, page order, search order), from integers
// only, so that it is the same on every machine. Tensor values come from Philox (inputs.h) instead.
#pragma once

#include <cstdint>

namespace plumbline {

// Applies the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA'14) after a golden-ratio step.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Returns 64 bits that depend on all arguments: a stream for each (seed, purpose), indexed by
// `counter`.
constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t purpose,
                                     std::uint64_t counter) {
  return splitmix64(splitmix64(splitmix64(seed) ^ purpose) ^ counter);
}

// Returns a uniform number in [low, high] from 64 random bits. The modulo's bias is below (high -
// low) / 2^64.
constexpr std::int64_t uniform_in(std::uint64_t bits, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace plumbline
