// The scales of a block agree with those of its single rows, up to the rounding of fp32 sums. If a
// bound replaces a sum, they agree within the limits of evidence/bounded-scales.md.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "harness/reference/block_worker.h"
#include "tests/reference/exact_row.h"
#include "tests/reference/filled_problem.h"
#include "tests/reference/quad_cases.h"

namespace plumbline {
namespace {

// Relative error of fp32 sums, in variances without bounds and in bounds.
constexpr double fp32_sums = 2e-4;
// Possible error, in max |v|^2, of fp32 sums over (v - o)^2. The sums are expanded about the mean
// of V and may cancel.
constexpr double expansion = 4e-6;
// Possible remainder, in max |v|, of a cell's fp32 sum of p_k (v - o) whose terms cancel.
constexpr double cancelled = 1e-5;
// Largest addition of a bound to a term, in units of TP: in general, without products of Q and K,
// and from bounds of R_j in long rows.
constexpr double share_of_bounds = 5e-5, share_of_unknown_products = 1e-3,
                 share_of_long_ranges = 1e-2;
// Largest relative change of lse_sigma^2 by bounds of the excess of cells, and without products of
// Q and K.
constexpr double lse_share = 5e-5, lse_share_without_products = 0.1;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  template <class T>
  T enumerator(T last) {
    return static_cast<T>(between(0, static_cast<std::int64_t>(last)));
  }
  Problem problem(bool is_long);
  RoundingSpec spec(const Problem& problem) {
    const std::vector<NamedSpec> specs = quad_specs(problem);
    return specs[static_cast<std::size_t>(between(0, std::ssize(specs) - 1))].spec;
  }

