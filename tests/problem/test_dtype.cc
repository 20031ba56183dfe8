// Rounding and conversion of number formats are correct, exhaustively if a format is small. Every
// code is converted in both directions, and every tie between neighbours is rounded.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "harness/problem/dtype.h"

namespace plumbline {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct SmallFormat {
  DType dtype;
  unsigned codes;        // number of codes
  unsigned last_finite;  // largest positive finite code
  bool has_infinity = true;
};
const std::vector<SmallFormat> small_formats{{DType::f16, 65536, 0x7BFF},
                                             {DType::bf16, 65536, 0x7F7F},
                                             {DType::e4m3, 256, 0x7E, false},
                                             {DType::e5m2, 256, 0x7B}};

std::uint32_t encode_one(DType dtype, float value) {
  std::uint32_t code = 0;
  encode(dtype, std::span(&value, 1), &code);
  return code;
}
double decode_one(DType dtype, std::uint32_t code) { return decode_at(dtype, &code, 0); }

TEST(DTypeTest, NamesParseBack) {
  for (const DType dtype : {DType::none, DType::f32, DType::f16, DType::bf16, DType::e4m3,
                            DType::e5m2, DType::tf32, DType::f64, DType::i32}) {
    EXPECT_EQ(parse<DType>(name(dtype)), dtype) << name(dtype);
  }
  EXPECT_EQ(name(DType::f32), "fp32");
  EXPECT_EQ(parse<DType>("float16"), std::nullopt);
  EXPECT_EQ(name(static_cast<DType>(77)), "unknown");
}

TEST(DTypeTest, Sizes) {
  EXPECT_EQ(size_in_bytes(DType::none), 0u);
  EXPECT_EQ(size_in_bytes(DType::e4m3), 1u);
  EXPECT_EQ(size_in_bytes(DType::bf16), 2u);
  EXPECT_EQ(size_in_bytes(DType::tf32), 4u);
  EXPECT_EQ(size_in_bytes(DType::f64), 8u);
}

TEST(DTypeTest, UnitRoundoffs) {
  EXPECT_EQ(unit_roundoff(DType::f16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(DType::tf32), 0x1p-11);
  EXPECT_EQ(unit_roundoff(DType::bf16), 0x1p-8);
  EXPECT_EQ(unit_roundoff(DType::e4m3), 0x1p-4);
  EXPECT_EQ(unit_roundoff(DType::e5m2), 0x1p-3);
  EXPECT_EQ(unit_roundoff(DType::f32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::none), 0);
  EXPECT_TRUE(std::isnan(unit_roundoff(DType::i32)));
  EXPECT_TRUE(std::isnan(unit_roundoff(static_cast<DType>(77))));
}

TEST(DTypeTest, HalfSmallestSubnormals) {
  EXPECT_EQ(half_smallest_subnormal(DType::f16), 0x1p-25);
  EXPECT_EQ(half_smallest_subnormal(DType::e4m3), 0x1p-10);
  EXPECT_EQ(half_smallest_subnormal(DType::e5m2), 0x1p-17);
  EXPECT_EQ(half_smallest_subnormal(DType::bf16), 0x1p-134);
  EXPECT_EQ(half_smallest_subnormal(DType::f32), 0x1p-150);
}

TEST(DTypeTest, Ulp) {
  EXPECT_EQ(ulp(1.0, DType::f16), 0x1p-10);
  EXPECT_EQ(ulp(1.999, DType::f16), 0x1p-10);
  EXPECT_EQ(ulp(-2.0, DType::f16), 0x1p-9);
  EXPECT_EQ(ulp(0.0, DType::f16), 0x1p-24);
  EXPECT_EQ(ulp(0x1p-20, DType::f16), 0x1p-24);
  EXPECT_EQ(ulp(1.0, DType::bf16), 0x1p-7);
  EXPECT_EQ(ulp(0.1, DType::f32), 0x1p-27);
  EXPECT_EQ(ulp(1.0, DType::f64), 0x1p-52);
  EXPECT_EQ(ulp(1e30, DType::f16), 32);
  EXPECT_EQ(ulp(infinity, DType::f16), 32);
  EXPECT_TRUE(std::isnan(ulp(std::nan(""), DType::f16)));
}

TEST(DTypeTest, EveryCodeDecodesAndEncodesToItself) {
  for (const SmallFormat& format : small_formats) {
    for (unsigned code = 0; code < format.codes; ++code) {
      const double value = decode_one(format.dtype, code);
      const unsigned back = encode_one(format.dtype, static_cast<float>(value));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_one(format.dtype, back)))
            << name(format.dtype) << " " << code;
      } else {
        ASSERT_EQ(back, code) << name(format.dtype);
        ASSERT_EQ(round_to(value, format.dtype), value) << name(format.dtype) << " " << code;
      }
    }
  }
}

