// Applies scales, softcap, ALiBi and sinks to a row's logits, or one of them wrongly.
#include "kernels/mutants/logits.h"

#include <algorithm>

#include "kernels/mutants/results.h"

namespace plumbline::mutants {
namespace {

double natural_scale(const plumbline_problem& problem, Change change) {
  switch (change) {
    case Change::precision_scale_one_in_a_thousand:
      return problem.scale * 1.001;
    case Change::precision_scale_one_percent:
      return problem.scale * 1.01;
    case Change::precision_scale_ignored:
      return 1 / std::sqrt(static_cast<double>(problem.head_dim_qk));
    case Change::precision_scale_twice:
      return problem.scale * problem.scale;
    default:
      return problem.scale;
  }
}

double powers_of_two(Change change) {
  if (change == Change::precision_log2e_five_digits) return 1.4427;
  return change == Change::softmax_log2e_missing ? 1 : log2_e;
}

float given_or_rounded(const plumbline_problem& problem, Change change, double factor) {
  const auto given = static_cast<float>(factor);
  return change == Change::precision_scale_in_16_bits ? round_one(narrow_dtype(problem), given)
                                                      : given;
}

}  // namespace

Logits::Logits(const Sequence& sequence, Change change)
    : sequence_(sequence),
      problem_(sequence.problem()),
      change_(change),
      scale_(natural_scale(problem_, change)),
      unit_(change == Change::legal_scale_within_exponent ? 1 : powers_of_two(change)),
      factor_(given_or_rounded(problem_, change, scale_ * powers_of_two(change))) {}

bool Logits::is_capped() const {
  const bool skipped = is(Change::softcap_ignored) || is(Change::softcap_after_maximum) ||
                       (is(Change::softcap_missing_in_decode) && problem_.seq_q == 1);
  return problem_.softcap != 0 && !skipped;
}
bool Logits::is_biased() const { return problem_.has_alibi != 0; }

// Returns the factor of q.k in the logit or, with a softcap, in the argument of tanh.
float Logits::product_factor(const Block& block) const {
  const double k_scale = sequence_.k_scale(block.sample, block.head);
  const double applied = is(Change::precision_q_prescaled) ? 1 / powers_of_two(change_) : scale_;
  if (!is_capped()) return given_or_rounded(problem_, change_, applied * unit_ * k_scale);
  double factor = is(Change::fp8_k_scale_after_softcap) ? applied : applied * k_scale;
  if (is(Change::softcap_before_scale)) factor = k_scale;
  if (is(Change::softcap_of_powers_of_two)) factor *= log2_e;
  if (!is(Change::softcap_without_division)) factor /= problem_.softcap;
  return given_or_rounded(problem_, change_, factor);
}

void Logits::cap(float* s, std::int64_t count) const {
  double cap = problem_.softcap * unit_;
  if (is(Change::softcap_before_scale)) cap *= scale_;
  if (is(Change::softcap_of_powers_of_two)) cap = problem_.softcap;
  const auto factor = static_cast<float>(cap);
  for (std::int64_t j = 0; j < count && !is(Change::softcap_clips); j += 8)
    _mm256_storeu_ps(s + j, cpu::tanh(_mm256_loadu_ps(s + j)));
  const float bound = is(Change::softcap_saturates_early) ? 0.995F : 1.0F;  // tanh(3)
  for (std::int64_t j = 0; j < count; ++j) {
    if (std::abs(s[j]) > bound) s[j] = std::copysign(1.0F, s[j]);
  }
  if (is(Change::softcap_tanh_in_fp16)) round_row(PLUMBLINE_F16, s, count);
  scale_row(s, count, factor);
}

void Logits::apply(const Block& block, std::int64_t row, Range keys, std::int64_t tile_keys,
                   float* s) const {
  if (is(Change::precision_raw_scores_rounded)) round_row(narrow_dtype(problem_), s, tile_keys);
  if (is(Change::legal_scale_within_exponent) && !is_capped() && !is_biased()) return;
  const float factor = product_factor(block);
  if (factor != 1) scale_row(s, tile_keys, factor);
  const auto add_bias = [&](float unit) {
    for (std::int64_t j = 0; j < tile_keys; ++j)
      s[j] += bias(block, row, keys, keys.begin + j) * unit;
  };
  const bool before = is(Change::softcap_after_alibi) && is_capped();
  if (is_biased() && before) add_bias(static_cast<float>(1 / problem_.softcap));
  if (is_capped()) cap(s, tile_keys);
  if (is_capped() && is(Change::fp8_k_scale_after_softcap))
    scale_row(s, tile_keys, sequence_.k_scale(block.sample, block.head));
  if (is_biased() && !before)
    add_bias(is(Change::alibi_log2e_missing) ? 1.0F : static_cast<float>(unit_));
}

void Logits::cap_below_maximum(float* s, std::int64_t count) const {
  if (!is(Change::softcap_after_maximum) || problem_.softcap == 0) return;
  const auto cap = static_cast<float>(problem_.softcap * unit_);
  for (std::int64_t j = 0; j < count; ++j)
    s[j] = s[j] == minus_infinity ? s[j] : cap * std::tanh(s[j] / cap);
}

float Logits::within_exponent(const Block& block) const {
  if (!is(Change::legal_scale_within_exponent)) return 1;
  if (is_capped() || is_biased()) return static_cast<float>(log2_e);
  return static_cast<float>(scale_ * log2_e * sequence_.k_scale(block.sample, block.head));
}

float Logits::masked_logit() const {
  if (is(Change::softcap_after_mask) && is_capped())
    return static_cast<float>(-problem_.softcap * unit_);
  return is(Change::softmax_finite_sentinel) ? sentinel() : minus_infinity;
}

// ---- ALiBi ----

float Logits::slope(std::int64_t head) const {
  const cpu::HeadValues& slopes = sequence_.attention().alibi_slopes;
  if (is(Change::alibi_slope_of_key_head)) return slopes.at(0, head / sequence_.group());
  if (is(Change::alibi_slope_of_place_in_group)) return slopes.at(0, head % sequence_.group());
  if (is(Change::alibi_slope_in_16_bits))
    return round_one(narrow_dtype(problem_), slopes.at(0, head));
  if (is(Change::alibi_slopes_of_power_of_two)) {
    return static_cast<float>(
        std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(problem_.heads_q)));
  }
  return slopes.at(0, head);
}

