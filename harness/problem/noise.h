// Random rows: Philox words, and the noise of the input distributions. Private to harness/problem;
// inputs.h has the contract.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace plumbline {

// The independent stream of random words that a row draws from: the upper 8 bits of a counter word,
// above the head.
enum class Stream : std::uint32_t {
  q = 1,
  k = 2,
  v = 3,
  fill = 4,
  outliers = 5,
  needle = 6,
  columns = 7,
  exact = 8,
  k_scale = 9,
  v_scale = 10,
  slopes = 11,
  sinks = 12,
  common = 13,
  q_scale = 14,
  out_scale = 15,
};

// Row (stream, sample, head, position). Element d takes word d % 4 of the block with counter
// (d / 4, position, head + (stream << 24), sample) and key `seed`.
struct RowAddress {
  std::uint64_t seed = 0;
  Stream stream = Stream::q;
  std::int64_t sample = 0, head = 0, position = 0;
};

// Rows are generated in whole groups of this many elements, because 8 Philox blocks side by side
// fill the AVX2 registers.
inline constexpr std::size_t row_group = 32;
inline constexpr std::size_t padded_dims(std::int64_t dims) {
  return (static_cast<std::size_t>(dims) + row_group - 1) / row_group * row_group;
}
using WordGroup = std::array<std::uint32_t, row_group>;

// Words of the elements [first, first + row_group) of a row; `first` is a multiple of row_group.
WordGroup random_words(const RowAddress& address, std::size_t first);

// Distribution of one element:
//   normal   normal_from_bits
//   uniform  open interval (-1, 1): the odd multiples of 2^-24
//   powers   +-1/2 or +-1, each with probability 1/4
//   eighths  multiples of 1/8 in [-2, 2]
enum class Noise { normal, uniform, powers, eighths };
// Fills a row; values.size() is a multiple of row_group.
void noise_row(Noise noise, const RowAddress& address, std::span<float> values);

}  // namespace plumbline
