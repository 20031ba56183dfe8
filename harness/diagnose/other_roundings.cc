// Ranks other roundings and other addresses of K and V by the errors of a few rows.
#include "harness/diagnose/other_roundings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "harness/diagnose/alternative_search.h"
#include "harness/diagnose/explanation_ranking.h"
#include "harness/diagnose/looser_rung.h"
#include "harness/diagnose/split_results.h"
#include "harness/diagnose/tiled_weights.h"
#include "harness/diagnose/wrong_addresses.h"

namespace plumbline {
namespace {

constexpr std::array narrow_dtypes{DType::bf16, DType::f16};

// Adds roundings of S at different points between q . k and the logit.
void add_rounded_s(const FailingOutput& failing, ExplanationRanking& ranking) {
  const Problem& problem = failing.geometry->problem();
  const double scale = problem.softmax_scale();
  // Rounding commutes with a scale that is a power of two.
  int exponent = 0;
  const bool commutes =
      std::frexp(scale, &exponent) == 0.5 && problem.softcap == 0 && problem.alibi == Alibi::none;
  for (const DType dtype : narrow_dtypes) {
    const auto rounded = [dtype](double x) { return round_to(x, dtype); };
    const std::array<std::pair<std::string, decltype(RowVariation::logit)>, 4> ways{{
        {commutes ? "before the exponential" : "after the softmax scale",
         [=](const LogitShape& shape, double product, std::int64_t key) {
           return rounded(shape.logit(scale * product, key));
         }},
        {"after the softmax scale and log2(e)",
         [=](const LogitShape& shape, double product, std::int64_t key) {
           return rounded(shape.logit(scale * product, key) * std::numbers::log2e) *
                  std::numbers::ln2;
         }},
        {"before the softmax scale",
         [=](const LogitShape& shape, double product, std::int64_t key) {
           return shape.logit(scale * rounded(product), key);
         }},
        {"before and after the softmax scale",
         [=](const LogitShape& shape, double product, std::int64_t key) {
           return rounded(shape.logit(rounded(scale * rounded(product)), key));
         }},
    }};
    for (const auto& [where, logit] : ways) {
      ranking.add("S rounded", fmt::format("S is rounded to {} {}", name(dtype), where),
                  [&, dtype, &logit = logit](const RowId& id) {
                    RowVariation variation = ranking.answers().stated(id);
                    variation.s_rounded = dtype;
                    variation.logit = logit;
                    return variation;
                  });
    }
  }
}

// Adds roundings of Q after the softmax scale, with and without log2(e).
void add_rounded_q(const FailingOutput& failing, ExplanationRanking& ranking) {
  const double scale = failing.geometry->problem().softmax_scale();
  const bool is_fp32 = failing.geometry->problem().dtype == DType::f32;
  for (const DType dtype : {DType::tf32, DType::bf16, DType::f16}) {
    if (dtype == DType::tf32 && !is_fp32) continue;
    for (const double unit : {std::numbers::log2e, 1.0}) {
      // add_scales() adds the looser spec with this rounding under the same kind.
      ranking.add(kind_of("Q", dtype),
                  fmt::format("Q is rounded to {} after the softmax scale", name(dtype)),
                  [&, dtype, unit](const RowId& id) {
                    RowVariation variation = ranking.answers().stated(id);
                    variation.change_query = [=](std::span<double> q) {
                      for (double& x : q) x = round_to(x * scale * unit, dtype) / unit;
                    };
                    variation.logit = [](const LogitShape& shape, double product,
                                         std::int64_t key) { return shape.logit(product, key); };
                    return variation;
                  });
    }
  }
}

// Adds products q . k that are limited to the range of fp16.
void add_clamped_products(const FailingOutput& failing, ExplanationRanking& ranking) {
  const double scale = failing.geometry->problem().softmax_scale(),
               largest = largest_finite(DType::f16);
  ranking.add("Q K^T clamped", "Q K^T is clamped to the range of fp16 before the softmax scale",
              [&](const RowId& id) {
                RowVariation variation = ranking.answers().stated(id);
                variation.logit = [=](const LogitShape& shape, double product, std::int64_t key) {
                  return shape.logit(scale * std::clamp(product, -largest, largest), key);
                };
                return variation;
              });
}

// The kind and the sentence of an explanation. Explanations by the same rounding have one kind, so
// that they do not compete.
struct Claim {
  std::string kind, sentence;
};
constexpr const char *kind_of_exp2 = "exp2",
                     *sentence_of_exp2 =
                         "exp2 has a relative error of 1e-4, as a polynomial of degree 3";

// Returns the spec of a kernel that rounds only P, to the dtype of Q, before or after it is
// normalised.
RoundingSpec spec_of_p(const FailingOutput& failing, bool is_normalized) {
  const Problem& problem = failing.geometry->problem();
  RoundingSpec spec = strict_spec(problem);
  spec.p_dtype = problem.dtype;
  spec.p_prescale = default_prescale(problem.dtype);
  spec.p_normalized = is_normalized;
  spec.lse_base = failing.spec->lse_base;
  spec.lse_includes_sink = failing.spec->lse_includes_sink;
  spec.lse_without_row_bias = failing.spec->lse_without_row_bias;
  return spec;
}

// Returns the claim of spec_of_p(): the rounding of P if the judged spec rounds P less; otherwise
// the rounding model if that is looser than the judged spec; otherwise a claim without a sentence.
Claim claim_of_p(const FailingOutput& failing, bool is_normalized) {
  const DType dtype = failing.geometry->problem().dtype;
  if (may_be_p(failing, dtype)) {
    return {kind_of("P", dtype), fmt::format("P is rounded to {}{}", name(dtype),
                                             is_normalized ? " after it is normalised" : "")};
  }
  const RoundingSpec spec = spec_of_p(failing, is_normalized);
  const auto rungs = rungs_of(failing);
  const auto rung = std::ranges::find(rungs, spec, &Rung::spec);
  if (rung == rungs.end() || looser_fields(spec, *failing.spec).empty())
    return {is_normalized ? "P rounded after" : "P rounded once", ""};
  return {rung->name, sentence_of(*rung, *failing.spec)};
}

// Adds roundings of P relative to the row's largest logit, which a kernel knows only if it sees all
// keys before it rounds.
void add_rounded_p(const FailingOutput& failing, ExplanationRanking& ranking) {
  const DType dtype = failing.geometry->problem().dtype;
  if (dtype == DType::f32) return;
  const auto add = [&](const std::string& kind, const std::string& sentence, auto round_p) {
    ranking.add(kind, sentence, [&, round_p](const RowId& id) {
      RowVariation variation = ranking.answers().stated(id);
      variation.round_p = [round_p](std::span<const std::int64_t>, std::span<double> p, double sum,
                                    std::span<double>) {
        for (double& x : p) x = round_p(x, sum);
      };
      return variation;
    });
  };
  const Claim before = claim_of_p(failing, false), after = claim_of_p(failing, true);
  add(before.kind, before.sentence, [dtype](double p, double) { return round_to(p, dtype); });
  add(after.kind, after.sentence,
      [dtype](double p, double sum) { return round_to(p / sum, dtype) * sum; });
  add("P rounded twice",
      fmt::format("P is rounded to {} twice, before and after it is normalised", name(dtype)),
      [dtype](double p, double sum) { return round_to(round_to(p, dtype) / sum, dtype) * sum; });
}

// Adds a rounding model, with a sentence only if the model is looser than the judged spec.
void add_rung(const FailingOutput& failing, const Rung& rung, ExplanationRanking& ranking) {
  const RoundingSpec& judged = *failing.spec;
  if (rung.spec == judged) return;
  const auto add = [&](const Claim& claim) { ranking.add(claim.kind, claim.sentence, rung.spec); };
  RoundingSpec with_judged_exp2 = rung.spec;
  with_judged_exp2.exp2_rel_error = judged.exp2_rel_error;
  if (with_judged_exp2 == judged) return add({kind_of_exp2, sentence_of_exp2});
  for (const bool is_normalized : {false, true}) {
    if (rung.spec == spec_of_p(failing, is_normalized))
      return add(claim_of_p(failing, is_normalized));
  }
  const bool is_looser = !looser_fields(rung.spec, judged).empty();
  add({rung.name, is_looser ? sentence_of(rung, judged) : ""});
}

// Adds roundings of which only sigma is known, because they depend on the order of the sums.
void add_scales(const FailingOutput& failing, ExplanationRanking& ranking) {
  const Problem& problem = failing.geometry->problem();
  const RoundingSpec& judged = *failing.spec;
  const auto add = [&](const std::string& kind, const std::string& sentence, const auto& change) {
    RoundingSpec spec = judged;
    change(spec);
    if (!(spec == judged)) ranking.add(kind, sentence, spec);
  };
  add("the spec judged by", "", [](RoundingSpec&) {});
  ranking.add("the spec judged by", "", judged);
  constexpr Accumulator fp16_accumulator{DType::f16, false, 24, 1};
  const std::string in_fp16 =
      "P V is accumulated in fp16, or O is rounded to fp16 between tiles or as a partial output";
  add(pv_in_fp16, in_fp16, [&](RoundingSpec& spec) { spec.pv_accumulator = fp16_accumulator; });
  add(pv_in_fp16, in_fp16, [](RoundingSpec& spec) { spec.o_between_tiles = DType::f16; });
  add(pv_in_fp16, in_fp16, [](RoundingSpec& spec) { spec.split_partial_dtype = DType::f16; });
  const std::string in_bf16 = "O is rounded to bf16 between tiles or as a partial output";
  add(o_in_bf16, in_bf16, [](RoundingSpec& spec) { spec.o_between_tiles = DType::bf16; });
  add(o_in_bf16, in_bf16, [](RoundingSpec& spec) { spec.split_partial_dtype = DType::bf16; });
  add("Q K^T", "Q K^T is accumulated in fp16",
      [&](RoundingSpec& spec) { spec.qk_accumulator = fp16_accumulator; });
  for (const DType dtype : narrow_dtypes) {
    if (problem.is_merge()) break;
    add(kind_of("Q", dtype), fmt::format("Q is rounded to {} after the softmax scale", name(dtype)),
        [&](RoundingSpec& spec) { spec.q_prescaled = dtype; });
    add(kind_of("Q", dtype), fmt::format("Q is rounded to {} after the softmax scale", name(dtype)),
        [&](RoundingSpec& spec) {
          spec.q_prescaled = dtype;
          spec.q_prescaled_without_log2e = true;
        });
  }
  add(kind_of_exp2, sentence_of_exp2,
      [](RoundingSpec& spec) { spec.exp2_rel_error = std::max(spec.exp2_rel_error, 1e-4); });
  for (const DType dtype : coarser_dtypes) {
    if (!may_be_p(failing, dtype)) continue;
    add(kind_of("P", dtype), fmt::format("P is rounded to {}", name(dtype)),
        [&](RoundingSpec& spec) { spec.p_dtype = dtype; });
  }
  for (const Rung& rung : rungs_of(failing)) add_rung(failing, rung, ranking);
}

}  // namespace

RankedChange rank_changes(const FailingOutput& failing) {
  ExplanationRanking ranking(failing);
  // Competes with changes that may change nothing in these rows, such as Q K^T clamped.
  ranking.add("as stated", "", [&](const RowId& id) { return ranking.answers().stated(id); });
  add_rounded_s(failing, ranking);
  if (!failing.geometry->problem().is_merge()) {
    add_rounded_q(failing, ranking);
    add_clamped_products(failing, ranking);
    add_tiled_weights(failing, ranking);
  }
  add_rounded_p(failing, ranking);
  add_split_results(failing, ranking);
  add_wrong_addresses(failing, ranking);
  add_scales(failing, ranking);
  ExplanationRanking::Best best = ranking.best();
  const auto rungs = rungs_of(failing);
  const auto rung = std::ranges::find(rungs, best.kind, &Rung::name);
  if (rung == rungs.end()) return {std::move(best.sentence), false};
  // If a replay won, it was compared on the rows of the ranking alone.
  if (!likelihood_by(failing, rung->spec, second_look(failing))) return {};
  return {std::move(best.sentence), true};
}

std::string likeliest_change(const FailingOutput& failing) {
  RankedChange change = rank_changes(failing);
  return change.is_rung ? "" : std::move(change.sentence);
}

}  // namespace plumbline
