// The reference's O and LSE lie in intervals that enclose the exact results of random problems.
// These reach every field, law and feature of a problem, except view far.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/reference/ball_attention.h"
#include "tests/reference/filled_problem.h"

namespace plumbline {
namespace {

// fp64 rounds to 53 bits. Intervals of 46 bits are at least 100 times as wide as its errors.
constexpr int bits = 46;
constexpr int problems_per_test = 1000;
constexpr std::uint64_t tests = 20;

struct Drawn {
  Problem problem;
  RoundingSpec spec;
  bool has_bias = false;
  std::array<bool, 3> bias_by{};  // samples, heads and rows have values of their own
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  // Returns the next valid problem. The view `far` is left out: its tensors span gigabytes.
  Drawn valid() {
    while (true) {
      Drawn drawn;
      drawn.problem = problem();
      if (drawn.problem.view == View::far || !validate(drawn.problem).empty()) continue;
      drawn.spec = spec(drawn.problem);
      drawn.has_bias = !drawn.problem.is_merge() && one_in(6);
      for (bool& by : drawn.bias_by) by = drawn.has_bias && one_in(2);
      return drawn;
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
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

  // A small problem in which every field may differ from its default. More than half are invalid.
  Problem problem() {
    Problem p;
    p.dtype = of(stored_dtypes);
    if (one_in(4)) p.kv_dtype = of(fp8_dtypes);
    if (!one_in(6)) p.out_dtype = of(stored_dtypes);
    p.batch = size(3);
    p.heads_kv = size(2);
    p.heads_q = p.heads_kv * size(3);
    p.seq_q = size(4);
    p.seq_kv = size(24);
    p.head_dim_qk = size(12);
    p.head_dim_vo = one_in(2) ? p.head_dim_qk : size(8);
    p.lse = !one_in(4);
    p.seed = random_() % 1000;
    choose_layout(p);
    choose_values(p);
    if (one_in(4)) choose_view(p);
    if (one_in(8)) make_merge(p);
    return p;
  }
  void choose_layout(Problem& p) {
    if (one_in(2)) p.mask = any<Mask>();
    if (one_in(3)) p.window_left = size(6) - 2;
    if (one_in(3)) p.window_right = size(6) - 2;
    p.layout = any<Layout>();
    p.lengths = any<Lengths>();
    p.padding = any<Padding>();
    p.page_size = size(9);
    p.fill = any<Fill>();
  }
  void choose_values(Problem& p) {
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
  }
  // Fulfils the view's conditions that random problems rarely fulfil.
  void choose_view(Problem& p) {
    p.view = any<View>();
    if (p.view == View::packed_qkv) p.seq_q = p.seq_kv = size(8), p.kv_dtype = DType::none;
    if (p.view == View::packed_qkv || p.view == View::packed_kv) p.head_dim_vo = p.head_dim_qk;
    if (p.view != View::v_in_k) return;
    p.head_dim_vo = std::min(p.head_dim_vo, p.head_dim_qk);
    p.v_law = VLaw::normal, p.v_scale = 1;
  }
  // Fulfils the conditions of a merge, except those of dtypes.
  void make_merge(Problem& p) {
    p.merge = of(std::array{Merge::natural, Merge::base_2});
    p.head_dim_qk = p.seq_q = 1;
    p.heads_q = p.heads_kv;
    p.kv_dtype = DType::none;
    p.layout = of(std::array{Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged});
    p.padding = Padding::right;
    if (p.mask != Mask::none) p.mask = Mask::custom;
    p.window_left = p.window_right = -1;
    p.scale = p.softcap = 0;
    p.alibi = Alibi::none, p.sinks = Sinks::none;
    if (p.view != View::strided) p.view = View::plain;
  }

  RoundingSpec spec(const Problem& problem) {
    RoundingSpec spec = strict_spec(problem);
    if (problem.is_merge()) return spec;
    if (one_in(3) && problem.has_fp8_kv())  // tf32 leaves fp8 as it is
      spec.kv_dequantized_to = of(std::array{DType::f16, DType::bf16, DType::tf32});
    if (one_in(3) && problem.dtype == DType::f32)
      spec.kv_dequantized_to = DType::tf32, spec.inputs_toward_zero = one_in(2);
    if (one_in(4) && !problem.has_fp8_q()) {
      spec.q_prescaled = of(std::array{DType::f16, DType::bf16});
      spec.q_prescaled_without_log2e = one_in(2);
    }
    spec.lse_includes_sink = !one_in(3);
    return spec;
  }

  std::mt19937_64 random_;
};

std::shared_ptr<const LogitBias> bias_of(const Drawn& drawn) {
  const Problem& problem = drawn.problem;
  const std::array extents{problem.batch, problem.heads_q, problem.seq_q};
  const auto bias = std::make_shared<LogitBias>();
  std::int64_t count = problem.seq_kv;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (!drawn.bias_by[i]) continue;
    bias->stride[i] = count;
    count *= extents[i];
  }
  std::mt19937_64 random(problem.seed);
  std::normal_distribution<float> normal(0, 3);
  for (std::int64_t i = 0; i < count; ++i) bias->values.push_back(normal(random));
  return bias;
}

bool sees_any_key(const Geometry& geometry) {
  for (std::int64_t sample = 0; sample < geometry.problem().batch; ++sample) {
    for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
      if (geometry.visible_count(sample, row) > 0) return true;
    }
  }
  return false;
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
      Ball o = row.o[j];
      o.middle = saturated(o.middle, problem.out());  // increases no distance
      expect_inside(o, reference.o[r * row.o.size() + j], of_logits * row.largest_v,
                    where + ", column " + std::to_string(j));
    }
  }
}

