// One row of attention in quad precision: its logits, their errors, and the cells of equal logits.
// Plain loops over the formulas of docs/judging-formulas.md, as in quad_attention.h.
#pragma once

#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/problem/side_inputs.h"
#include "tests/reference/quad_attention.h"

namespace plumbline {

__extension__ using quad = __float128;
using Column = std::vector<double>;  // one value per visible key

inline double sq(double x) { return x * x; }

// Named as in the formulas.
struct QuadConstants {
  double u32 = std::pow(2.0, -24), kappa = 0.18, kappa_t = 0.55, kappa_t0 = kappa_t, slack = 1.2;
  double u_P, eta_P, u_S, u_sp, eta_sp, u_tile, eta_tile, u_qk, u_pv, eta_pv;
  // The largest error of a P, the largest mean square error and the mean error, in u_P.
  double largest = 1, largest_square = 1, truncated = 0;
  bool qk_rz, pv_rz;

  explicit QuadConstants(const RoundingSpec& spec) {
    const bool p_is_fp32 = spec.p_dtype == DType::f32;
    u_P = p_is_fp32 ? 2 * u32 : unit_roundoff(spec.p_dtype);
    eta_P = eta(spec.p_dtype) / spec.p_prescale;
    if (spec.p_toward_zero && !p_is_fp32) {
      truncated = 1 / (2 * std::log(2.0));
      kappa = truncated - sq(truncated), kappa_t *= 4, largest = 2, largest_square = 4;
    } else if (spec.p_stochastic && !p_is_fp32) {
      kappa = 0.36, largest = 2;
    }
    u_tile = rounds(spec.o_between_tiles) ? unit_roundoff(spec.o_between_tiles) : 0;
    eta_tile = rounds(spec.o_between_tiles) ? eta(spec.o_between_tiles) : 0;
    u_S = rounds(spec.s_rounded) ? unit_roundoff(spec.s_rounded) : 0;
    u_sp = rounds(spec.split_partial_dtype) ? unit_roundoff(spec.split_partial_dtype) : 0;
    eta_sp = eta(spec.split_partial_dtype);
    u_qk = spec.qk_accumulator.dtype == DType::f16 ? std::pow(2.0, -11) : u32;
    u_pv = spec.pv_accumulator.dtype == DType::f16 ? std::pow(2.0, -11) : u32;
    eta_pv = spec.pv_accumulator.dtype == DType::f16 ? std::pow(2.0, -25) : 0;
    qk_rz = spec.qk_accumulator.toward_zero && spec.qk_accumulator.dtype == DType::f32;
    pv_rz = spec.pv_accumulator.toward_zero && spec.pv_accumulator.dtype == DType::f32;
  }
  static bool rounds(DType dtype) { return dtype != DType::none && dtype != DType::f32; }
  static double eta(DType dtype) {
    if (dtype == DType::f16) return std::pow(2.0, -25);
    if (dtype == DType::e4m3) return std::pow(2.0, -10);
    if (dtype == DType::e5m2) return std::pow(2.0, -17);
    return 0;
  }
};
class QuadSoftmax {
 protected:
  QuadSoftmax(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
              std::int64_t sample, std::int64_t head, std::int64_t row)
      : spec_(as_computed(geometry.problem(), spec)),
        c_(spec),
        D_(geometry.problem().head_dim_qk),
        columns_(geometry.problem().head_dim_vo) {
    load(geometry, inputs, sample, head, row);
    softmax();
    logit_errors();
    cells_of_p_ = cells(keys_, [this](std::size_t k) { return p_cell(k); });
  }

  using Label = std::pair<std::string, double>;
  using Cells = std::map<Label, std::vector<std::size_t>>;

  // A kernel may multiply P by V's token scales before rounding P, so the largest P may be any
  // number.
  static RoundingSpec as_computed(const Problem& problem, RoundingSpec spec) {
    const bool of_tokens =
        problem.kv_scales == KvScales::token || problem.kv_scales == KvScales::block;
    if (is_fp8(problem.kv()) && of_tokens && spec.kv_dequantized_to != DType::f16 &&
        spec.kv_dequantized_to != DType::bf16)
      spec.p_max = MaximumOfP::free, spec.p_normalized = false;
    return spec;
  }

