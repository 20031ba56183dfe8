// The error histogram and the heat map of one output. They are for people and decide nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

// 548 bytes with a map of 16 x 16. All members are empty if no output was compared with the
// reference.
struct ErrorPicture {
  // Bin i counts the elements whose e / sigma is nearest to (i - 20) / 4. The first and the last
  // bin also count everything beyond them. NaN is not counted.
  static constexpr int bins = 41;
  static constexpr double bin_width = 0.25;
  static double center(int bin) { return bin_width * (bin - bins / 2); }
  std::vector<std::uint32_t> histogram;  // [bins]

  // Class i counts the elements with spre / sigma in [i, i + 1) / 32. spre is sigma before output
  // rounding. The expected error histogram follows from these counts (expected_errors.h).
  static constexpr int ratio_classes = 32;
  std::vector<std::uint32_t> spre_ratios;  // [ratio_classes]

  // The largest |e| / sigma over all samples and heads, by row of the sample and by column. Each
  // axis has at most 16 parts: part i of n has the rows r with r * n / longest == i. `longest` is
  // the number of rows of the longest sample.
  static constexpr int max_parts = 16;
  std::int64_t map_rows = 0, map_columns = 0;
  std::vector<std::uint8_t> map;  // [map_rows, map_columns], of map_code()
  bool operator==(const ErrorPicture&) const = default;
};

// Encodes |e| / sigma in a byte, within 2.2 %: the nearest code of 2^((code - 65) / 16), from 1/16
// to 3,597; 255 if it is not finite. In a map, 0 marks a part without compared elements.
std::uint8_t map_code(double size);
// Decodes a code from 1 to 254.
double map_size(std::uint8_t code);

}  // namespace plumbline
