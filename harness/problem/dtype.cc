// Encodes, decodes and rounds values of each number format exactly, to nearest, ties to even.
#include "harness/problem/dtype.h"

#include <immintrin.h>

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/problem/rounder.h"

namespace plumbline {
namespace {

constexpr double bf16_max = 0x1.FEp127, tf32_max = 0x1.FFCp127;
constexpr std::array<NumberFormat, all<DType>().size()> formats{{
    {DType::none, 0, 0, 0, 0, 0, false},
    {DType::f32, 4, 24, -126, 127, std::numeric_limits<float>::max(), true},
    {DType::f16, 2, 11, -14, 15, 65504, true},
    {DType::bf16, 2, 8, -126, 127, bf16_max, true},
    {DType::e4m3, 1, 4, -6, 8, 448, false},
    {DType::e5m2, 1, 3, -14, 15, 57344, true},
    {DType::tf32, 4, 11, -126, 127, tf32_max, true},
    {DType::f64, 8, 53, -1022, 1023, std::numeric_limits<double>::max(), true},
    {DType::i32, 4, 0, 0, 0, 0, false},
}};

constexpr NumberFormat unknown_format{DType::none, 0, 0, 0, 0, 0, false};

// power_of_two() that can also return subnormal doubles. Only these need ldexp, which takes longer
// than judging an element.
double any_power_of_two(int exponent) {
  return exponent >= -1022 ? power_of_two(exponent) : std::ldexp(1.0, exponent);
}

// floor(log2 |value|), and -1023 for zero and subnormal doubles.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF) - 1023;
}

std::uint16_t encode_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Keeps NaN a NaN if its payload is in the dropped bits.
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float decode_bf16(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

std::uint8_t encode_fp8(float value, const NumberFormat& format) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  const double rounded = std::fabs(Rounder(format).nearest(value));
  if (std::isnan(rounded)) return sign | (format.has_infinity ? 0x7E : 0x7F);
  if (std::isinf(rounded)) return sign | 0x7C;
  const int exponent = std::max(exponent_of(rounded), format.min_exponent);
  const auto significand = static_cast<int>(rounded * power_of_two(format.bits - 1 - exponent));
  // The hidden bit of a normal significand carries into the exponent field. A subnormal significand
  // has no hidden bit, so the field stays 0.
  // clang-tidy 14 does not see that every format has bits.
  const int field = exponent - format.min_exponent;
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
  return static_cast<std::uint8_t>(sign | ((field << (format.bits - 1)) + significand));
}

float decode_fp8(unsigned code, const NumberFormat& format) {
  const unsigned magnitude = code & 0x7F;
  // e4m3 has no infinity, so its first code after the finite numbers is a NaN.
  const unsigned infinity = format.has_infinity ? 0x7Cu : 0x7Fu;
  float value = std::numeric_limits<float>::quiet_NaN();
  if (magnitude == infinity && format.has_infinity) value = std::numeric_limits<float>::infinity();
  if (magnitude < infinity) {
    const int fraction_bits = format.bits - 1;
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    const int field = static_cast<int>(magnitude >> fraction_bits);
    const int fraction = static_cast<int>(magnitude & ((1u << fraction_bits) - 1));
    const int exponent = format.min_exponent - fraction_bits + std::max(field - 1, 0);
    value = static_cast<float>(
        std::ldexp(field > 0 ? fraction + (1 << fraction_bits) : fraction, exponent));
  }
  return code & 0x80 ? -value : value;
}

using Fp8Table = std::array<float, 256>;
Fp8Table make_fp8_table(DType dtype) {
  Fp8Table table{};
  for (unsigned code = 0; code < table.size(); ++code)
    table[code] = decode_fp8(code, format_of(dtype));
  return table;
}
const Fp8Table& fp8_table(DType dtype) {
  static const Fp8Table e4m3 = make_fp8_table(DType::e4m3), e5m2 = make_fp8_table(DType::e5m2);
  return dtype == DType::e4m3 ? e4m3 : e5m2;
}

void encode_fp16_array(std::span<const float> values, std::uint16_t* codes) {
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const __m128i eight =
        _mm256_cvtps_ph(_mm256_loadu_ps(values.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), eight);
  }
  for (; i < values.size(); ++i)
    codes[i] = static_cast<std::uint16_t>(_cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT));
}

void decode_fp16_array(const std::uint16_t* codes, std::span<float> values) {
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    _mm256_storeu_ps(values.data() + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i))));
  }
  for (; i < values.size(); ++i) values[i] = _cvtsh_ss(codes[i]);
}