 private:
  std::mt19937 random_;
};

Problem Draw::problem(bool is_long) {
  Problem p;
  p.dtype =
      std::array{DType::bf16, DType::f16, DType::f32}[static_cast<std::size_t>(between(0, 2))];
  p.heads_q = 2;
  p.seq_q = between(1, 12);
  p.seq_kv = is_long ? between(long_row + 12, 2500) : between(1, 150);
  p.head_dim_qk = between(1, 40);
  p.head_dim_vo = between(1, 70);
  p.law = enumerator(Law::near_ties);
  p.v_law = enumerator(VLaw::tiny_output);
  p.mask = one_in(2) ? enumerator(Mask::custom) : Mask::none;
  if (one_in(5)) p.window_left = is_long ? long_row : between(0, 40);
  if (one_in(6)) p.softcap = static_cast<double>(between(1, 30));
  if (one_in(6)) p.alibi = enumerator(Alibi::random);
  if (one_in(4)) p.sinks = enumerator(Sinks::large);
  if (p.dtype != DType::f32 && one_in(4))
    p.kv_dtype = one_in(2) ? DType::e4m3 : DType::e5m2,
    p.kv_scales = enumerator(KvScales::batch_head);
  if (one_in(10)) p.k_scale = 0;
  p.seed = static_cast<std::uint64_t>(between(1, 1000));
  return p;
}

struct Met {
  int bounds_of_logits = 0, sums_of_logits = 0, long_rows = 0, short_rows = 0, exp2_terms = 0;
};

// Expects that a block's variance `value` is near `exact`: within rounding plus this share of TP.
void expect_near(double value, double exact, double of_p, const char* term) {
  EXPECT_LE(std::abs(value - exact), fp32_sums * exact + of_p)
      << term << " " << value << " " << exact;
}

void compare_row(const BoundedScales& scales, std::int64_t r, Met& met) {
  const RowBlock& block = scales.block();
  const Model& model = scales.model();
  const SingleRow row(model, block, r, scales.rounding(r));
  const bool is_long = block.is_long(r),
             may_bound_products = is_long && block.is_plain() && model.u_s == 0;
  ++(is_long ? met.long_rows : met.short_rows);
  double p_squares = 0, logit_squares = 0, largest_s = 0;
  for (std::size_t k = 0; k < row.keys; ++k) {
    p_squares += square(model.u_p * row.p[k]);
    logit_squares += square(row.p[k] * row.sd[k]);
    largest_s = std::max({largest_s, std::abs(row.s[k]), std::abs(row.capped[k])});
  }
  const double s_error = (model.u_s + model.tanh_error) * largest_s;
  for (std::size_t j = 0; j < row.o.size(); ++j) {
    const auto column = static_cast<std::int64_t>(j);
    const auto exact = exact_variances(row, j);
    const auto of = [&](Rounding rounding) { return exact[static_cast<std::size_t>(rounding)]; };
    const auto found = [&](Rounding rounding) { return scales.variance(rounding, r, column); };
    const double of_p = of(Rounding::p) * (1 + fp32_sums),
                 of_ranges = of_p * (is_long ? share_of_long_ranges : share_of_bounds);
    const double about_o = expansion * square(row.v_unit), least = min_error * row.v_unit,
                 of_logits = about_o * logit_squares + square(least);
    expect_near(found(Rounding::p), of(Rounding::p), about_o * p_squares + square(least), "TP");
    const double of_cells = square(cancelled * row.v_unit);
    expect_near(found(Rounding::s), of(Rounding::s), of_cells * square(s_error), "TS");
    expect_near(found(Rounding::exp2), of(Rounding::exp2), of_cells * square(model.exp2_error),
                "TE");
    expect_near(found(Rounding::accumulation), of(Rounding::accumulation),
                of_ranges + of_p * share_of_bounds, "TA");
    expect_near(found(Rounding::split_partials), of(Rounding::split_partials), of_ranges, "TR");

    // A sum may omit an excess of cells of up to share_of_bounds TP.
    EXPECT_GE(found(Rounding::logit),
              of(Rounding::logit) * (1 - fp32_sums) - of_logits - share_of_bounds * of_p);
    const double of_bound = may_bound_products ? share_of_unknown_products : share_of_bounds;
    expect_near(found(Rounding::logit), of(Rounding::logit), of_logits + of_p * of_bound, "TL");
    const bool is_bound =
        found(Rounding::logit) > of(Rounding::logit) * (1 + fp32_sums) + of_logits;
    ++(is_bound ? met.bounds_of_logits : met.sums_of_logits);
    met.exp2_terms += of(Rounding::exp2) > 0 ? 1 : 0;

    const double bound = scales.worst_case(r, column), exact_worst = exact_bound(row, j);
    EXPECT_GE(bound, exact_worst * (1 - fp32_sums) - least);
    if (!is_long) {
      EXPECT_LE(bound, exact_worst * (1 + fp32_sums));
    }
  }
  const double lse = exact_lse_variance(row);
  EXPECT_LE(std::abs(scales.lse_variance(r) - lse),
            (fp32_sums + (may_bound_products ? lse_share_without_products : lse_share)) * lse);
}

void compare(const FilledProblem& filled, const RoundingSpec& spec, Met& met) {
  const Problem& problem = filled.geometry.problem();
  SCOPED_TRACE(problem_id(problem) + " " + spec_text(spec));
  const InputView view = filled.view();
  const ReferenceContext question(filled.geometry, view, spec);
  std::vector<RowId> rows;
  for (const RowId& row : filled.all_rows().rows) {
    if (row.head == 0 && filled.geometry.visible_count(row.sample, row.row) > 0)
      rows.push_back(row);
  }
  if (rows.empty()) return;
  const HeadData head = gather_head(question, 0, 0, {0, problem.seq_kv});
  BlockWorker worker(question.model);
  worker.compute(question, head, rows, false);
  for (std::int64_t r = 0; r < worker.block.rows; r += 3) compare_row(worker.scales, r, met);
}

TEST(ExactScales, AgreeWithBlockScales) {
  Draw draw(11);
  Met met;
  int problems = 0;
  while (problems < 300) {
    const Problem problem = draw.problem(draw.one_in(4));
    if (!validate(problem).empty()) continue;
    ++problems;
    compare(FilledProblem(problem), draw.spec(problem), met);
    if (testing::Test::HasFailure()) return;  // one problem is enough
  }
  // A test whose draws need neither bounds nor sums would compare nothing.
  EXPECT_GT(met.bounds_of_logits, 1000);
  EXPECT_GT(met.sums_of_logits, 1000);
  EXPECT_GT(met.long_rows, 50);
  EXPECT_GT(met.short_rows, 200);
}

// The block begins at key 19 of the head.
TEST(ExactScales, SkippedKeysOfLaterBlock) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.seq_q = 9, problem.seq_kv = 40;
  problem.head_dim_vo = 20;
  problem.mask = Mask::causal_bottom_right, problem.window_left = 12;
  RoundingSpec spec = strict_spec(problem);
  spec.skipped_below = 0.1;
  Met met;
  compare(FilledProblem(problem), spec, met);
  EXPECT_GT(met.exp2_terms, 0) << "no key is skipped";
}

// In e4m3 without a factor, many P are below the smallest number.
TEST(ExactScales, RandomPNearZero) {
  for (const std::int64_t keys : {std::int64_t{150}, long_row + 12}) {
    Problem problem;
    problem.dtype = DType::bf16;
    problem.seq_kv = keys;
    problem.law = Law::llm;
    RoundingSpec spec = strict_spec(problem);
    spec.p_dtype = DType::e4m3, spec.p_stochastic = true;
    Met met;
    compare(FilledProblem(problem), spec, met);
    spec.denominator_from_rounded_p = true;
    compare(FilledProblem(problem), spec, met);
    EXPECT_EQ(met.long_rows + met.short_rows, 2);
  }
}

// Norms of q and k bound a logit's error, but not the variance from the error of each product.
TEST(ExactScales, LongRowWithErrorOfEachProduct) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.seq_kv = long_row + 76;
  problem.head_dim_qk = 16, problem.head_dim_vo = 8;
  RoundingSpec spec = strict_spec(problem);
  spec.qk_accumulator = fma_accumulator;
  spec.product_rel_error = 0x1p-12;
  Met met;
  compare(FilledProblem(problem), spec, met);
  EXPECT_EQ(met.long_rows, 1);
}

