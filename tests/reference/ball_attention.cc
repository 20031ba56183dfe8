// Sums logits, weights and products one key after another, in outward-rounded intervals.
#include "tests/reference/ball_attention.h"

#include <arb.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "harness/problem/side_inputs.h"

namespace plumbline {
namespace {

class Number {
 public:
  Number() { arb_init(value_); }
  explicit Number(double x) : Number() { arb_set_d(value_, x); }
  Number(const Number& other) : Number() { arb_set(value_, other.value_); }
  Number(Number&& other) noexcept : Number() { arb_swap(value_, other.value_); }
  Number& operator=(Number other) noexcept {
    arb_swap(value_, other.value_);
    return *this;
  }
  ~Number() { arb_clear(value_); }

  arb_ptr get() { return value_; }
  arb_srcptr get() const { return value_; }
  double middle() const { return arf_get_d(arb_midref(value_), ARF_RND_NEAR); }
  Ball ball() const {
    const double radius = mag_get_d(arb_radref(value_)), m = middle();
    return {m, radius + std::abs(m) * 0x1p-52};  // the middle is rounded to fp64
  }

 private:
  arb_t value_;
};

class BallOfRow {
 public:
  BallOfRow(const Geometry& geometry, const BallInputs& inputs, const RoundingSpec& spec,
            std::int64_t sample, std::int64_t head, std::int64_t row, int bits)
      : geometry_(geometry),
        problem_(geometry.problem()),
        side_(side_inputs(problem_)),
        inputs_(inputs),
        spec_(spec),
        sample_(sample),
        head_(head),
        row_(row),
        bits_(bits) {}

  BallRow run() {
    load_query();
    const std::int64_t head_kv = head_ / (problem_.heads_q / problem_.heads_kv);
    for (std::int64_t key = 0; key < geometry_.length_kv(sample_); ++key) {
      if (!geometry_.sees(sample_, row_, key, head_)) continue;
      s_.push_back(logit(key, head_kv));
      v_.push_back(vector(inputs_.v, geometry_.v, geometry_.v_offset(sample_, key, head_kv),
                          problem_.head_dim_vo, side_.v_scale,
                          kv_scale_at(problem_, sample_, key, head_kv)));
      if (side_.out_scale.empty()) continue;
      const Number scale(double{side_.out_scale.front()});
      for (Number& v : v_.back()) arb_div(v.get(), v.get(), scale.get(), bits_);
    }
    return attend();
  }

 private:
  bool dequantizes() const {
    return spec_.kv_dequantized_to == DType::f16 || spec_.kv_dequantized_to == DType::bf16;
  }

  // Returns elements as the products see them: fp8 times its scale, or rounded by the spec.
  std::vector<Number> vector(const void* storage, const TensorShape& shape, std::int64_t offset,
                             std::int64_t count, const std::vector<float>& scales,
                             std::size_t scale) const {
    std::vector<Number> result;
    for (std::int64_t i = 0; i < count; ++i) {
      const double stored = decode_at(shape.dtype, storage, static_cast<std::size_t>(offset + i));
      const bool fp8 = is_fp8(shape.dtype);
      if (fp8 && dequantizes()) {
        const float product = static_cast<float>(stored) * scales[scale];
        result.emplace_back(round_to(product, spec_.kv_dequantized_to));
      } else if (fp8) {
        result.emplace_back(stored);
        arb_mul(result.back().get(), result.back().get(), Number(scales[scale]).get(), bits_);
      } else {
        const bool tf32 = spec_.kv_dequantized_to == DType::tf32;
        result.emplace_back(!tf32                      ? stored
                            : spec_.inputs_toward_zero ? truncate_to(stored, DType::tf32)
                                                       : round_to(stored, DType::tf32));
      }
    }
    return result;
  }

  void load_query() {
    q_ = vector(inputs_.q, geometry_.q, geometry_.q_offset(sample_, row_, head_),
                problem_.head_dim_qk, side_.q_scale,
                side_.q_scale.empty() ? 0 : q_scale_at(problem_, sample_, row_, head_));
    scale_ = Number(problem_.softmax_scale());
    if (spec_.q_prescaled != DType::f16 && spec_.q_prescaled != DType::bf16) return;
    // Q is an fp32 product rounded to 16 bits; its products are logits in base 2 or e.
    const double scale = problem_.softmax_scale();
    const bool natural = spec_.q_prescaled_without_log2e;
    const auto factor = static_cast<float>(natural ? scale : scale * std::numbers::log2e);
    for (Number& q : q_)
      q = Number(round_to(static_cast<float>(q.middle()) * factor, spec_.q_prescaled));
    scale_ = Number(1);
    if (!natural) arb_const_log2(scale_.get(), bits_);
  }

