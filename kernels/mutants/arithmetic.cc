// Implements the products, sums, 2^x and roundings of all mutants and legal variants.
#include "kernels/mutants/arithmetic.h"

#include <algorithm>
#include <array>
#include <bit>

namespace plumbline::mutants {
namespace {

// One step of a tensor core's accumulator (docs/judging-formulas.md, "Rounding spec"). Products and
// accumulator are truncated to multiples of 2^(e - fraction_bits), e their largest exponent. Their
// exact sum is truncated to fp32. Products of two fp32 numbers are exact in fp64.
float tensor_core_step(float c, const float* a, const float* b, std::int64_t stride,
                       std::int64_t count, int fraction_bits) {
  std::array<double, 17> terms{};
  double largest = std::abs(static_cast<double>(c));
  for (std::int64_t i = 0; i < count; ++i) {
    terms[static_cast<std::size_t>(i)] =
        static_cast<double>(a[i]) * static_cast<double>(b[i * stride]);
    largest = std::max(largest, std::abs(terms[static_cast<std::size_t>(i)]));
  }
  terms[static_cast<std::size_t>(count)] = c;
  if (!(largest > 0) || !std::isfinite(largest)) {
    double sum = 0;
    for (const double term : terms) sum += term;
    return static_cast<float>(sum);
  }
  const double quantum = std::ldexp(1.0, std::ilogb(largest) - fraction_bits);
  double sum = 0;
  for (const double term : terms) sum += std::trunc(term / quantum);
  const double exact = sum * quantum;
  const auto nearest = static_cast<float>(exact);
  return std::abs(static_cast<double>(nearest)) > std::abs(exact) ? std::nextafter(nearest, 0.0F)
                                                                  : nearest;
}

// Coefficients c of 2^x = 1 + x (c1 + c2 x + ...). They interpolate (2^x - 1) / x at Chebyshev
// nodes of [-1/2, 1/2]. The maximum relative error is given for each.
constexpr std::array degree_2{0x1.66744ep-1F, 0x1.ee7378p-3F};                 // 4.5e-3
constexpr std::array degree_3{0x1.62e43p-1F, 0x1.efb038p-3F, 0x1.c8bdfap-5F};  // 2.0e-4
// 2.0e-7
constexpr std::array degree_5{0x1.62e43p-1F, 0x1.ebfa4cp-3F, 0x1.c6afeep-5F, 0x1.3cbf6p-7F,
                              0x1.5ec866p-10F};

float exp2_by(std::span<const float> coefficients, float x) {
  if (!(x >= -126.0F)) return x == x ? 0.0F : x;
  const float whole = std::nearbyint(x);
  const float f = x - whole;
  float power = 0;
  for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c)
    power = std::fma(power, f, *c);
  return std::ldexp(std::fma(power, f, 1.0F), static_cast<int>(whole));
}

// Omits the range reduction above -5/16, where weights exceed 0.8. The relative error is 2^-14.5 at
// -1/4 and 2^-13.2 at -5/16.
float exp2_by_taylor(float x) {
  if (!(x > -0.3125F)) return cpu::exp2(x);
  const float y = x * static_cast<float>(ln_2);
  return std::fma(std::fma(std::fma(y, 1.0F / 6, 0.5F), y, 1.0F), y, 1.0F);
}

// A Taylor series in fp64 with an error below 1e-14: the result is the nearest fp32 except for one
// value in 10^6.
float exp2_in_fp64(float x) {
  if (!(x >= -126.0F)) return x == x ? 0.0F : x;
  const double whole = std::nearbyint(static_cast<double>(x));
  const double y = (static_cast<double>(x) - whole) * ln_2;
  double term = 1, sum = 1;
  for (int i = 1; i <= 14; ++i) sum += term *= y / i;
  return static_cast<float>(std::ldexp(sum, static_cast<int>(whole)));
}

// Returns 2 ulp too little if the fraction of x is at least 0.5.
float exp2_two_ulp_low(float x) {
  const float power = cpu::exp2(x);
  const bool is_low = x - std::floor(x) >= 0.5F && power >= 0x1p-126F && std::isfinite(power);
  return is_low ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) - 2) : power;
}

float sum_in_pairs(const float* p, std::int64_t count) {
  if (count == 1) return p[0];
  return sum_in_pairs(p, count / 2) + sum_in_pairs(p + count / 2, count - count / 2);
}

// Adds depth products to each of `count` columns of c, in order of depth.
template <class MultiplyAdd>
void add_products(const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                  std::int64_t count, float* c, MultiplyAdd multiply_add) {
  for (std::int64_t i = 0; i < depth; ++i) {
    for (std::int64_t j = 0; j < count; ++j) c[j] = multiply_add(a[i], b[i * stride + j], c[j]);
  }
}

template <class MultiplyAdd>
void add_all_products(const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                      std::int64_t columns, float* c, MultiplyAdd multiply_add) {
  constexpr std::int64_t block = 64;  // sums that fit in eight AVX registers
  std::int64_t j = 0;
  for (; j + block <= columns; j += block) {
    float sums[block];
    std::copy_n(c + j, block, sums);
    add_products(a, b + j, stride, depth, block, sums, multiply_add);
    std::copy_n(sums, block, c + j);
  }
  add_products(a, b + j, stride, depth, columns - j, c + j, multiply_add);
}

}  // namespace

