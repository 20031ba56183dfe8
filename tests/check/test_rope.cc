// Tests each row of the table in docs/rope.md: a kernel that rotates Q and K, and how its dump
// states that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "harness/check/check.h"
#include "tests/check/emulated_kernel.h"

namespace plumbline {
namespace {

using test::DumpTensors;

constexpr std::int64_t tokens = 48, heads = 2, dim = 32;
using Tensor = std::vector<float>;  // [tokens, heads, dim]

Tensor noise(unsigned seed, float size) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, size);
  Tensor values(tokens * heads * dim);
  for (float& value : values) value = static_cast<float>(round_to(normal(bits), DType::bf16));
  return values;
}

// Rotates halves as in Llama.
Tensor rotated(const Tensor& x) {
  constexpr std::int64_t half = dim / 2;
  Tensor result(x.size());
  for (std::int64_t row = 0; row < tokens * heads; ++row) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(row / heads) * std::pow(10000.0, -static_cast<double>(i) / half);
      const auto at = static_cast<std::size_t>(row * dim + i), other = at + half;
      const double a = x[at], b = x[other], c = std::cos(angle), s = std::sin(angle);
      result[at] = static_cast<float>(a * c - b * s);
      result[other] = static_cast<float>(b * c + a * s);
    }
  }
  return result;
}

Tensor in_bf16(Tensor values) {
  for (float& value : values) value = static_cast<float>(round_to(value, DType::bf16));
  return values;
}

struct Call {
  Tensor q = rotated(noise(1, 4)), k = rotated(noise(2, 1)), v = noise(3, 1);
  Tensor out = Tensor(q.size()), lse = Tensor(tokens * heads);

  // Computes the output and the LSE from q, k and v, with P in `p_dtype`.
  void run(const Tensor& q_used, const Tensor& k_used, DType p_dtype) {
    for (std::int64_t row = 0; row < tokens * heads; ++row) attend(q_used, k_used, p_dtype, row);
  }

 private:
  static std::span<const float> vector(const Tensor& of, std::int64_t row) {
    return std::span(of).subspan(static_cast<std::size_t>(row * dim), dim);
  }
  void attend(const Tensor& q_used, const Tensor& k_used, DType p_dtype, std::int64_t row) {
    std::vector<double> s;
    const auto query = vector(q_used, row);
    for (std::int64_t key = row % heads; key < tokens * heads; key += heads) {
      const auto other = vector(k_used, key);
      s.push_back(std::inner_product(query.begin(), query.end(), other.begin(), 0.0) /
                  std::sqrt(static_cast<double>(dim)));
    }
    const double m = *std::max_element(s.begin(), s.end());
    double sum = 0;
    std::vector<double> o(dim);
    for (std::size_t n = 0; n < s.size(); ++n) {
      const double p = std::exp(s[n] - m), weight = round_to(static_cast<float>(p), p_dtype);
      sum += p;
      const auto value = vector(v, static_cast<std::int64_t>(n) * heads + row % heads);
      for (std::size_t j = 0; j < o.size(); ++j) o[j] += weight * double{value[j]};
    }
    for (std::size_t j = 0; j < o.size(); ++j)
      out[static_cast<std::size_t>(row * dim) + j] = static_cast<float>(o[j] / sum);
    lse[static_cast<std::size_t>((row % heads) * tokens + row / heads)] =
        static_cast<float>(m + std::log(sum));
  }
};

void set(DumpTensors& tensors, const char* name, const Tensor& values, DType dtype,
         std::vector<std::int64_t> shape = {1, tokens, heads, dim}) {
  std::vector<std::byte> bytes(values.size() * size_in_bytes(dtype));
  encode(dtype, values, bytes.data());
  tensors.set(name, dtype == DType::bf16 ? "BF16" : "F32", std::move(shape), std::move(bytes));
}

// Judges the call with Q and K saved in `saved`. V and the output are in bf16, the LSE in fp32.
CheckReport judged(const Call& call, const Tensor& q, const Tensor& k, DType saved,
                   Attributes attributes) {
  attributes["layout"] = "padded_bshd";
  DumpTensors tensors;
  set(tensors, "q", q, saved);
  set(tensors, "k", k, saved);
  set(tensors, "v", call.v, DType::bf16);
  set(tensors, "out", call.out, DType::bf16);
  set(tensors, "lse", call.lse, DType::f32, {1, heads, tokens});
  const auto dump = make_dump("dump", tensors.view(), attributes);
  EXPECT_TRUE(dump) << (dump ? "" : to_string(dump.error()));
  if (!dump) return {};
  const auto report = check(*dump, {});
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  return report ? *report : CheckReport{};
}

TEST(Rope, NarrowInputsAreSavedAsWritten) {
  Call call;
  const Tensor q = in_bf16(call.q), k = in_bf16(call.k);
  call.run(q, k, DType::bf16);
  const auto report = judged(call, q, k, DType::bf16, {});
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
}

TEST(Rope, InputsRoundedInRegistersNeedNarrowDtype) {
  Call call;
  call.run(in_bf16(call.q), in_bf16(call.k), DType::bf16);
  const auto report = judged(call, call.q, call.k, DType::f32, {{"dtype", "bf16"}});
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_NE(judged(call, call.q, call.k, DType::f32, {{"dtype", "fp32"}}).answer, Answer::rounding);
}

TEST(Rope, WideInputsNeedWideDtype) {
  Call call;
  call.run(call.q, call.k, DType::bf16);
  const Attributes stated{{"dtype", "fp32"}, {"spec", "p_dtype=bf16"}};
  const auto report = judged(call, call.q, call.k, DType::f32, stated);
  EXPECT_EQ(report.answer, Answer::rounding) << report.sentence;
  EXPECT_NE(judged(call, call.q, call.k, DType::f32, {}).answer, Answer::rounding)
      << "an output in bf16 means that the inputs are rounded to bf16";
  call.run(call.q, call.k, DType::f32);
  EXPECT_EQ(judged(call, call.q, call.k, DType::f32, {{"dtype", "fp32"}}).answer, Answer::rounding);
}

}  // namespace
}  // namespace plumbline
