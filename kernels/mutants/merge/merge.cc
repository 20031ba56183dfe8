// Merges the parts of each token and head. A change is applied where it takes effect.
#include "kernels/mutants/merge/merge.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/numbers.h"

namespace plumbline::merge_mutants {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float rounded(std::uint32_t dtype, float value) {
  std::byte bytes[4];
  cpu::encode_one(dtype, value, bytes);
  return cpu::decode_one(dtype, bytes);
}

class Token {
 public:
  Token(const cpu::Attention& states, Change change, std::int64_t sample, std::int64_t head)
      : states_(states),
        change_(change),
        sample_(sample),
        head_(head),
        dims_(states.problem.head_dim_vo),
        is_base_2_(states.problem.merge_lse_base == 2),
        reads_base_2_((is_base_2_ && change != Change::base_natural_for_two) ||
                      change == Change::base_two_for_natural),
        out_(static_cast<std::size_t>(dims_), 0.0F) {
    const std::int64_t parts = states.lengths_kv[sample];
    first_ = is(Change::part_first_left_out) && parts > 1 ? 1 : 0;
    last_ = is(Change::part_last_left_out) && parts > 1 ? parts - 1 : parts;
    for (std::int64_t i = 0; i < parts; ++i) lse_.push_back(read_lse(i));
  }

  void run() {
    if (is(Change::legal_pairwise) || is(Change::lse_not_updated_between_parts)) {
      merge_pairwise();
    } else {
      merge_all();
    }
    store();
  }

 private:
  bool is(Change change) const { return change_ == change; }
  float power(float x) const { return reads_base_2_ ? std::exp2(x) : std::exp(x); }
  float logarithm(float x) const { return reads_base_2_ ? std::log2(x) : std::log(x); }

  float read_lse(std::int64_t part) const {
    const std::int64_t parts = states_.lengths_kv[sample_], heads = states_.problem.heads_kv;
    std::int64_t head = head_, sample = sample_;
    if (is(Change::index_lse_of_next_part)) part = (part + 1) % parts;
    if (is(Change::index_weights_reversed)) part = parts - 1 - part;
    if (is(Change::index_lse_of_neighbour_head)) head = (head + 1) % heads;
    if (is(Change::index_lse_transposed)) {  // [heads, parts] instead of [parts, heads]
      const std::int64_t at = head * parts + part;
      part = at / heads, head = at % heads;
    }
    if (is(Change::index_lse_of_token_before) && sample > 0 &&
        states_.lengths_kv[sample - 1] == parts)
      --sample;
    const float lse = cpu::decode_one(PLUMBLINE_F32, states_.k.at(sample, part, head));
    if (is(Change::empty_counts_as_zero) && lse == minus_infinity) return 0;
    if (is(Change::precision_lse_16_bit)) return rounded(PLUMBLINE_BF16, lse);
    return lse;
  }

  std::vector<float> read_part(std::int64_t part) const {
    std::int64_t head = head_;
    if (is(Change::index_parts_swapped_between_heads) && part % 2 == 1)
      head = std::min(head ^ 1, states_.problem.heads_kv - 1);
    std::vector<float> values(static_cast<std::size_t>(cpu::round_up(dims_, 8)));
    cpu::decode_row(states_.v.dtype, states_.v.at(sample_, part, head), states_.v.element_stride,
                    dims_, values.data());
    return values;
  }

  float largest_lse() const {
    if (is(Change::softmax_max_not_subtracted)) return 0;
    float m = is(Change::softmax_largest_starts_at_zero) ? 0 : minus_infinity;
    for (std::int64_t i = first_; i < last_; ++i) m = std::max(m, lse_at(i));
    return m;
  }
  float lse_at(std::int64_t part) const { return lse_[static_cast<std::size_t>(part)]; }

  float weight_of(std::int64_t part, float m) const {
    const float lse = lse_at(part);
    if (is(Change::legal_exponent_by_product) && !reads_base_2_) {
      constexpr float log2_e = 1.44269504F;
      return std::exp2(lse * log2_e - m * log2_e);
    }
    return power(lse - m);
  }