TEST(DTypeTest, KnownCodes) {
  EXPECT_EQ(encode_one(DType::f16, 1.0f), 0x3C00u);
  EXPECT_EQ(encode_one(DType::bf16, 1.0f), 0x3F80u);
  EXPECT_EQ(encode_one(DType::e4m3, 1.0f), 0x38u);
  EXPECT_EQ(encode_one(DType::e5m2, 1.0f), 0x3Cu);
  EXPECT_EQ(encode_one(DType::e4m3, -448.0f), 0xFEu);
  EXPECT_EQ(encode_one(DType::e5m2, 57344.0f), 0x7Bu);
  EXPECT_EQ(encode_one(DType::e4m3, 0x1p-9f), 0x01u);
  EXPECT_EQ(encode_one(DType::f16, -0.0f), 0x8000u);
  EXPECT_EQ(encode_one(DType::e4m3, -0.0f), 0x80u);
  EXPECT_EQ(encode_one(DType::tf32, 1.0f), 0x3F800000u);
}

// Between neighbours a < b, the midpoint rounds to the even code, slightly less to a, slightly more
// to b. Codes as integers have the order of the values, and a's code has the parity of its last
// significand bit.
TEST(DTypeTest, EveryTieGoesToEven) {
  for (const SmallFormat& format : small_formats) {
    for (unsigned code = 0; code < format.last_finite; ++code) {
      const double a = decode_one(format.dtype, code), b = decode_one(format.dtype, code + 1);
      const double middle = a + (b - a) / 2;
      const double even = code % 2 == 0 ? a : b;
      ASSERT_EQ(round_to(middle, format.dtype), even) << name(format.dtype) << " " << code;
      ASSERT_EQ(round_to(-middle, format.dtype), -even) << name(format.dtype) << " " << code;
      ASSERT_EQ(round_to(std::nextafter(middle, 0), format.dtype), a)
          << name(format.dtype) << " " << code;
      ASSERT_EQ(round_to(std::nextafter(middle, infinity), format.dtype), b)
          << name(format.dtype) << " " << code;
      // The midpoint of two neighbours is an fp32 number, so encode must round it in the same way.
      ASSERT_EQ(decode_one(format.dtype, encode_one(format.dtype, static_cast<float>(middle))),
                even)
          << name(format.dtype) << " " << code;
    }
  }
}

