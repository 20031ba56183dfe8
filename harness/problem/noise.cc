// Implements Philox4x32-10, and turns its bits into normal, uniform and discrete noise without
// libm.
#include "harness/problem/noise.h"

#include <bit>
#include <cassert>
#include <cmath>

#include "harness/problem/inputs.h"

namespace plumbline {
namespace {

constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53, philox_multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t philox_weyl_0 = 0x9E3779B9, philox_weyl_1 = 0xBB67AE85;
constexpr int philox_rounds = 10;

constexpr std::size_t lanes = row_group / 4;
using Lanes = std::array<std::uint32_t, lanes>;

void philox_round(std::array<Lanes, 4>& counter, std::uint32_t key_0, std::uint32_t key_1) {
  std::array<Lanes, 4> next;
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::uint64_t product_0 = std::uint64_t{philox_multiplier_0} * counter[0][i];
    const std::uint64_t product_1 = std::uint64_t{philox_multiplier_1} * counter[2][i];
    next[0][i] = static_cast<std::uint32_t>(product_1 >> 32) ^ counter[1][i] ^ key_0;
    next[1][i] = static_cast<std::uint32_t>(product_1);
    next[2][i] = static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3][i] ^ key_1;
    next[3][i] = static_cast<std::uint32_t>(product_0);
  }
  counter = next;
}

void philox_lanes(std::array<Lanes, 4>& counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < philox_rounds; ++round) {
    philox_round(counter, key[0], key[1]);
    key[0] += philox_weyl_0;
    key[1] += philox_weyl_1;
  }
}

// -log2(y) for y in (0, 1]: y = 2^e * m with m in [sqrt(1/2), sqrt(2)), log2(m) = t * P(t), t = m -
// 1. P is the minimax polynomial of degree 8 for relative error (2.6e-8), fitted by Lawson's
// iteration.
inline float minus_log2(float y) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(y);
  const std::int32_t exponent = (bits - 0x3F3504F3) >> 23;
  const float t = std::bit_cast<float>(bits - (exponent << 23)) - 1.0F;
  float p = 0x1.01b6d0p-3F;
  p = std::fma(p, t, -0x1.a87d08p-3F);
  p = std::fma(p, t, 0x1.b9c91cp-3F);
  p = std::fma(p, t, -0x1.e95be8p-3F);
  p = std::fma(p, t, 0x1.26d384p-2F);
  p = std::fma(p, t, -0x1.715c4ep-2F);
  p = std::fma(p, t, 0x1.ec73d6p-2F);
  p = std::fma(p, t, -0x1.715470p-1F);
  p = std::fma(p, t, 0x1.715476p+0F);
  return -std::fma(p, t, static_cast<float>(exponent));
}

// The upper bit is the sign. The others, m, give the tail probability p = (m + 1/2) / 2^32 in (0,
// 1/2). With x = 1 - 2p the quantile is x * R(w), w = -log2(1 - x^2) in (0, 31]. R is a rational
// function of degrees 5 and 5, fitted (Lawson's iteration, against 40-digit quantiles) to relative
// error 1.3e-7.
inline float normal_element(std::uint32_t bits) {
  const std::int32_t m = static_cast<std::int32_t>(bits & 0x7FFFFFFFU);
  const float two_p = (static_cast<float>(m) + 0.5F) * 0x1p-31F;
  const float x = (static_cast<float>(0x7FFFFFFF - m) + 0.5F) * 0x1p-31F;
  const float w = minus_log2(two_p * (1.0F + x));
  float numerator = 0x1.3a3c40p-18F;
  numerator = std::fma(numerator, w, 0x1.e4444ap-13F);
  numerator = std::fma(numerator, w, 0x1.035a9ep-8F);
  numerator = std::fma(numerator, w, 0x1.61bf98p-5F);
  numerator = std::fma(numerator, w, 0x1.4135d6p-2F);
  numerator = std::fma(numerator, w, 0x1.40d934p+0F);
  float denominator = 0x1.5a0278p-23F;
  denominator = std::fma(denominator, w, 0x1.48bfd2p-15F);
  denominator = std::fma(denominator, w, 0x1.8eac50p-11F);
  denominator = std::fma(denominator, w, 0x1.01396cp-6F);
  denominator = std::fma(denominator, w, 0x1.19e150p-4F);
  denominator = std::fma(denominator, w, 1.0F);
  const float magnitude = x * numerator / denominator;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000U));
}

inline float uniform_element(std::uint32_t bits) {
  return static_cast<float>(2 * static_cast<std::int32_t>(bits >> 8) + 1 - (1 << 24)) * 0x1p-24F;
}

inline float powers_element(std::uint32_t bits) {
  const std::uint32_t magnitude = (bits & 0x40000000U) != 0 ? 0x3F800000U : 0x3F000000U;
  return std::bit_cast<float>(magnitude | (bits & 0x80000000U));
}

inline float eighths_element(std::uint32_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(((bits >> 16) * 33) >> 16) - 16) * 0.125F;
}

// Blocks first / 4 … first / 4 + 7 of a row, word by word.
std::array<Lanes, 4> row_blocks(const RowAddress& address, std::size_t first) {
  assert(first % row_group == 0);
  std::array<Lanes, 4> block;
  for (std::size_t i = 0; i < lanes; ++i) block[0][i] = static_cast<std::uint32_t>(first / 4 + i);
  block[1].fill(static_cast<std::uint32_t>(address.position));
  block[2].fill(static_cast<std::uint32_t>(address.head) |
                static_cast<std::uint32_t>(address.stream) << 24);
  block[3].fill(static_cast<std::uint32_t>(address.sample));
  philox_lanes(block, {static_cast<std::uint32_t>(address.seed),
                       static_cast<std::uint32_t>(address.seed >> 32)});
  return block;
}

template <class Element>
void transform_row(const RowAddress& address, std::span<float> values, Element element) {
  assert(values.size() % row_group == 0);
  for (std::size_t first = 0; first < values.size(); first += row_group) {
    const WordGroup words = random_words(address, first);
    for (std::size_t i = 0; i < row_group; ++i) values[first + i] = element(words[i]);
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  std::array<Lanes, 4> block{};
  for (std::size_t word = 0; word < 4; ++word) block[word].fill(counter[word]);
  philox_lanes(block, key);
  return {block[0][0], block[1][0], block[2][0], block[3][0]};
}

float normal_from_bits(std::uint32_t bits) { return normal_element(bits); }

WordGroup random_words(const RowAddress& address, std::size_t first) {
  const std::array<Lanes, 4> block = row_blocks(address, first);
  WordGroup words;
  for (std::size_t i = 0; i < lanes; ++i) {
    for (std::size_t word = 0; word < 4; ++word) words[4 * i + word] = block[word][i];
  }
  return words;
}

void noise_row(Noise noise, const RowAddress& address, std::span<float> values) {
  switch (noise) {
    case Noise::normal:
      return transform_row(address, values,
                           [](std::uint32_t bits) { return normal_element(bits); });
    case Noise::uniform:
      return transform_row(address, values,
                           [](std::uint32_t bits) { return uniform_element(bits); });
    case Noise::powers:
      return transform_row(address, values,
                           [](std::uint32_t bits) { return powers_element(bits); });
    case Noise::eighths:
      return transform_row(address, values,
                           [](std::uint32_t bits) { return eighths_element(bits); });
  }
}

}  // namespace plumbline