  // O = sum w_i O_i / l with w_i = exp(LSE_i - m), l = sum w_i; LSE = m + log l
  void merge_all() {
    const float m = largest_lse();
    float l = 0;
    std::vector<float> weights;
    for (std::int64_t i = first_; i < last_; ++i) {
      // -infinity - -infinity is NaN
      const bool is_empty = lse_at(i) == minus_infinity && !is(Change::empty_gives_nan);
      const float weight = is_empty ? 0 : weight_of(i, m);
      weights.push_back(weight);
      if (!is(Change::softmax_sum_misses_last) || i + 1 < last_ || l == 0) l += weight;
    }
    result_ = l == 0 ? minus_infinity : m + logarithm(l);
    const bool normalises_first = is(Change::legal_normalised_weights) ||
                                  is(Change::precision_weights_16_bit) ||
                                  is(Change::legal_weights_by_lse);
    for (std::int64_t n = 0; n < last_ - first_; ++n) {
      const std::int64_t i = is(Change::legal_reversed) ? last_ - 1 - n : first_ + n;
      float weight = weights[static_cast<std::size_t>(i - first_)];
      if (weight == 0 && !is(Change::empty_output_times_zero)) continue;
      if (normalises_first)
        weight = is(Change::legal_weights_by_lse) ? weight_of(i, result_) : weight / l;
      if (is(Change::precision_weights_16_bit)) weight = rounded(PLUMBLINE_BF16, weight);
      add(i, weight);
    }
    if (!normalises_first && l != 0) divide(l);
    if (is(Change::lse_is_the_largest)) result_ = m;
    if (is(Change::lse_without_largest)) result_ = logarithm(l);
    if (is(Change::lse_of_first_part)) result_ = lse_at(first_);
  }

  void add(std::int64_t part, float weight) {
    const std::vector<float> values = read_part(part);
    for (std::size_t d = 0; d < out_.size(); ++d) {
      out_[d] = is(Change::legal_multiply_then_add) ? out_[d] + weight * values[d]
                                                    : std::fma(weight, values[d], out_[d]);
      if (is(Change::precision_accumulate_bf16)) out_[d] = rounded(PLUMBLINE_BF16, out_[d]);
    }
  }

  void divide(float l) {
    if (is(Change::softmax_weights_not_normalised)) return;
    if (is(Change::softmax_divided_by_count)) l = static_cast<float>(last_ - first_);
    for (float& value : out_) value /= l;
  }

  // Like ring attention, which merges one part after another: O -= sigmoid(LSE_i - LSE) (O - O_i),
  // LSE = LSE + log(1 + exp(LSE_i - LSE)).
  void merge_pairwise() {
    result_ = minus_infinity;
    for (std::int64_t i = first_; i < last_; ++i) {
      const float lse = lse_at(i);
      if (lse == minus_infinity) continue;
      const std::vector<float> values = read_part(i);
      const bool is_first = result_ == minus_infinity;
      const float share = is_first ? 1 : 1 / (1 + power(result_ - lse));
      for (std::size_t d = 0; d < out_.size(); ++d)
        out_[d] = is_first ? values[d] : out_[d] - share * (out_[d] - values[d]);
      const float m = std::max(result_, lse);
      if (is_first || !is(Change::lse_not_updated_between_parts))
        result_ = is_first ? lse : m + logarithm(power(lse - m) + power(result_ - m));
    }
  }

  void store() {
    if (is(Change::precision_output_twice)) {
      for (float& value : out_) value = rounded(PLUMBLINE_BF16, value);
    }
    cpu::encode_row(states_.out.dtype, out_.data(), dims_, states_.out.at(sample_, 0, head_),
                    states_.out.element_stride);
    if (states_.lse.data == nullptr) return;
    constexpr float ln_2 = 0.693147181F;
    if (is(Change::lse_in_the_other_base)) result_ = is_base_2_ ? result_ * ln_2 : result_ / ln_2;
    cpu::encode_one(PLUMBLINE_F32, result_, states_.lse.at(sample_, 0, head_));
  }

  const cpu::Attention& states_;
  const Change change_;
  const std::int64_t sample_, head_, dims_;
  const bool is_base_2_, reads_base_2_;
  std::int64_t first_ = 0, last_ = 0;
  std::vector<float> lse_, out_;
  float result_ = minus_infinity;
};

}  // namespace

void run(const cpu::Attention& states, Change change) {
  for (std::int64_t sample = 0; sample < states.problem.batch; ++sample) {
    if (states.lengths_q[sample] == 0) continue;
    for (std::int64_t head = 0; head < states.problem.heads_q; ++head)
      Token(states, change, sample, head).run();
  }
  if (cpu::is_padded(states.problem.layout)) cpu::clear_padded_rows(states);
}

}  // namespace plumbline::merge_mutants
