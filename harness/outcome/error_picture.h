// What the errors of one output look like: how many are how large, and where the largest are.
// Pictures for people; nothing here decides.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

// 548 bytes for 16 rows and 16 columns of the map. Everything is empty where no output was compared
// with the reference.
struct ErrorPicture {
  // How many elements' e / sigma is nearest to (i - 20) / 4; the first and the last bin also count
  // everything beyond. NaN is in none.
  static constexpr int bins = 41;
  static constexpr double bin_width = 0.25;
  static double center(int bin) { return bin_width * (bin - bins / 2); }
  std::vector<std::uint32_t> histogram;  // [bins]

  // How many elements have what spre / sigma, from i / 32 on: the deviation of all roundings but
  // the output's, over that of all. The curve that the declared roundings lead to follows from it
  // (expected_errors.h).
  static constexpr int ratio_classes = 32;
  std::vector<std::uint32_t> spre_ratios;  // [ratio_classes]

  // The largest |e| / sigma of all samples and heads, by row of the sample and column. Both are
  // divided into at most 16 parts: part i of n has the rows r with r * n / longest == i, where
  // `longest` is the number of rows of the longest sample.
  static constexpr int most_parts = 16;
  std::int64_t map_rows = 0, map_columns = 0;
  std::vector<std::uint8_t> map;  // [map_rows, map_columns], map_code() of each
  bool operator==(const ErrorPicture&) const = default;
};

// |e| / sigma as a byte, within 2.2 %: 0 where nothing was compared, 255 where it is no number,
// else the code of the nearest 2^((code - 65) / 16), from 1/16 to 3,597.
std::uint8_t map_code(double size);
// Of a code from 1 to 254.
double map_size(std::uint8_t code);

}  // namespace plumbline