// Calls body(filled, drawn) for problems of a seed that have finite inputs and a row with keys,
// until it returns false.
template <class Body>
void for_each_problem(std::uint64_t seed, const Body& body) {
  Draw draw(seed);
  for (int i = 0; i < problems_per_test;) {
    const Drawn drawn = draw.valid();
    FilledProblem filled(drawn.problem);
    if (drawn.has_bias) filled.geometry.bias = bias_of(drawn);
    if (!sees_any_key(filled.geometry) || !has_finite_inputs(filled, drawn.spec)) continue;
    if (!body(filled, drawn)) return;
    ++i;
  }
}

class Balls : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Balls, EncloseReference) {
  for_each_problem(GetParam(), [](const FilledProblem& filled, const Drawn& drawn) {
    compare(filled, drawn.spec);
    return !testing::Test::HasFailure();
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, Balls, testing::Range<std::uint64_t>(1, tests + 1));

// The number of problems with each value of each field.
class ValueCounts {
 public:
  void add(const Drawn& drawn) {
    const Problem& p = drawn.problem;
    const RoundingSpec& spec = drawn.spec;
    see("dtype", p.dtype), see("kv_dtype", p.kv()), see("out_dtype", p.out());
    see("mask", p.mask), see("layout", p.layout), see("lengths", p.lengths);
    see("padding", p.padding), see("fill", p.fill), see("view", p.view), see("merge", p.merge);
    see(p.is_merge() ? "law of merges" : "law", p.law);
    see(p.is_merge() ? "v_law of merges" : "v_law", p.v_law);
    see("alibi", p.alibi), see("sinks", p.sinks);
    if (p.has_fp8_kv()) see("kv_scales", p.kv_scales);
    see("kv_dequantized_to", spec.kv_dequantized_to), see("q_prescaled", spec.q_prescaled);
    for (const auto& [flag, is_set] : flags(drawn))
      ++counts_[std::string(flag) + (is_set ? " true" : " false")];
  }

  template <class Enum>
  void expect_all(std::string_view field) const {
    for (const Enum value : all<Enum>()) expect(field, value);
  }
  template <class Values>
  void expect_each(std::string_view field, const Values& values) const {
    for (const auto value : values) expect(field, value);
  }
  void expect_flags() const {
    for (const auto& [flag, is_set] : flags({})) {
      for (const char* value : {" true", " false"}) expect_found(std::string(flag) + value);
    }
  }

 private:
  static std::vector<std::pair<std::string_view, bool>> flags(const Drawn& drawn) {
    const Problem& p = drawn.problem;
    const RoundingSpec& spec = drawn.spec;
    const bool is_tf32 = spec.kv_dequantized_to == DType::tf32;
    return {{"lse", p.lse},
            {"window_left", p.window_left >= 0},
            {"window_right", p.window_right >= 0},
            {"grouped heads", p.group() > 1},
            {"another head_dim_vo", p.head_dim_vo != p.head_dim_qk},
            {"k_scale", p.k_scale != 1},
            {"k_scale of 0", p.k_scale == 0},
            {"v_scale", p.v_scale != 1},
            {"scale", p.scale != 0},
            {"softcap", p.softcap != 0},
            {"bias", drawn.has_bias},
            {"bias by sample", drawn.bias_by[0]},
            {"bias by head", drawn.bias_by[1]},
            {"bias by row", drawn.bias_by[2]},
            {"tf32 beside fp8", is_tf32 && p.has_fp8_kv()},
            {"inputs_toward_zero", spec.inputs_toward_zero},
            {"q_prescaled_without_log2e", spec.q_prescaled_without_log2e},
            {"LSE without sink", p.sinks != Sinks::none && !spec.lse_includes_sink}};
  }

  template <class Enum>
  void see(std::string_view field, Enum value) {
    ++counts_[text(field, value)];
  }
  template <class Enum>
  void expect(std::string_view field, Enum value) const {
    expect_found(text(field, value));
  }
  template <class Enum>
  static std::string text(std::string_view field, Enum value) {
    return std::string(field) + " " + std::string(name(value));
  }
  void expect_found(const std::string& value) const {
    EXPECT_TRUE(counts_.contains(value)) << "no problem of any seed has " << value;
  }

  std::map<std::string, int> counts_;
};

// The problems of all seeds above, without their computation.
TEST(BallDraws, ReachEveryFieldAndLaw) {
  ValueCounts counts;
  for (std::uint64_t seed = 1; seed <= tests; ++seed) {
    for_each_problem(seed, [&](const FilledProblem&, const Drawn& drawn) {
      counts.add(drawn);
      return true;
    });
  }
  for (const char* field : {"dtype", "kv_dtype", "out_dtype"})
    counts.expect_each(field, stored_dtypes);
  counts.expect_all<Mask>("mask");
  counts.expect_all<Layout>("layout");
  counts.expect_all<Lengths>("lengths");
  counts.expect_all<Padding>("padding");
  counts.expect_all<Fill>("fill");
  counts.expect_all<Merge>("merge");
  for (const char* field : {"law", "law of merges"}) counts.expect_all<Law>(field);
  for (const char* field : {"v_law", "v_law of merges"}) counts.expect_all<VLaw>(field);
  counts.expect_all<Alibi>("alibi");
  counts.expect_all<Sinks>("sinks");
  counts.expect_all<KvScales>("kv_scales");
  for (const View view : all<View>()) {
    if (view != View::far) counts.expect_each("view", std::array{view});
  }
  counts.expect_each("kv_dequantized_to",
                     std::array{DType::none, DType::f16, DType::bf16, DType::tf32});
  counts.expect_each("q_prescaled", std::array{DType::none, DType::f16, DType::bf16});
  counts.expect_flags();
}

}  // namespace
}  // namespace plumbline
