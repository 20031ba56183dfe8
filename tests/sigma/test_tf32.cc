// A simulated TF32 kernel stays within the limits of a spec that declares tf32 inputs, over every
// law of Q, K and V, and a stricter spec accuses it. The simulation goes product by product: Q, K,
// V and P are rounded to tf32, and sums are those of sm_80 and sm_90.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "harness/contract/contract.h"
#include "harness/problem/inputs.h"
#include "harness/reference/reference.h"

namespace plumbline::test {
namespace {

constexpr int key_tile = 64;

struct Inputs {
  explicit Inputs(const Problem& problem)
      : geometry(problem), q(geometry.q.bytes()), k(geometry.k.bytes()), v(geometry.v.bytes()) {
    fill_inputs(geometry, q.data(), k.data(), v.data());
  }
  InputView view() const { return {q.data(), k.data(), v.data()}; }
  static float tf32(const std::vector<std::byte>& tensor, std::int64_t at) {
    return static_cast<float>(
        round_to(decode_at(DType::f32, tensor.data(), static_cast<std::size_t>(at)), DType::tf32));
  }
  Geometry geometry;
  std::vector<std::byte> q, k, v;
};

// Returns sum + a . b in steps of the accumulator. All terms of a step are cut at F bits below the
// largest exponent (a product's is the sum of its factors'), added exactly, and the step's sum is
// cut to fp32. a and b are tf32 numbers, so products are exact in fp64.
float multiply_add(float sum, const float* a, const float* b, std::size_t count,
                   const Accumulator& accumulator) {
  const auto step = static_cast<std::size_t>(accumulator.products_per_step);
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t last = std::min(count, first + step);
    int exponent = sum != 0 ? std::ilogb(sum) : std::numeric_limits<int>::min();
    for (std::size_t i = first; i < last; ++i) {
      if (a[i] != 0 && b[i] != 0)
        exponent = std::max(exponent, std::ilogb(a[i]) + std::ilogb(b[i]));
    }
    if (exponent == std::numeric_limits<int>::min()) continue;
    const double quantum = std::ldexp(1.0, exponent - accumulator.fraction_bits);
    double total = std::trunc(sum / quantum);
    for (std::size_t i = first; i < last; ++i)
      total += std::trunc(double{a[i]} * double{b[i]} / quantum);
    const double exact = total * quantum;
    const auto nearest = static_cast<float>(exact);
    sum = std::abs(nearest) > std::abs(exact) ? std::nextafter(nearest, 0.0F) : nearest;
  }
  return sum;
}

struct Row {
  std::vector<float> o;
  float lse = 0;
};

// One row, tile by tile: S = Q K^T, online softmax in fp32, O = O rescale + P V.
Row attend(const Inputs& inputs, const RowId& id, const Accumulator& accumulator) {
  const Geometry& geometry = inputs.geometry;
  const Problem& problem = geometry.problem();
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk),
             columns = static_cast<std::size_t>(problem.head_dim_vo);
  const std::int64_t head_kv = id.head / problem.group();
  const auto scale_log2 = static_cast<float>(problem.softmax_scale() * std::numbers::log2e);
  std::vector<float> q(dims), k(dims), p, v;
  for (std::size_t d = 0; d < dims; ++d) {
    q[d] = Inputs::tf32(
        inputs.q, geometry.q_offset(id.sample, id.row, id.head) + static_cast<std::int64_t>(d));
  }
  Row row{std::vector<float>(columns, 0.0F), 0};
  float m = -std::numeric_limits<float>::infinity(), l = 0;
  const KeyRange keys = geometry.visible_keys(id.sample, id.row);
  for (std::int64_t begin = keys.begin; begin < keys.end; begin += key_tile) {
    const std::int64_t end = std::min<std::int64_t>(keys.end, begin + key_tile);
    p.clear();
    for (std::int64_t key = begin; key < end; ++key) {
      const std::int64_t at = geometry.k_offset(id.sample, key, head_kv);
      for (std::size_t d = 0; d < dims; ++d)
        k[d] = Inputs::tf32(inputs.k, at + static_cast<std::int64_t>(d));
      p.push_back(multiply_add(0, q.data(), k.data(), dims, accumulator) * scale_log2);
    }
    const float before = m;
    m = std::max(m, *std::max_element(p.begin(), p.end()));
    const float rescale = std::exp2(before - m);
    float sum = 0;
    for (float& x : p) {
      x = std::exp2(x - m);
      sum += x;
      x = static_cast<float>(round_to(x, DType::tf32));
    }
    l = std::fma(l, rescale, sum);
    v.resize(p.size());
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = Inputs::tf32(
            inputs.v, geometry.v_offset(id.sample, begin + static_cast<std::int64_t>(i), head_kv) +
                          static_cast<std::int64_t>(j));
      }
      row.o[j] = multiply_add(row.o[j] * rescale, p.data(), v.data(), p.size(), accumulator);
    }
  }
  for (float& o : row.o) o /= l;
  row.lse = static_cast<float>((m + std::log2(double{l})) * std::numbers::ln2);
  return row;
}