// In fp64, weights that sum to 1 may give an output of 1 - 2^-53.
TEST(OutputUnit, NoiseBelowPowerOfTwoKeepsUlp) {
  EXPECT_EQ(output_unit(1, DType::bf16), 0x1p-7);
  EXPECT_EQ(output_unit(1 - 0x1p-53, DType::bf16), 0x1p-7);
  EXPECT_EQ(output_unit(-1 + 0x1p-50, DType::bf16), 0x1p-7);
  EXPECT_EQ(output_unit(1 - 0x1p-30, DType::bf16), 0x1p-8);
}

// 1 + 2^-8 lies midway between two numbers of bf16. A kernel's factor may be off by an ulp, and its
// product is rounded.
TEST(QueryTies, ReachTwoUlpsOfProduct) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_kv = 4;
  problem.head_dim_qk = 8;
  problem.scale = 1;
  RoundingSpec spec = strict_spec(problem);
  spec.q_prescaled = DType::bf16;
  spec.q_prescaled_without_log2e = true;
  FilledProblem filled(problem);
  for (const auto& [ulps, count] : {std::pair{3, 1U}, std::pair{9, 0U}}) {
    const float product = 1 + 0x1p-8F + static_cast<float>(ulps) * 0x1p-23F;
    set_elements(filled.q, problem.dtype, problem.head_dim_qk,
                 [=](std::int64_t, std::int64_t d) { return d == 2 ? product : 0.0F; });
    std::vector<double> row(8);
    std::vector<QueryTie> ties;
    load_query(filled.geometry, filled.view(), Model(spec, 1), {0, 0, 0}, row, &ties);
    ASSERT_EQ(ties.size(), count) << ulps;
    if (count == 0) continue;
    EXPECT_EQ(ties[0].dim, 2);
    EXPECT_EQ(ties[0].step, 0x1p-7);
  }
}

// The scale is 1/8, so each product is exact. In [1, 2) fp16 has 8 numbers for each one of bf16,
// and one of them is a tie. With ties to even, the first tie rounds down and the next up.
TEST(QueryTies, PowerOfTwoScaleKeepsTiesOfQ) {
  Problem problem;
  problem.dtype = DType::f16;
  problem.seq_kv = 4;
  problem.head_dim_qk = 64;
  RoundingSpec spec = strict_spec(problem);
  spec.q_prescaled = DType::bf16;
  spec.q_prescaled_without_log2e = true;
  FilledProblem filled(problem);
  set_elements(filled.q, problem.dtype, problem.head_dim_qk,
               [](std::int64_t, std::int64_t d) { return 1 + static_cast<float>(d) * 0x1p-10F; });
  std::vector<double> row(64);
  std::vector<QueryTie> ties;
  load_query(filled.geometry, filled.view(), Model(spec, problem.softmax_scale()), {0, 0, 0}, row,
             &ties);
  ASSERT_EQ(ties.size(), 8U);
  for (std::size_t n = 0; n < ties.size(); ++n) {
    EXPECT_EQ(ties[n].dim, 8 * static_cast<std::int64_t>(n) + 4);
    EXPECT_EQ(ties[n].step, 0x1p-10);
  }
  EXPECT_EQ(row[4], 0.125);
  EXPECT_EQ(row[12], 0.125 * (1 + 0x1p-6));
}

TEST(PWeights, LargestPNeedsExactFactor) {
  RoundingSpec spec;
  spec.p_dtype = DType::bf16;
  spec.p_max = MaximumOfP::one;
  const RowRounding row{};
  for (const auto& [factor, u_one] :
       {std::pair{1.0, 0x1p-8}, std::pair{256.0, 0x1p-8}, std::pair{257.0, 0.0}}) {
    spec.p_prescale = factor;
    EXPECT_EQ(p_weights(Model(spec, 1), 2, row).u_one, u_one) << factor;
  }
}

// All logits are 0, but every other key has large products, which cancel. O is 0. Ties add nothing
// to TP then, but nearly all of TL, which is 1.6e-3 TP.
TEST(ExactScales, TiesWithUnequalErrorsAndZeroOutput) {
  Problem problem;
  problem.dtype = DType::f32;
  problem.seq_kv = 200;
  problem.head_dim_vo = 8;
  FilledProblem filled(problem);
  set_elements(filled.q, problem.dtype, problem.head_dim_qk,
               [](std::int64_t, std::int64_t d) { return d < 2 ? 1.0F : 0.0F; });
  set_elements(filled.k, problem.dtype, problem.head_dim_qk, [](std::int64_t key, std::int64_t d) {
    if (key % 2 != 0 || d >= 2) return 0.0F;
    return d == 0 ? 220.0F : -220.0F;
  });
  set_elements(filled.v, problem.dtype, problem.head_dim_vo,
               [](std::int64_t key, std::int64_t) { return key % 2 == 0 ? 1.0F : -1.0F; });
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = DType::bf16;
  Met met;
  compare(filled, spec, met);
  EXPECT_EQ(met.short_rows, 1);
}

}  // namespace
}  // namespace plumbline