  // An element of Q, K or V as the products see it.
  double as_multiplied(double value) const {
    if (spec_.kv_dequantized_to != DType::tf32) return value;
    return spec_.inputs_toward_zero ? truncate_to(value, DType::tf32)
                                    : round_to(value, DType::tf32);
  }
  // Scales are stored as [sample, head, block of tokens].
  static float scale_of(const Problem& problem, const std::vector<float>& scales,
                        std::int64_t heads, std::int64_t seq, std::int64_t sample,
                        std::int64_t head, std::int64_t token) {
    const std::int64_t tokens = problem.kv_scales == KvScales::token   ? 1
                                : problem.kv_scales == KvScales::block ? problem.scale_block
                                                                       : seq + 1,
                       blocks = seq / tokens + (seq % tokens != 0 ? 1 : 0);
    return scales[static_cast<std::size_t>((sample * heads + head) * blocks + token / tokens)];
  }
  // An element of fp8 Q, K or V: scale * stored.
  quad scaled(double stored, float scale) const {
    if (spec_.kv_dequantized_to != DType::f16 && spec_.kv_dequantized_to != DType::bf16)
      return quad{scale} * stored;
    return round_to(static_cast<double>(scale * static_cast<float>(stored)),
                    spec_.kv_dequantized_to);
  }

  void load(const Geometry& geometry, const QuadInputs& inputs, std::int64_t sample,
            std::int64_t head, std::int64_t row) {
    const Problem& problem = geometry.problem();
    const double scale = problem.softmax_scale();
    a_ = scale;
    const SideInputs side = side_inputs(problem);
    for (std::int64_t d = 0; d < D_; ++d) {
      const double stored_q =
          decode_at(geometry.q.dtype, inputs.q,
                    static_cast<std::size_t>(geometry.q_offset(sample, row, head) + d));
      const double q = is_fp8(geometry.q.dtype)
                           ? static_cast<double>(
                                 scaled(stored_q, scale_of(problem, side.q_scale, problem.heads_q,
                                                           problem.seq_q, sample, head, row)))
                           : as_multiplied(stored_q);
      q_.push_back(q);
      // Q' = round(Q scale log2 e) / (scale log2 e), or without log2 e, from an fp32 product
      if (QuadConstants::rounds(spec_.q_prescaled)) {
        const bool natural = spec_.q_prescaled_without_log2e;
        const float product =
            static_cast<float>(q) * static_cast<float>(natural ? scale : scale * M_LOG2E);
        const quad exact_factor = natural ? quad{scale} : quad{scale} / logq(quad{2});
        const double rounded = round_to(product, spec_.q_prescaled);
        q_.back() = rounded / exact_factor;
        for (const double other : {product * (1 - 0x1p-21), product * (1 + 0x1p-21)}) {
          const double step = std::abs(round_to(other, spec_.q_prescaled) - rounded);
          if (step > 0)
            ties_.emplace_back(static_cast<std::size_t>(d),
                               step / static_cast<double>(exact_factor));
        }
      }
    }
    const std::int64_t head_kv = head / problem.group();
    const auto of_key = [&](const std::vector<float>& scales, std::int64_t key) {
      return scale_of(problem, scales, problem.heads_kv, problem.seq_kv, sample, head_kv, key);
    };
    const bool fp8 = is_fp8(problem.kv());
    scaled_outside_ = !side.out_scale.empty() || (fp8 && spec_.kv_dequantized_to != DType::f16 &&
                                                  spec_.kv_dequantized_to != DType::bf16);
    // Scales of tokens multiply P instead.
    const bool of_tokens =
        problem.kv_scales == KvScales::token || problem.kv_scales == KvScales::block;
    if (fp8 && !of_tokens && spec_.kv_dequantized_to != DType::f16 &&
        spec_.kv_dequantized_to != DType::bf16)
      factor_of_sums_ = static_cast<double>(of_key(side.v_scale, 0));
    if (!side.out_scale.empty()) factor_of_sums_ /= static_cast<double>(side.out_scale.front());
    for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
      if (!geometry.sees(sample, row, key)) continue;
      k_.emplace_back();
      v_.emplace_back();
      for (std::int64_t d = 0; d < D_; ++d) {
        const double stored =
            decode_at(geometry.k.dtype, inputs.k,
                      static_cast<std::size_t>(geometry.k_offset(sample, key, head_kv) + d));
        k_.back().push_back(fp8 ? scaled(stored, of_key(side.k_scale, key))
                                : quad{as_multiplied(stored)});
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        const double stored =
            decode_at(problem.kv(), inputs.v,
                      static_cast<std::size_t>(geometry.v_offset(sample, key, head_kv) + j));
        v_.back().push_back(fp8 ? scaled(stored, of_key(side.v_scale, key))
                                : quad{as_multiplied(stored)});
        if (!side.out_scale.empty()) v_.back().back() /= side.out_scale.front();
      }
      has_bias_ =
          !side.alibi_slopes.empty() && side.alibi_slopes[static_cast<std::size_t>(head)] != 0;
      if (!side.alibi_slopes.empty()) {
        const std::int64_t distance =
            row + geometry.length_kv(sample) - geometry.length_q(sample) - key;
        b_.push_back(-quad{side.alibi_slopes[static_cast<std::size_t>(head)]} *
                     static_cast<double>(distance < 0 ? -distance : distance));
      }
    }
    if (spec_.lse_without_row_bias && problem.is_causal() && problem.window_left < 0 &&
        !side.alibi_slopes.empty()) {
      row_bias_ = side.alibi_slopes[static_cast<std::size_t>(head)] *
                  static_cast<double>(row + geometry.length_kv(sample) - geometry.length_q(sample));
    }
    cap_ = problem.softcap;
    merges_ = problem.merge != Merge::none;
    n_ = k_.size();
    keys_ = n_;
    if (side.sinks.empty()) return;
    // A sink is one more key, the last, with v = 0.
    sink_ = side.sinks[static_cast<std::size_t>(head)];
    has_sink_ = true;
    k_.emplace_back(q_.size(), 0);
    v_.emplace_back(static_cast<std::size_t>(columns_), 0);
    b_.resize(keys_, 0), b_.push_back(sink_);
    ++n_;
  }

