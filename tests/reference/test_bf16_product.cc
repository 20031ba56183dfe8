// bf16 products by AVX512_BF16 and by sgemm, compared with fp64 on the rounded operands.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "harness/problem/dtype.h"
#include "harness/reference/bf16_product.h"

namespace plumbline {
namespace {

using Bf16 = Bf16Matrix::Bf16;

struct Shape {
  std::int64_t depth, columns, rows;
  KeyRange of_columns;  // part of B to multiply
  std::int64_t a_stride() const { return round_up(depth, 2); }
};

struct Operands {
  explicit Operands(const Shape& of) : shape(of) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    b.resize(static_cast<std::size_t>(shape.depth * shape.columns));
    for (float& x : b) x = normal(random);
    std::vector<float> wide(static_cast<std::size_t>(shape.rows * shape.a_stride()));
    for (float& x : wide) x = normal(random);
    a.resize(wide.size());
    encode(DType::bf16, wide, a.data());
  }
  double left(std::int64_t r, std::int64_t d) const {
    return decode_at(DType::bf16, a.data(), static_cast<std::size_t>(r * shape.a_stride() + d));
  }
  double right(std::int64_t d, std::int64_t n) const {
    return d < shape.depth && n < shape.columns
               ? round_to(b[static_cast<std::size_t>(d * shape.columns + n)], DType::bf16)
               : 0;
  }

  Shape shape;
  std::vector<float> b;  // [depth, columns]
  std::vector<Bf16> a;   // [rows, a_stride]
};

std::vector<float> multiply(const Operands& operands, bool native) {
  const Shape& shape = operands.shape;
  Bf16Matrix matrix(native);
  matrix.resize(shape.depth, shape.columns);
  for (std::int64_t d = 0; d < shape.depth; ++d) {
    for (std::int64_t n = 0; n < shape.columns; ++n)
      matrix.set(d, n, operands.b[static_cast<std::size_t>(d * shape.columns + n)]);
  }
  std::vector<float> c(static_cast<std::size_t>(shape.rows * shape.of_columns.size()),
                       std::numeric_limits<float>::quiet_NaN());
  matrix.multiply(operands.a.data(), shape.rows, shape.a_stride(), shape.of_columns, c.data(),
                  shape.of_columns.size());
  return c;
}

class Bf16Product : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !cpu_multiplies_bf16()) GTEST_SKIP() << "this CPU has no AVX512_BF16";
  }
};

TEST_P(Bf16Product, MatchesFp64OfRoundedOperands) {
  for (const Shape& shape :
       {Shape{128, 96, 16, {0, 96}},     // whole panels
        Shape{59, 1501, 32, {0, 1504}},  // odd depth, a panel of 29 columns
        Shape{
            600, 70, 13, {32, 96}},  // chunks of depth, part of the columns, rows that fill no tile
        Shape{701, 33, 1, {0, 64}}}) {  // odd depth in several chunks
    SCOPED_TRACE(shape.depth);
    const Operands operands(shape);
    const std::vector<float> c = multiply(operands, GetParam());
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      for (std::int64_t n = shape.of_columns.begin; n < shape.of_columns.end; ++n) {
        double sum = 0, sizes = 0;
        for (std::int64_t d = 0; d < shape.depth; ++d) {
          const double term = operands.left(r, d) * operands.right(d, n);
          sum += term, sizes += std::abs(term);
        }
        const float found =
            c[static_cast<std::size_t>(r * shape.of_columns.size() + n - shape.of_columns.begin)];
        ASSERT_LE(std::abs(found - sum), 1e-6 * sizes) << r << " " << n;
      }
    }
  }
}

TEST_P(Bf16Product, KeepsNan) {
  Operands operands({64, 32, 3, {0, 32}});
  operands.b[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> c = multiply(operands, GetParam());
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i % 32 == 5) << i;
}

INSTANTIATE_TEST_SUITE_P(Ways, Bf16Product, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& way) {
                           return way.param ? "Avx512" : "Sgemm";
                         });

}  // namespace
}  // namespace plumbline