struct Statistics {
  double peak = 0, squares = 0, lse = 0;
  std::int64_t elements = 0;
  double rms() const { return std::sqrt(squares / static_cast<double>(elements)); }
};

// Measures one case by `spec`.
Statistics measure(const Problem& problem, const RoundingSpec& spec,
                   const Accumulator& accumulator) {
  const Inputs inputs(problem);
  const RowSelection rows = select_rows(inputs.geometry, std::numeric_limits<double>::infinity());
  const Reference reference = compute_reference(inputs.geometry, inputs.view(), spec, rows);
  Statistics statistics;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    if (reference.visible[r] == 0) continue;
    const Row row = attend(inputs, rows.rows[r], accumulator);
    statistics.lse =
        std::max(statistics.lse, std::abs(row.lse - reference.lse[r]) / reference.lse_sigma[r]);
    for (std::size_t j = 0; j < row.o.size(); ++j) {
      const std::size_t at = r * row.o.size() + j;
      const double error = std::abs(row.o[j] - reference.o[at]) / reference.sigma[at];
      statistics.peak = std::max(statistics.peak, error);
      statistics.squares += error * error;
      ++statistics.elements;
    }
  }
  return statistics;
}

Problem base_problem() {
  Problem problem;
  problem.dtype = DType::f32;
  problem.heads_q = 2;
  problem.seq_q = 16;
  problem.seq_kv = 300;
  problem.head_dim_qk = 64;
  problem.head_dim_vo = 32;
  problem.mask = Mask::causal_bottom_right;
  return problem;
}

RoundingSpec tf32_spec(const Problem& problem, const Accumulator& accumulator) {
  RoundingSpec spec = strict_spec(problem);
  spec.kv_dequantized_to = spec.p_dtype = DType::tf32;
  spec.qk_accumulator = spec.pv_accumulator = accumulator;
  return spec;
}

struct Named {
  const char* name;
  Accumulator accumulator;
};
const std::vector<Named> accumulators{{"sm_80", {DType::f32, true, 24, 4}},
                                      {"sm_90", {DType::f32, true, 25, 8}}};
class Tf32 : public testing::TestWithParam<Named> {};

TEST_P(Tf32, StaysWithinLimitsForAllLaws) {
  Statistics worst;
  double worst_rms = 0;
  for (const Law law : all<Law>()) {
    for (const VLaw v_law : all<VLaw>()) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        Problem problem = base_problem();
        problem.law = law, problem.v_law = v_law, problem.seed = seed;
        const RoundingSpec spec = tf32_spec(problem, GetParam().accumulator);
        const Statistics statistics = measure(problem, spec, GetParam().accumulator);
        const Limits limits = default_limits(spec, problem, statistics.elements);
        const std::string at = fmt::format("{} {} seed {}", name(law), name(v_law), seed);
        EXPECT_EQ(limits.rms, 1.8);
        EXPECT_LE(statistics.peak, limits.peak) << at;
        EXPECT_LE(statistics.rms(), limits.rms) << at;
        EXPECT_LE(statistics.lse, limits.lse) << at;
        worst.peak = std::max(worst.peak, statistics.peak);
        worst.lse = std::max(worst.lse, statistics.lse);
        worst_rms = std::max(worst_rms, statistics.rms());
        worst.elements += statistics.elements;
      }
    }
  }
  fmt::print("{}: {} elements, largest peak {:.2f}, rms {:.2f}, lse {:.2f}\n", GetParam().name,
             worst.elements, worst.peak, worst_rms, worst.lse);
}

// The reason for kv_dequantized_to: a spec without it accuses the same kernel.
TEST_P(Tf32, FailsSpecWithoutInputRounding) {
  const Problem problem = base_problem();
  RoundingSpec spec = tf32_spec(problem, GetParam().accumulator);
  spec.kv_dequantized_to = DType::none;
  // five times the limit; measured: 50
  EXPECT_GT(measure(problem, spec, GetParam().accumulator).lse, 5 * 6);
}

INSTANTIATE_TEST_SUITE_P(Sigma, Tf32, testing::ValuesIn(accumulators),
                         [](const auto& at) { return at.param.name; });

}  // namespace
}  // namespace plumbline::test