  void softmax() {
    std::vector<quad> s;
    for (std::size_t k = 0; k < n_; ++k) {
      quad raw = 0, n2 = 0;
      for (std::size_t d = 0; d < q_.size(); ++d)
        raw += q_[d] * k_[k][d], n2 += q_[d] * k_[k][d] * q_[d] * k_[k][d];
      const quad x = a_ * raw, th = cap_ > 0 ? tanhq(x / cap_) : quad{0},
                 capped = cap_ > 0 ? cap_ * th : x;
      s.push_back(b_.empty() ? capped : capped + b_[k]);
      x_.push_back(static_cast<double>(x));
      slope_.push_back(static_cast<double>(1 - th * th));
      by_log_scale_.push_back(x * (1 - th * th));
      capped_.push_back(static_cast<double>(capped));
      bias_.push_back(b_.empty() || is_sink(k) ? 0 : static_cast<double>(b_[k]));
      raw_.push_back(static_cast<double>(raw));
      n2_.push_back(static_cast<double>(n2));
    }
    m_ = *std::max_element(s.begin(), s.end());
    quad lt = 0, of_keys = 0;
    for (const quad x : s) lt += expq(x - m_);
    for (std::size_t k = 0; k < keys_; ++k) of_keys += expq(s[k] - m_);
    for (const quad x : s) {
      t_.push_back(static_cast<double>(expq(x - m_)));
      p_exact_.push_back(expq(x - m_) / lt);
      p_.push_back(static_cast<double>(p_exact_.back()));
      s_.push_back(static_cast<double>(x));
      below_max_.push_back(static_cast<double>(x - m_));
    }
    lt_ = static_cast<double>(lt);
    lt_of_keys_ = static_cast<double>(of_keys);
    lse_ = m_ + logq(spec_.lse_includes_sink ? lt : of_keys);
    s_exact_ = std::move(s);
  }