  Number logit(std::int64_t key, std::int64_t head_kv) const {
    const std::vector<Number> k =
        vector(inputs_.k, geometry_.k, geometry_.k_offset(sample_, key, head_kv),
               problem_.head_dim_qk, side_.k_scale, kv_scale_at(problem_, sample_, key, head_kv));
    Number s(0);
    for (std::size_t d = 0; d < q_.size(); ++d) arb_addmul(s.get(), q_[d].get(), k[d].get(), bits_);
    arb_mul(s.get(), s.get(), scale_.get(), bits_);
    if (problem_.softcap != 0) {
      const Number cap(problem_.softcap);
      arb_div(s.get(), s.get(), cap.get(), bits_);
      arb_tanh(s.get(), s.get(), bits_);
      arb_mul(s.get(), s.get(), cap.get(), bits_);
    }
    if (!side_.alibi_slopes.empty()) {
      const std::int64_t distance =
          row_ + geometry_.length_kv(sample_) - geometry_.length_q(sample_) - key;
      const Number slope(side_.alibi_slopes[static_cast<std::size_t>(head_)]),
          steps(static_cast<double>(distance < 0 ? -distance : distance));
      arb_submul(s.get(), slope.get(), steps.get(), bits_);
    }
    if (const float* bias = geometry_.bias_of(sample_, row_, head_))
      arb_add(s.get(), s.get(), Number(double{bias[key]}).get(), bits_);
    return s;
  }

  // Returns ln sum exp(s_k) and the weights exp(s_k - lse), both over `logits`.
  std::pair<Number, std::vector<Number>> softmax(const std::vector<Number>& logits) const {
    double top = -HUGE_VAL;
    for (const Number& s : logits) top = std::max(top, s.middle());
    const Number m(top);
    Number sum(0), lse;
    std::vector<Number> weights(logits.size());
    for (std::size_t k = 0; k < logits.size(); ++k) {
      arb_sub(weights[k].get(), logits[k].get(), m.get(), bits_);
      arb_exp(weights[k].get(), weights[k].get(), bits_);
      arb_add(sum.get(), sum.get(), weights[k].get(), bits_);
    }
    arb_log(lse.get(), sum.get(), bits_);
    arb_add(lse.get(), lse.get(), m.get(), bits_);
    for (Number& weight : weights) arb_div(weight.get(), weight.get(), sum.get(), bits_);
    return {std::move(lse), std::move(weights)};
  }

  BallRow attend() const {
    BallRow result;
    std::vector<Number> all = s_;  // the keys' logits, then the sink's
    if (!side_.sinks.empty()) all.emplace_back(side_.sinks[static_cast<std::size_t>(head_)]);
    const auto [lse, weights] = softmax(all);
    result.lse = spec_.lse_includes_sink ? lse.ball() : softmax(s_).first.ball();
    for (const Number& s : all) result.largest_s = std::max(result.largest_s, std::abs(s.middle()));
    for (std::size_t j = 0; j < static_cast<std::size_t>(problem_.head_dim_vo); ++j) {
      Number o(0);
      for (std::size_t k = 0; k < v_.size(); ++k) {
        arb_addmul(o.get(), weights[k].get(), v_[k][j].get(), bits_);
        result.largest_v = std::max(result.largest_v, std::abs(v_[k][j].middle()));
      }
      result.o.push_back(o.ball());
    }
    return result;
  }

  const Geometry& geometry_;
  const Problem& problem_;
  const SideInputs side_;
  const BallInputs inputs_;
  const RoundingSpec& spec_;
  std::int64_t sample_, head_, row_;
  int bits_;
  Number scale_;
  std::vector<Number> q_, s_;
  std::vector<std::vector<Number>> v_;
};

}  // namespace

BallRow ball_attention(const Geometry& geometry, const BallInputs& inputs, const RoundingSpec& spec,
                       std::int64_t sample, std::int64_t head, std::int64_t row, int bits) {
  return BallOfRow(geometry, inputs, spec, sample, head, row, bits).run();
}

}  // namespace plumbline