// Returns the bias in natural units.
float Logits::bias(const Block& block, std::int64_t row, Range keys, std::int64_t key) const {
  const std::int64_t before =
      is(Change::alibi_lengths_of_longest)
          ? problem_.seq_kv - problem_.seq_q
          : sequence_.length_kv(block.sample) - sequence_.length_q(block.sample);
  std::int64_t diagonal = block.first + row + (is(Change::alibi_top_left) ? 0 : before);
  if (is(Change::alibi_distance_one_more)) ++diagonal;
  if (is(Change::alibi_column_of_tile)) key -= keys.begin;
  auto distance = static_cast<float>(diagonal - key);
  if (is(Change::alibi_distance_in_bf16)) distance = round_one(PLUMBLINE_BF16, distance);
  const float bias =
      -slope(block.head) * (is(Change::alibi_signed) ? distance : std::abs(distance));
  if (is(Change::alibi_before_scale)) return bias * static_cast<float>(scale_);
  return is(Change::alibi_bias_in_16_bits) ? round_one(narrow_dtype(problem_), bias) : bias;
}

// ---- Sinks ----

float Logits::sink(const Block& block) const {
  std::int64_t head = block.head;
  if (is(Change::sink_of_neighbour)) head = (head + 1) % problem_.heads_q;
  if (is(Change::sink_of_key_head)) head /= sequence_.group();
  double sink = sequence_.attention().sinks.at(block.sample, head);
  if (is(Change::sink_scaled)) sink *= scale_;
  if (is(Change::sink_in_16_bits))
    sink = round_one(narrow_dtype(problem_), static_cast<float>(sink));
  if (is(Change::sink_capped) && problem_.softcap != 0)
    sink = problem_.softcap * std::tanh(sink / problem_.softcap);
  if (is(Change::sink_log2e_twice)) sink *= log2_e;
  return static_cast<float>(is(Change::sink_log2e_missing) ? sink : sink * log2_e);
}

void Logits::add_sink(const Block& block, float share, float& maximum, float& sum, float* out,
                      std::int64_t columns) const {
  const float sink = this->sink(block) + share;
  if (sink == minus_infinity) return;
  if (maximum == minus_infinity && is(Change::sink_lost_without_keys)) return;
  if (is(Change::sink_without_exp) && sum > 0) {
    sum += static_cast<float>(sink / log2_e);
    return;
  }
  if (is(Change::sink_in_output) && sum > 0) {
    for (std::int64_t d = 0; d < columns; ++d) out[d] += exp2_of(change_, sink - maximum);
    return;
  }
  const float m = std::max(maximum, sink);
  const float rescale = exp2_of(change_, maximum - m);
  sum = std::fma(sum, rescale, exp2_of(change_, sink - m));
  scale_row(out, columns, rescale);
  maximum = m;
}

}  // namespace plumbline::mutants