void multiply_add(Sum sum, const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                  std::int64_t columns, float* c) {
  if (sum == Sum::fma) {
    add_all_products(a, b, stride, depth, columns, c,
                     [](float x, float y, float z) { return std::fma(x, y, z); });
    return;
  }
  if (sum == Sum::multiply_then_add) {
    add_all_products(a, b, stride, depth, columns, c,
                     [](float x, float y, float z) { return z + x * y; });
    return;
  }
  const std::int64_t step = sum == Sum::fp64 ? depth : sum == Sum::tensor_core_sm_80 ? 8 : 16;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < depth; i += step) {
      const std::int64_t count = std::min(step, depth - i);
      if (sum == Sum::fp64) {
        double exact = c[j];
        for (std::int64_t n = 0; n < count; ++n)
          exact += static_cast<double>(a[i + n]) * static_cast<double>(b[(i + n) * stride + j]);
        c[j] = static_cast<float>(exact);
      } else {
        c[j] = tensor_core_step(c[j], a + i, b + i * stride + j, stride, count,
                                sum == Sum::tensor_core_sm_80 ? 24 : 25);
      }
    }
  }
}

void multiply_add_in_fp16(const float* a, const float* b, std::int64_t stride, std::int64_t depth,
                          std::int64_t columns, float* c) {
  for (std::int64_t i = 0; i < depth; i += 8) {
    multiply_add(Sum::fma, a + i, b + i * stride, stride, 8, columns, c);
    cpu::round_to(PLUMBLINE_F16, c, columns);
  }
}

float exp2_of(Change change, float x) {
  switch (change) {
    case Change::precision_exp2_degree_2:
      return exp2_by(degree_2, x);
    case Change::precision_exp2_degree_3:
      return exp2_by(degree_3, x);
    case Change::legal_exp2_degree_5:
      return exp2_by(degree_5, x);
    case Change::legal_exp2_correctly_rounded:
      return exp2_in_fp64(x);
    case Change::precision_exp2_two_ulp_low:
      return exp2_two_ulp_low(x);
    default:
      return cpu::exp2(x);
  }
}

void exp2_row(Change change, float* x, std::int64_t count) {
  if (change == Change::precision_exp2_taylor) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = exp2_by_taylor(x[i]);
    return;
  }
  if (change != Change::precision_exp2_degree_2 && change != Change::precision_exp2_degree_3 &&
      change != Change::precision_exp2_two_ulp_low && change != Change::legal_exp2_degree_5 &&
      change != Change::legal_exp2_correctly_rounded) {
    for (std::int64_t i = 0; i < count; i += 8)
      _mm256_storeu_ps(x + i, cpu::exp2(_mm256_loadu_ps(x + i)));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) x[i] = exp2_of(change, x[i]);
}

float sum_row(Change change, const float* p, std::int64_t count) {
  if (change == Change::legal_sum_in_pairs) return sum_in_pairs(p, count);
  if (change == Change::legal_sum_in_fp64) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += p[i];
    return static_cast<float>(sum);
  }
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += p[i];
  return sum;
}

float keep_bits(float x, int bits) {
  const auto dropped = static_cast<std::uint32_t>(24 - bits);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) >> dropped << dropped);
}

float round_one(std::uint32_t dtype, float x) {
  if (dtype == PLUMBLINE_E4M3) x = std::clamp(x, -448.0F, 448.0F);
  alignas(32) float lanes[8] = {x};
  cpu::round_to(dtype, lanes, 8);
  return lanes[0];
}

float truncate_one(std::uint32_t dtype, float x) {
  const float nearest = round_one(dtype, x);
  if (!(std::abs(nearest) > std::abs(x))) return nearest;
  const cpu::Grid grid = cpu::grid_of(dtype);
  const float below = std::abs(x) < grid.smallest_normal ? std::abs(nearest) - grid.quantum
                                                         : std::abs(keep_bits(x, grid.bits));
  return std::copysign(below, x);
}

namespace {
// Returns an eighth of the dtype's spacing at x.
float dither(std::uint32_t dtype, float x) {
  const cpu::Grid grid = cpu::grid_of(dtype);
  return x < grid.smallest_normal ? grid.quantum / 8
                                  : std::ldexp(1.0F, std::ilogb(x) - grid.bits + 1 - 3);
}
}  // namespace

void round_weights(Change change, std::uint32_t dtype, float prescale, float* p,
                   std::int64_t count) {
  if (dtype == PLUMBLINE_F32) return;
  if (change == Change::precision_p_dithered) {
    for (std::int64_t i = 0; i < count; ++i)
      p[i] += (i % 2 != 0 ? 1.0F : -1.0F) * dither(dtype, p[i] * prescale) / prescale;
  }
  if (change == Change::precision_p_through_fp16 && dtype == PLUMBLINE_BF16)
    cpu::round_to(PLUMBLINE_F16, p, count);
  if (change != Change::precision_p_truncated && change != Change::precision_p_flushes_subnormals) {
    for (std::int64_t i = 0; i < count; ++i) p[i] *= prescale;
    if (dtype == PLUMBLINE_E4M3) {
      for (std::int64_t i = 0; i < count; ++i) p[i] = std::clamp(p[i], -448.0F, 448.0F);
    }
    cpu::round_to(dtype, p, count);
    for (std::int64_t i = 0; i < count; ++i) p[i] /= prescale;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = p[i] * prescale;
    float rounded = change == Change::precision_p_truncated ? truncate_one(dtype, scaled)
                                                            : round_one(dtype, scaled);
    if (change == Change::precision_p_flushes_subnormals &&
        rounded < cpu::grid_of(dtype).smallest_normal)
      rounded = 0;
    p[i] = rounded / prescale;
  }
}

}  // namespace plumbline::mutants