  void logit_errors() {
    const double D = static_cast<double>(D_);
    const double f = std::pow(2.0, -spec_.qk_accumulator.fraction_bits);
    const double fa = std::pow(2.0, -std::min(spec_.qk_accumulator.fraction_bits, 23));
    const double steps = std::ceil(D / spec_.qk_accumulator.products_per_step);
    for (std::size_t k = 0; k < n_; ++k) {
      const double c = a_ * slope_[k];
      const double largest = std::max(
          {std::abs(capped_[k]), std::abs(bias_[k]), std::abs(s_[k]), std::abs(row_bias_)});
      const double e0 = is_sink(k)
                            ? c_.u32 * (4 * std::abs(s_[k]) + 1)
                            : c_.u_qk * (0.5 * c * std::sqrt(D * n2_[k]) + 4 * largest) + c_.u32;
      double variance = sq(e0), beta = 0;
      if (merges_) {
        const double distance = static_cast<double>(m_) - s_[k];
        sd_.push_back(c_.u32 * (std::abs(s_[k]) + distance + 1));
        beta_.push_back(0);
        continue;
      }
      if (c_.qk_rz && n2_[k] > 0) {
        const double M = (std::abs(raw_[k]) + std::sqrt(n2_[k])) * c;
        beta =
            M * (f * std::sqrt(D) * std::abs(raw_[k]) / (6 * std::sqrt(n2_[k])) + steps * fa / 12);
        variance += sq(beta) + sq(M) * sq(f) * D / 6;
      }
      sd_.push_back(std::sqrt(variance));
      beta_.push_back(beta);
    }
  }

