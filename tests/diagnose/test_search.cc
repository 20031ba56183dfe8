// Tests that the search for causes names planted errors, names no replay that changes nothing, and
// ends when its time is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "harness/diagnose/alternative_problems.h"
#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/causes.h"
#include "harness/diagnose/error_parts.h"
#include "harness/diagnose/error_shape.h"
#include "harness/diagnose/explanation_ranking.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/diagnose/lost_columns.h"
#include "harness/diagnose/other_roundings.h"
#include "harness/diagnose/row_calculator.h"
#include "harness/diagnose/row_variation.h"
#include "tests/diagnose/failing_problem.h"

namespace plumbline {
namespace {

using test::FailingProblem;
using test::FilledProblem;
using test::respecify;
using test::small_problem;
using test::value_of;
using test::write_rows;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

double rounded_p(double p, const RoundingSpec& spec) {
  const double held = p * spec.p_prescale;
  return (spec.p_toward_zero ? truncate_to(held, spec.p_dtype) : round_to(held, spec.p_dtype)) /
         spec.p_prescale;
}

// Writes the output of a kernel that rounds only P. P is relative to the largest logit up to its
// tile of keys, or to `first_maximum` if that is larger.
void attend_by_tiles(FilledProblem& filled, std::size_t tile, double first_maximum) {
  for (const RowId& id : filled.reference.selection.rows) {
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    std::vector<double> o(detail.o.size(), 0.0);
    double maximum = first_maximum, sum = 0;
    for (std::size_t begin = 0; begin < detail.s.size(); begin += tile) {
      const std::size_t end = std::min(begin + tile, detail.s.size());
      double larger = maximum;
      for (std::size_t n = begin; n < end; ++n) larger = std::max(larger, detail.s[n]);
      const double rescale = std::exp(maximum - larger);
      maximum = larger;
      sum *= rescale;
      for (double& x : o) x *= rescale;
      for (std::size_t n = begin; n < end; ++n) {
        const double p = std::exp(detail.s[n] - maximum), rounded = rounded_p(p, filled.spec);
        const auto value = value_of(filled, id, detail.keys.begin + static_cast<std::int64_t>(n));
        sum += p;
        for (std::size_t j = 0; j < o.size(); ++j) o[j] += rounded * value[j];
      }
    }
    const std::vector<float>& sinks = filled.geometry.side.sinks;
    if (!sinks.empty()) sum += std::exp(double{sinks[static_cast<std::size_t>(id.head)]} - maximum);
    for (std::size_t j = 0; j < o.size(); ++j)
      filled.set(id, static_cast<std::int64_t>(j), o[j] / sum);
    filled.set_lse(id, maximum + std::log(sum));
  }
}

// Writes the output and LSE of a kernel that merges splits of `size` keys with equal weights.
void merge_equally(FilledProblem& filled, std::size_t size) {
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const RowId& id = filled.reference.selection.rows[r];
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    std::vector<double> o(detail.o.size(), 0.0);
    double largest = -std::numeric_limits<double>::infinity(), splits = 0;
    for (std::size_t begin = 0; begin < detail.s.size(); begin += size) {
      const std::size_t end = std::min(begin + size, detail.s.size());
      double weight = 0;
      for (std::size_t n = begin; n < end; ++n) weight += detail.p[n];
      for (std::size_t n = begin; n < end; ++n) {
        const auto value = value_of(filled, id, detail.keys.begin + static_cast<std::int64_t>(n));
        for (std::size_t j = 0; j < o.size(); ++j) o[j] += detail.p[n] / weight * value[j];
      }
      largest = std::max(largest, filled.reference.lse[r] + std::log(weight));
      ++splits;
    }
    for (std::size_t j = 0; j < o.size(); ++j)
      filled.set(id, static_cast<std::int64_t>(j), o[j] / splits);
    filled.set_lse(id, largest + std::log(splits));
  }
}

void scale_row(FilledProblem& filled, const RowId& id, double factor) {
  const auto columns = filled.reference.columns;
  const auto offset =
      static_cast<std::size_t>(filled.geometry.out_offset(id.sample, id.row, id.head));
  std::vector<float> row(static_cast<std::size_t>(columns));
  const DType dtype = filled.geometry.problem().out();
  decode(dtype, filled.out.data() + offset * size_in_bytes(dtype), row);
  for (std::int64_t j = 0; j < columns; ++j)
    filled.set(id, j, factor * double{row[static_cast<std::size_t>(j)]});
}

// Some replays equal a legal kernel, such as a maximum that starts at 0 if all maxima are larger.
// They explain all rows but the wrong one, and must not be named.
TEST(Causes, WrongRowIsNoRounding) {
  Problem problem;
  problem.dtype = DType::bf16;
  problem.out_dtype = DType::f32;
  problem.heads_q = 2;
  problem.seq_q = 24;
  problem.seq_kv = 192;
  for (const bool is_tiled : {true, false}) {
    FilledProblem filled(problem);
    if (is_tiled) attend_by_tiles(filled, 64, -std::numeric_limits<double>::infinity());
    EXPECT_FALSE(FailingProblem(filled).fails());
    RowId wrong;
    wrong.head = 1;
    wrong.row = 5;
    scale_row(filled, wrong, 1.05);
    const FailingProblem failing(filled);
    ASSERT_TRUE(failing.fails());
    EXPECT_EQ(likeliest_change(failing.output), "") << is_tiled;
    const auto sentences = causes(failing.output);
    ASSERT_FALSE(sentences.empty());
    EXPECT_EQ(sentences.front(), "one row is wrong, all others are right: row 5, head 1, sample 0");
  }
}

// All logits are near -13, where fp16 has few numbers for exp(s), and the sink is above them. P is
// relative to 0, and not to the largest logit or the sink.
TEST(TiledWeights, MaximumStartsAtZeroBesideSink) {
  Problem problem = small_problem();
  problem.law = Law::negative_logits;
  problem.scale = 13.0 / 320;
  problem.sinks = Sinks::normal;
  FilledProblem filled(problem);
  std::ranges::fill(filled.geometry.side.sinks, -11.0F);
  respecify(filled, filled.spec);
  attend_by_tiles(filled, 64, 0);
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(likeliest_change(failing.output),
            "P is too small: the maximum starts at 0 or at a large finite number");
}

// A replay that ignores the factor of P or the direction of its rounding is another kernel.
TEST(TiledWeights, ReplaysScaledTruncatedP) {
  Problem problem = small_problem();
  problem.law = Law::negative_logits;
  problem.scale = 13.0 / 320;
  FilledProblem filled(problem);
  RoundingSpec spec = filled.spec;
  spec.p_prescale = 0.5;
  spec.p_toward_zero = true;
  respecify(filled, spec);
  attend_by_tiles(filled, 64, -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(FailingProblem(filled).fails());
  attend_by_tiles(filled, 64, 0);
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(likeliest_change(failing.output),
            "P is too small: the maximum starts at 0 or at a large finite number");
}

TEST(SplitResults, LseLacksRowBias) {
  Problem problem = small_problem();
  problem.alibi = Alibi::standard;
  problem.mask = Mask::causal_bottom_right;
  problem.seq_kv = 48;
  FilledProblem filled(problem);
  RoundingSpec spec = filled.spec;
  spec.lse_without_row_bias = true;
  respecify(filled, spec);
  merge_equally(filled, 16);
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(likeliest_change(failing.output),
            "the splits are merged with equal weights (splits of 16 keys)");
}

// The key lies after the end of the other samples, which have no page there.
TEST(LostColumns, KeyAfterEndOfOtherSamples) {
  Problem problem = small_problem();
  problem.batch = 3;
  problem.seq_kv = 64;
  problem.layout = Layout::paged_nhd;
  problem.page_size = 4;
  problem.lengths = Lengths::one_long;
  FilledProblem filled(problem);
  ASSERT_EQ(filled.geometry.length_kv(0), 64);
  ASSERT_LT(filled.geometry.length_kv(1), 64);
  for (const RowId& id : filled.reference.selection.rows) {
    if (id.sample > 0) continue;
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    const auto value = value_of(filled, id, 63);
    for (std::size_t j = 0; j < 4; ++j)
      filled.set(id, static_cast<std::int64_t>(j), detail.o[j] - detail.p.back() * value[j]);
  }
  EXPECT_EQ(lost_columns(FailingProblem(filled).output),
            "columns 0 to 3 of the output lack V of key 63");
}

void expect_rows_of_reference(const FilledProblem& filled) {
  const std::string id_of_problem = problem_id(filled.geometry.problem());
  const FailingProblem failing(filled);
  const RowCalculator calculator(failing.output);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const RowId& id = calculator.row(r);
    const RowDetail detail = reference_row(filled.geometry, filled.inputs(), filled.spec, id);
    const CalculatedRow row = calculator.answer(id, calculator.stated(id));
    EXPECT_NEAR(row.lse, filled.reference.lse[r], 1e-9) << id_of_problem;
    for (std::size_t j = 0; j < row.o.size(); ++j)
      ASSERT_NEAR(row.o[j], filled.expected(r, j), 1e-9) << id_of_problem;
    for (const auto& [key, logit] : calculator.seen_logits(id)) {
      ASSERT_NEAR(logit, detail.s[static_cast<std::size_t>(key - detail.keys.begin)], 1e-9)
          << id_of_problem;
    }
  }
}

TEST(RowCalculator, StatedRowEqualsReference) {
  Problem with_slopes = small_problem();
  with_slopes.alibi = Alibi::standard;
  with_slopes.mask = Mask::causal_bottom_right;
  Problem in_fp32 = small_problem();
  in_fp32.dtype = DType::f32;
  for (const Problem& problem : {with_slopes, in_fp32}) {
    FilledProblem filled(problem);
    RoundingSpec spec = filled.spec;
    spec.lse_without_row_bias = problem.alibi != Alibi::none;
    if (problem.dtype == DType::f32) spec.kv_dequantized_to = DType::tf32;
    respecify(filled, spec);
    expect_rows_of_reference(filled);
  }
}

TEST(RowCalculator, StatedRowHasPrescaledQ) {
  Problem problem = small_problem();
  problem.head_dim_qk = 24;  // so that the scale rounds Q, too
  problem.softcap = 3;
  for (const bool without_log2e : {false, true}) {
    FilledProblem filled(problem);
    RoundingSpec spec = filled.spec;
    spec.q_prescaled = DType::f16;
    spec.q_prescaled_without_log2e = without_log2e;
    respecify(filled, spec);
    expect_rows_of_reference(filled);
  }
}

// O / out_scale exceeds 448 in many places, and a kernel stores 448 there.
TEST(RowCalculator, Fp8OutputSaturates) {
  Problem problem = small_problem();
  problem.out_dtype = DType::e4m3;
  FilledProblem filled(problem);
  filled.geometry.side.out_scale = {5e-4F};
  respecify(filled, filled.spec);
  EXPECT_GT(std::ranges::count_if(filled.reference.o, [](double o) { return std::abs(o) == 448; }),
            100);
  const FailingProblem right(filled);
  const RowCalculator calculator(right.output);
  for (std::size_t r = 0; r < filled.reference.selection.rows.size(); ++r) {
    const RowId& id = calculator.row(r);
    EXPECT_TRUE(calculator.is_right(r)) << r;
    for (const double error : calculator.errors(r, calculator.answer(id, calculator.stated(id))))
      EXPECT_LE(std::abs(error), right.limits.peak) << r;
  }
}

// The LSE lacks the row's part of the bias with the slope that the kernel uses.
TEST(OtherSlopes, LseLacksBiasOfChangedSlope) {
  Problem problem = small_problem();
  problem.alibi = Alibi::standard;
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  RoundingSpec spec = filled.spec;
  spec.lse_without_row_bias = true;
  respecify(filled, spec);
  StatedLayout layout = layout_of(filled.geometry, false);
  std::ranges::rotate(layout.side->alibi_slopes, layout.side->alibi_slopes.begin() + 1);
  const Reference shifted = compute_reference(Geometry(problem, layout), filled.inputs(),
                                              filled.spec, filled.reference.selection);
  write_rows(filled, shifted);
  const FailingProblem failing(filled);
  ASSERT_TRUE(failing.fails());
  EXPECT_EQ(other_slopes(failing.output),
            "would be explained if each head had the ALiBi slope of the next head");
}

std::vector<std::string> sentences_of_alternatives(const FailingOutput& failing) {
  std::vector<std::string> sentences;
  visit_alternatives(failing, [&](const AlternativeProblem& other) {
    sentences.push_back(other.sentence);
    return true;
  });
  return sentences;
}

TEST(Alternatives, EveryNthKeyHasSuffix) {
  Problem problem = small_problem();
  problem.seq_kv = 80;
  const FilledProblem filled(problem);
  const auto sentences = sentences_of_alternatives(FailingProblem(filled).output);
  for (const char* nth : {"2nd key, from key 1", "4th key, from key 3", "16th key, from key 15",
                          "32nd key, from key 31"})
    EXPECT_THAT(sentences, Contains(HasSubstr("if every " + std::string(nth) + " on")));
}

TEST(Alternatives, NoneIsMadeAfterEnd) {
  const FilledProblem filled(small_problem());
  FailingProblem failing(filled);
  int visited = 0;
  visit_alternatives(failing.output, [&](const AlternativeProblem&) { return ++visited < 3; });
  EXPECT_EQ(visited, 3);
  failing.output.late = [] { return true; };
  EXPECT_THAT(sentences_of_alternatives(failing.output), testing::IsEmpty());
}

TEST(Alternatives, MaskOfEachHeadIsTransposed) {
  Problem problem = small_problem();
  problem.mask = Mask::custom;
  problem.seq_q = problem.seq_kv = 40;
  const Geometry drawn(problem);
  StatedLayout layout = layout_of(drawn, true);
  layout.mask_heads = problem.heads_q;
  layout.mask_bits.clear();
  for (std::int64_t head = 0; head < problem.heads_q; ++head) {
    for (const std::uint32_t word : drawn.mask_bits)  // key 0 is seen in all rows of odd heads
      layout.mask_bits.push_back(head % 2 == 0 ? word : word | 1U);
  }
  const Geometry geometry(problem, layout);
  FailingOutput failing;
  failing.geometry = &geometry;
  failing.keys_stated = true;
  bool is_found = false;
  visit_alternatives(failing, [&](AlternativeProblem other) {
    if (other.sentence != "if the mask were transposed") return true;
    is_found = true;
    const Geometry transposed(other.problem, std::move(other.layout));
    for (std::int64_t head = 0; head < problem.heads_q; ++head) {
      for (std::int64_t row = 0; row < 40; ++row) {
        for (std::int64_t key = 0; key < 40; ++key)
          EXPECT_EQ(transposed.sees(1, row, key, head), geometry.sees(1, key, row, head));
      }
    }
    return false;
  });
  EXPECT_TRUE(is_found);
}

// Returns an output that lacks the problem's causal mask.
FilledProblem without_mask() {
  Problem problem = small_problem();
  problem.mask = Mask::causal_bottom_right;
  FilledProblem filled(problem);
  problem.mask = Mask::none;
  write_rows(filled, compute_reference(Geometry(problem), filled.inputs(), filled.spec,
                                       filled.reference.selection));
  return filled;
}

TEST(FirstCause, SearchEndsAtTimeLimit) {
  const FilledProblem filled = without_mask();
  FailingProblem failing(filled);
  constexpr std::chrono::hours hour(1);
  CauseBudget unlimited(hour, hour), limited(hour, std::chrono::microseconds(0));
  const FirstCause found = first_cause(failing.output, "test/kernel", unlimited);
  EXPECT_TRUE(found.explains);
  EXPECT_EQ(found.sentence, "would be explained without the causal mask");
  const FirstCause cut = first_cause(failing.output, "test/kernel", limited);
  EXPECT_FALSE(cut.explains);
  EXPECT_THAT(cut.sentence, Not(StartsWith("would be explained")));
  failing.output.late = [] { return true; };
  EXPECT_EQ(likeliest_change(failing.output), "");
  EXPECT_FALSE(looser_rung(failing.output));
}

TEST(FirstCause, LaterCaseGetsNoSearch) {
  const FilledProblem filled = without_mask();
  const FailingProblem failing(filled);
  CauseBudget spent(std::chrono::microseconds(0));
  const FirstCause later = first_cause(failing.output, "test/kernel", spent);
  EXPECT_FALSE(later.explains);
  EXPECT_THAT(later.sentence, HasSubstr("the run's time for causes was spent"));
}

TEST(ExplanationRanking, IsCutWithoutWinner) {
  const FilledProblem filled(small_problem());
  FailingProblem failing(filled);
  const auto add_stated = [](ExplanationRanking& ranking) {
    ranking.add("kind", "as stated", [&](const RowId& id) { return ranking.answers().stated(id); });
  };
  ExplanationRanking ranking(failing.output);
  add_stated(ranking);
  EXPECT_EQ(ranking.best_sentence(), "as stated");
  failing.output.late = [] { return true; };
  add_stated(ranking);
  EXPECT_TRUE(ranking.is_cut());
  EXPECT_EQ(ranking.best_sentence(), "") << "others may be likelier";
}

TEST(ErrorParts, WrongPartsAreClear) {
  std::map<int, ErrorPart> parts{{0, {4, 1}}, {1, {50, 2}}, {2, {0, 0}}};
  ASSERT_TRUE(wrong_parts(parts));
  EXPECT_THAT(*wrong_parts(parts), testing::ElementsAre(1));
  parts[3] = {10, 1};
  EXPECT_FALSE(wrong_parts(parts)) << "neither right nor wrong";
}

TEST(ErrorBeyondOutput, SubtractsRoundingOfOutput) {
  Reference reference;
  reference.o = {1.0};
  reference.spre = {0.001F};
  EXPECT_EQ(error_beyond_output(reference, 0, -0x1p-8, DType::bf16), 0);
  EXPECT_NEAR(error_beyond_output(reference, 0, 0x1p-8 + 0.002, DType::bf16), 2, 1e-6);
  reference.output_units = 1;
  EXPECT_EQ(error_beyond_output(reference, 0, 0x1p-7, DType::bf16), 0);
}

TEST(TextAboveOne, PercentOrTimes) {
  EXPECT_EQ(text_above_one(1.12), "12 %");
  EXPECT_EQ(text_above_one(1.99), "99 %");
  EXPECT_EQ(text_above_one(2), "2 times");
}

}  // namespace
}  // namespace plumbline
