// The reference's O and LSE lie in intervals that enclose the exact results of random problems.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "tests/reference/ball_attention.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// fp64 rounds to 53 bits. Intervals of 46 bits are at least 100 times as wide as its errors.
constexpr int bits = 46;
constexpr int problems_per_test = 1000;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  template <class T, std::size_t n>
  T of(const std::array<T, n>& values) {
    return values[below(n)];
  }
  template <class Enum>
  Enum any() {
    const auto values = all<Enum>();
    return *(values.begin() + static_cast<std::ptrdiff_t>(below(std::size(values))));
  }
  std::int64_t size(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(below(static_cast<std::size_t>(most)));
  }
  bool one_in(std::size_t count) { return below(count) == 0; }

  // A small problem in which every field may differ from its default. Most draws are invalid.
  Problem problem() {
    Problem p;
    p.dtype = of(std::array{DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2});
    if (one_in(4)) p.kv_dtype = of(std::array{DType::e4m3, DType::e5m2});
    p.out_dtype = of(std::array{DType::none, DType::f32, DType::f16, DType::bf16, DType::e4m3});
    p.batch = size(3);
    p.heads_kv = size(2);
    p.heads_q = p.heads_kv * size(3);
    p.seq_q = size(4);
    p.seq_kv = size(24);
    p.head_dim_qk = size(12);
    p.head_dim_vo = one_in(2) ? p.head_dim_qk : size(8);
    if (one_in(2)) p.mask = any<Mask>();
    if (one_in(3)) p.window_left = size(6) - 2;
    if (one_in(3)) p.window_right = size(6) - 2;
    p.layout = any<Layout>();
    p.lengths = any<Lengths>();
    p.padding = any<Padding>();
    p.page_size = size(9);
    p.fill = any<Fill>();
    p.law = any<Law>();
    p.v_law = any<VLaw>();
    if (one_in(4)) p.k_scale = of(std::array{0.0, 0.125, 30.0});
    if (one_in(4)) p.v_scale = of(std::array{-1.0, 0x1p-13, 100.0});
    if (one_in(4)) p.scale = of(std::array{0.1, 1.0, -0.5});
    if (one_in(4)) p.softcap = of(std::array{0.7, 30.0});
    if (one_in(4)) p.alibi = any<Alibi>();
    if (one_in(4)) p.sinks = any<Sinks>();
    p.kv_scales = any<KvScales>();
    p.scale_block = size(5);
    if (one_in(4)) p.view = any<View>();
    if (one_in(8)) {
      p.merge = any<Merge>();
      p.head_dim_qk = 1;
    }
    p.seed = random_() % 1000;
    return p;
  }
  RoundingSpec spec(const Problem& problem) {
    RoundingSpec spec = strict_spec(problem);
    if (problem.is_merge()) return spec;
    if (one_in(3) && problem.has_fp8_kv())
      spec.kv_dequantized_to = of(std::array{DType::f16, DType::bf16});
    if (one_in(3) && problem.dtype == DType::f32 && !problem.has_fp8_kv())
      spec.kv_dequantized_to = DType::tf32, spec.inputs_toward_zero = one_in(2);
    if (one_in(4) && !problem.has_fp8_q()) {
      spec.q_prescaled = of(std::array{DType::f16, DType::bf16});
      spec.q_prescaled_without_log2e = one_in(2);
    }
    spec.lse_includes_sink = !one_in(3);
    return spec;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  std::mt19937_64 random_;
};

// Returns the next valid problem. The view `far` is left out: its tensors span gigabytes.
Problem valid_problem(Draw& draw) {
  while (true) {
    const Problem problem = draw.problem();
    if (problem.view != View::far && validate(problem).empty()) return problem;
  }
}

// Returns false if a law exceeds the range of a narrow dtype. A merge's LSEs may be -infinity.
bool has_finite_inputs(const FilledProblem& filled, const RoundingSpec& spec) {
  const Geometry& g = filled.geometry;
  if (spec.kv_dequantized_to == DType::f16 && g.problem().law == Law::extreme) return false;
  const auto is_finite = [](const TensorShape& shape, const void* data, std::int64_t first,
                            std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      if (!std::isfinite(decode_at(shape.dtype, data, static_cast<std::size_t>(i)))) return false;
    }
    return true;
  };
  if (g.problem().is_merge()) return true;
  for (std::int64_t sample = 0; sample < g.problem().batch; ++sample) {
    for (std::int64_t row = 0; row < g.length_q(sample); ++row) {
      for (std::int64_t head = 0; head < g.problem().heads_q; ++head) {
        if (!is_finite(g.q, filled.q.data(), g.q_offset(sample, row, head),
                       g.problem().head_dim_qk))
          return false;
      }
    }
    for (std::int64_t key = 0; key < g.length_kv(sample); ++key) {
      for (std::int64_t head = 0; head < g.problem().heads_kv; ++head) {
        if (!is_finite(g.k, filled.k.data(), g.k_offset(sample, key, head),
                       g.problem().head_dim_qk) ||
            !is_finite(g.v, filled.v.data(), g.v_offset(sample, key, head),
                       g.problem().head_dim_vo))
          return false;
      }
    }
  }
  return true;
}

void expect_inside(const Ball& ball, double value, double unit, const std::string& what) {
  // 2^-1000: fp64 has subnormals
  EXPECT_LE(std::abs(value - ball.middle), ball.radius + 0x1p-1000) << what;
  EXPECT_LE(ball.radius, 0x1p-36 * unit) << what << ": the interval shows nothing";
}

void compare(const FilledProblem& filled, const RoundingSpec& spec) {
  const Problem& problem = filled.geometry.problem();
  const Reference reference =
      compute_reference(filled.geometry, filled.view(), spec, filled.all_rows());
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const RowId& id = reference.selection.rows[r];
    if (reference.visible[r] == 0) continue;
    const BallRow row =
        ball_attention(filled.geometry, {filled.q.data(), filled.k.data(), filled.v.data()}, spec,
                       id.sample, id.head, id.row, bits);
    const std::string where = problem_id(problem) + " " + describe(spec, problem) + ": sample " +
                              std::to_string(id.sample) + ", head " + std::to_string(id.head) +
                              ", row " + std::to_string(id.row);
    const double of_logits = 1 + row.largest_s;
    expect_inside(row.lse, reference.lse[r], of_logits, where + ", LSE");
    for (std::size_t j = 0; j < row.o.size(); ++j) {
      expect_inside(row.o[j], reference.o[r * row.o.size() + j], of_logits * row.largest_v,
                    where + ", column " + std::to_string(j));
    }
  }
}

class Balls : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Balls, EncloseReference) {
  Draw draw(GetParam());
  for (int i = 0; i < problems_per_test && !HasFailure();) {
    const Problem problem = valid_problem(draw);
    const FilledProblem filled(problem);
    const RoundingSpec spec = draw.spec(problem);
    if (!has_finite_inputs(filled, spec)) continue;
    compare(filled, spec);
    ++i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Balls, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace plumbline