  // ---- cells
  static Label significant(double x, int bits, bool truncate) {
    int exponent = 0;
    const double scaled = std::ldexp(std::frexp(x, &exponent), bits);
    return {"", std::ldexp(truncate ? std::trunc(scaled) : std::round(scaled), exponent - bits)};
  }
  // Returns the number that S's rounding rounds: the logit, c_k or x_k. A sink is rounded only as a
  // logit.
  double unrounded(std::size_t k) const {
    if (is_sink(k)) return s_[k];
    if (spec_.s_rounded_before_softcap) return x_[k];
    return spec_.s_rounded_before_bias ? capped_[k] : s_[k];
  }
  double rounded_size(std::size_t k) const {
    const bool before = spec_.s_rounded_before_softcap || spec_.s_rounded_before_bias;
    if (is_sink(k)) return before ? 0 : std::abs(s_[k]);
    return std::abs(unrounded(k)) * (spec_.s_rounded_before_softcap ? slope_[k] : 1);
  }
  // The logit after the rounding
  double rounded_s(std::size_t k) const {
    const bool before = spec_.s_rounded_before_softcap || spec_.s_rounded_before_bias;
    if (is_sink(k) && before) return s_[k];
    const double rounded = round_to(unrounded(k), spec_.s_rounded);
    if (!before) return rounded;
    const bool caps = spec_.s_rounded_before_softcap && cap_ > 0;
    return (caps ? cap_ * std::tanh(rounded / cap_) : rounded) + bias_[k];
  }
  double largest_rounded(std::size_t count) const {
    double m = -HUGE_VAL;
    for (std::size_t k = 0; k < count; ++k) m = std::max(m, rounded_s(k));
    return m;
  }
  Label p_cell(std::size_t k) const {
    double t = c_.u_S > 0 ? std::exp(rounded_s(k) - largest_rounded(n_)) : t_[k];
    if (is_divided()) t /= lt_;
    // An fp32 P has cells of equal t, up to fp64 noise, or wider ones if Q K^T keeps few bits.
    const int kept = spec_.qk_accumulator.fraction_bits;
    if (spec_.p_dtype == DType::f32)
      return significant(t, c_.qk_rz && kept < 23 ? kept + 3 : 36, false);
    if (t < c_.eta_P) return {"flushed", 0};
    const int bits = significand_bits(spec_.p_dtype);
    if (t < c_.eta_P * std::pow(2.0, bits)) return {"subnormal", std::round(t / (c_.eta_P / 4))};
    return significant(t, bits + 3, false);
  }
  // Groups the first `count` keys. The sink is the last key.
  static Cells cells(std::size_t count, const std::function<Label(std::size_t)>& label) {
    Cells result;
    for (std::size_t k = 0; k < count; ++k) result[label(k)].push_back(k);
    return result;
  }
  Cells cells_of_s(std::size_t count) const {
    return cells(count, [this](std::size_t k) {
      return significant(unrounded(k), significand_bits(spec_.s_rounded) + 3, true);
    });
  }
  Cells cells_of_tanh() const {
    return cells(keys_, [this](std::size_t k) { return significant(x_[k] / cap_, 4, true); });
  }
  Cells phases(std::size_t count) const {
    return cells(count, [this](std::size_t k) {
      const double x = below_max_[k] / M_LN2;
      return Label{"phase", std::floor(8 * (x - std::floor(x)))};
    });
  }
  Cells exp2_steps(std::size_t count) const {
    return cells(count, [this](std::size_t k) {
      const double x = below_max_[k] / M_LN2;
      return Label{"step", std::round(65536 * (x - std::floor(x)))};
    });
  }
  static double sum_of_squared_sums(const Cells& cells, const Column& error) {
    double total = 0;
    for (const auto& [label, members] : cells) {
      double sum = 0;
      for (const std::size_t k : members) sum += error[k];
      total += sq(sum);
    }
    return total;
  }
  // max(0, sum over cells of two and more keys of (sum e)^2 - sum e^2)
  double excess(const Column& error) const {
    double total = 0;
    for (const auto& [label, members] : cells_of_p_) {
      if (members.size() < 2) continue;
      double sum = 0;
      for (const std::size_t k : members) sum += error[k], total -= sq(error[k]);
      total += sq(sum);
    }
    return std::max(0.0, total);
  }
  static double sum_of_squares(const Column& error) {
    double total = 0;
    for (const double e : error) total += sq(e);
    return total;
  }
  static double sum_of_squares(const Column& error, std::size_t count) {
    return sum_of_squares({error.begin(), error.begin() + static_cast<std::ptrdiff_t>(count)});
  }
  bool is_sink(std::size_t k) const { return has_sink_ && k == keys_; }
  bool has_tanh_error() const { return cap_ > 0 && spec_.tanh_rel_error > 0; }
  Column column(const std::function<double(std::size_t)>& value) const {
    Column result;
    for (std::size_t k = 0; k < n_; ++k) result.push_back(value(k));
    return result;
  }

  bool is_divided() const { return spec_.p_normalized && spec_.p_dtype != DType::f32; }
  // A normalised P has known errors unless it is rounded stochastically.
  bool is_normalized() const { return is_divided() && !spec_.p_stochastic; }

  const RoundingSpec spec_;
  const QuadConstants c_;
  std::int64_t D_, columns_;
  double a_ = 0, lt_ = 0, lt_of_keys_ = 0, o_ = 0, cap_ = 0, sink_ = 0, row_bias_ = 0,
         factor_of_sums_ = 1;
  bool has_sink_ = false, scaled_outside_ = false, merges_ = false, has_bias_ = false,
       is_flat_ = false;
  quad m_ = 0, m_of_keys_ = 0, lse_ = 0;
  std::size_t n_ = 0, keys_ = 0;  // including and excluding a sink
  std::vector<quad> q_, b_, s_exact_, by_log_scale_, p_exact_;
  std::vector<std::vector<quad>> k_, v_;
  std::vector<std::pair<std::size_t, double>> ties_;  // elements of Q near a tie, and by how much
  Column raw_, n2_, x_, slope_, capped_, bias_, s_, below_max_, t_, p_, sd_, beta_;
  Cells cells_of_p_;
};

}  // namespace plumbline
