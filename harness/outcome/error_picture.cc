// Codes of the heat map of errors.
#include "harness/outcome/error_picture.h"

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

constexpr double steps = 16;  // per factor of two
constexpr double code_of_1 = 65;
constexpr double min_code = 1, max_code = 254;
constexpr std::uint8_t not_finite_code = 255;

}  // namespace

std::uint8_t map_code(double size) {
  if (!std::isfinite(size)) return not_finite_code;
  const double code = size > 0 ? std::round(code_of_1 + steps * std::log2(size)) : min_code;
  return static_cast<std::uint8_t>(std::clamp(code, min_code, max_code));
}

double map_size(std::uint8_t code) { return std::exp2((code - code_of_1) / steps); }

}  // namespace plumbline