TEST(DTypeTest, Overflow) {
  for (const SmallFormat& format : small_formats) {
    const double largest = largest_finite(format.dtype);
    EXPECT_EQ(largest, decode_one(format.dtype, format.last_finite)) << name(format.dtype);
    const double half_step = ulp(largest, format.dtype) / 2;
    EXPECT_EQ(round_to(std::nextafter(largest + half_step, 0), format.dtype), largest)
        << name(format.dtype);
    if (format.has_infinity) {
      EXPECT_EQ(round_to(largest + half_step, format.dtype), infinity) << name(format.dtype);
      EXPECT_EQ(round_to(-1e300, format.dtype), -infinity) << name(format.dtype);
      EXPECT_EQ(round_to(infinity, format.dtype), infinity) << name(format.dtype);
    }
  }
  // the tie with 480, whose code is NaN, rounds to the even 448
  EXPECT_EQ(round_to(464, DType::e4m3), 448);
  EXPECT_TRUE(std::isnan(round_to(464.001, DType::e4m3)));
  EXPECT_TRUE(std::isnan(round_to(infinity, DType::e4m3)));
  EXPECT_EQ(encode_one(DType::e4m3, 1000.0f), 0x7Fu);
  EXPECT_EQ(encode_one(DType::e4m3, -std::numeric_limits<float>::infinity()), 0xFFu);
  EXPECT_EQ(encode_one(DType::e5m2, 1e6f), 0x7Cu);
  EXPECT_EQ(encode_one(DType::bf16, std::numeric_limits<float>::max()), 0x7F80u);
  EXPECT_EQ(round_to(std::numeric_limits<double>::max(), DType::f32), infinity);
}

TEST(DTypeTest, NaNStaysNaN) {
  for (const std::uint32_t bits :
       {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu}) {
    const float nan = std::bit_cast<float>(bits);
    for (const DType dtype :
         {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::tf32}) {
      EXPECT_TRUE(std::isnan(decode_one(dtype, encode_one(dtype, nan))))
          << name(dtype) << std::hex << bits;
      EXPECT_TRUE(std::isnan(round_to(nan, dtype))) << name(dtype);
    }
  }
}

TEST(DTypeTest, Fp32RoundsLikeHardware) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    ASSERT_EQ(round_to(value, DType::f32), static_cast<double>(static_cast<float>(value))) << value;
  }
  EXPECT_EQ(round_to(0x1.8p-149, DType::f32), 0x1p-148);
  EXPECT_EQ(round_to(0x1p-150, DType::f32), 0);
}

TEST(DTypeTest, Tf32KeepsElevenBits) {
  EXPECT_EQ(round_to(1 + 0x1p-11, DType::tf32), 1);
  EXPECT_EQ(round_to(1 + 0x3p-11, DType::tf32), 1 + 0x1p-9);
  EXPECT_EQ(round_to(1 + 0x1.8p-11, DType::tf32), 1 + 0x1p-10);
  EXPECT_EQ(decode_one(DType::tf32, encode_one(DType::tf32, 1.0f + 0x1p-11f)), 1);
}

TEST(DTypeTest, SignOfZeroIsKept) {
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::tf32}) {
    EXPECT_TRUE(std::signbit(round_to(-0.0, dtype))) << name(dtype);
    EXPECT_TRUE(std::signbit(round_to(-1e-300, dtype))) << name(dtype);
    EXPECT_FALSE(std::signbit(round_to(1e-300, dtype))) << name(dtype);
  }
}

// Arrays of every length around the vector width agree with single elements and with round_to.
TEST(DTypeTest, ArraysAgreeWithElements) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 100);
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::tf32, DType::f64}) {
    for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 31u, 300u}) {
      std::vector<float> values(count), floats(count);
      std::vector<double> doubles(count);
      for (float& value : values) value = normal(random);
      std::vector<std::byte> encoded(count * size_in_bytes(dtype));
      encode(dtype, values, encoded.data());
      decode(dtype, encoded.data(), floats);
      decode(dtype, encoded.data(), doubles);
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = round_to(values[i], dtype);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(floats[i]) && std::isnan(doubles[i])) << name(dtype);
          continue;
        }
        ASSERT_EQ(floats[i], expected) << name(dtype) << " " << values[i];
        ASSERT_EQ(doubles[i], expected) << name(dtype) << " " << values[i];
        ASSERT_EQ(decode_at(dtype, encoded.data(), i), expected) << name(dtype);
      }
    }
  }
}

TEST(DTypeTest, IndexArraysDecode) {
  const std::int32_t pages[] = {7, -1};
  EXPECT_EQ(decode_at(DType::i32, pages, 1), -1);
}

}  // namespace
}  // namespace plumbline