template <class T>
T load(const void* from, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void store(void* to, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(to) + index * sizeof(T), &value, sizeof(T));
}

}  // namespace

const NumberFormat& format_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < formats.size() ? formats[index] : unknown_format;
}

std::size_t size_in_bytes(DType dtype) { return format_of(dtype).bytes; }
int significand_bits(DType dtype) { return format_of(dtype).bits; }
double largest_finite(DType dtype) { return format_of(dtype).largest; }

double unit_roundoff(DType dtype) {
  if (dtype == DType::none) return 0;
  const NumberFormat& format = format_of(dtype);
  return format.bits == 0 ? std::numeric_limits<double>::quiet_NaN() : power_of_two(-format.bits);
}

double half_smallest_subnormal(DType dtype) {
  const NumberFormat& format = format_of(dtype);
  return format.bits == 0 ? 0 : any_power_of_two(format.min_exponent - format.bits);
}

double ulp(double value, DType dtype) {
  const NumberFormat& format = format_of(dtype);
  assert(format.bits > 0);
  if (value != value) return value;
  const int exponent = std::clamp(exponent_of(value), format.min_exponent, format.max_exponent);
  return any_power_of_two(exponent - format.bits + 1);
}

double round_to(double value, DType dtype) { return Rounder(dtype).nearest(value); }

double truncate_to(double value, DType dtype) { return Rounder(dtype).toward_zero(value); }

void encode(DType dtype, std::span<const float> values, void* encoded) {
  switch (dtype) {
    case DType::f32:
      std::copy_n(reinterpret_cast<const char*>(values.data()), values.size_bytes(),
                  static_cast<char*>(encoded));
      return;
    case DType::f16:
      encode_fp16_array(values, static_cast<std::uint16_t*>(encoded));
      return;
    case DType::bf16:
      for (std::size_t i = 0; i < values.size(); ++i) store(encoded, i, encode_bf16(values[i]));
      return;
    case DType::e4m3:
    case DType::e5m2:
      for (std::size_t i = 0; i < values.size(); ++i)
        store(encoded, i, encode_fp8(values[i], format_of(dtype)));
      return;
    case DType::tf32:
      for (std::size_t i = 0; i < values.size(); ++i)
        store(encoded, i, static_cast<float>(round_to(values[i], dtype)));
      return;
    case DType::f64:
      for (std::size_t i = 0; i < values.size(); ++i)
        store(encoded, i, static_cast<double>(values[i]));
      return;
    case DType::none:
    case DType::i32:
      assert(false && "not a floating-point format");
  }
}

void decode(DType dtype, const void* encoded, std::span<float> values) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      std::copy_n(static_cast<const char*>(encoded), values.size_bytes(),
                  reinterpret_cast<char*>(values.data()));
      return;
    case DType::f16:
      decode_fp16_array(static_cast<const std::uint16_t*>(encoded), values);
      return;
    case DType::bf16:
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = decode_bf16(load<std::uint16_t>(encoded, i));
      return;
    case DType::e4m3:
    case DType::e5m2:
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = fp8_table(dtype)[load<std::uint8_t>(encoded, i)];
      return;
    case DType::f64:
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(load<double>(encoded, i));
      return;
    case DType::none:
    case DType::i32:
      assert(false && "not a floating-point format");
  }
}

void decode(DType dtype, const void* encoded, std::span<double> values) {
  if (dtype == DType::f64) {
    std::copy_n(static_cast<const char*>(encoded), values.size_bytes(),
                reinterpret_cast<char*>(values.data()));
    return;
  }
  std::array<float, 256> chunk;  // not cleared, because most rows are shorter
  for (std::size_t begin = 0; begin < values.size(); begin += chunk.size()) {
    const std::size_t count = std::min(chunk.size(), values.size() - begin);
    decode(dtype, static_cast<const char*>(encoded) + begin * size_in_bytes(dtype),
           std::span(chunk).first(count));
    std::copy_n(chunk.begin(), count, values.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

double decode_at(DType dtype, const void* encoded, std::size_t index) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      return load<float>(encoded, index);
    case DType::f16:
      return _cvtsh_ss(load<std::uint16_t>(encoded, index));
    case DType::bf16:
      return decode_bf16(load<std::uint16_t>(encoded, index));
    case DType::e4m3:
    case DType::e5m2:
      return fp8_table(dtype)[load<std::uint8_t>(encoded, index)];
    case DType::f64:
      return load<double>(encoded, index);
    case DType::i32:
      return load<std::int32_t>(encoded, index);
    case DType::none:
      break;
  }
  assert(false && "not a stored format");
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace plumbline
