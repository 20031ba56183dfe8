// Computes one row with random tiles, splits and error signs and the roundings of a spec.
#include "tests/sigma/simulated_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "harness/base/counter_hash.h"
#include "harness/problem/side_inputs.h"

namespace plumbline::test {
namespace {

constexpr double unit32 = 0x1p-24;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double lazy_limit = 8;  // log2: maximum lag of a lazy running maximum

bool is_narrow(DType dtype) { return dtype != DType::none && dtype != DType::f32; }

// Returns the fp32 sum of one tensor-core step: terms are cut at fraction_bits below the largest
// one's leading bit and added exactly, and the sum is cut to fp32.
float tensor_core_step(float sum, const double* products, int count, int fraction_bits) {
  double largest = std::abs(sum);
  for (int i = 0; i < count; ++i) largest = std::max(largest, std::abs(products[i]));
  if (largest == 0) return 0;
  const double quantum = std::ldexp(1.0, std::ilogb(largest) - fraction_bits);
  double total = std::trunc(sum / quantum);
  for (int i = 0; i < count; ++i) total += std::trunc(products[i] / quantum);
  const double exact = total * quantum;
  const auto nearest = static_cast<float>(exact);
  return std::abs(nearest) > std::abs(exact) ? std::nextafter(nearest, 0.0F) : nearest;
}

class Kernel {
 public:
  Kernel(const ExactRow& row, const RoundingSpec& spec, std::mt19937_64& random)
      : row_(row), spec_(spec), random_(random) {
    if (spec_.p_stochastic) stream_ = random_();
  }

  SimulatedRow run() {
    draw_logits();
    if (spec_.p_normalized) return finished(run_normalized());
    draw_order();
    start_with_sink_ =
        spec_.p_max != MaximumOfP::one && row_.sink && spec_.lse_includes_sink && below(2) == 1;
    const std::size_t tiles = (logits_.size() + tile_ - 1) / tile_;
    const std::size_t tiles_per_split = (tiles + splits_ - 1) / splits_;
    std::vector<SimulatedRow> partials;
    for (std::size_t first = 0; first < tiles; first += tiles_per_split) {
      partials.push_back(run_split(first, std::min(tiles, first + tiles_per_split)));
    }
    SimulatedRow result = partials.size() == 1 ? partials.front() : merge(partials);
    if (row_.sink && !start_with_sink_) result = with_sink(result);
    return finished(std::move(result));
  }

 private:
  // Applies the last steps of any kernel: V's scale and the rounding of the LSE.
  SimulatedRow finished(SimulatedRow result) const {
    for (float& o : result.o) o *= row_.v_scale;
    if (!is_narrow(spec_.lse_dtype)) return result;
    const double unit = spec_.lse_base == 2 ? std::numbers::ln2 : 1;
    result.lse = round_to(result.lse / unit, spec_.lse_dtype) * unit;
    return result;
  }

  // Softmax over whole rows, then P V, as in a framework.
  SimulatedRow run_normalized() {
    m_ = row_.sink ? sink() : minus_infinity;
    for (const double logit : logits_) m_ = std::max(m_, logit);
    std::vector<float> t;
    l_ = row_.sink ? static_cast<float>(std::exp2(sink() - m_)) : 0;
    float keys = 0;
    for (const double logit : logits_) keys += t.emplace_back(exponential(logit - m_));
    l_ += keys;
    o_.fill(0);
    for (std::size_t k = 0; k < t.size(); ++k) {
      const float p = rounded_p(t[k] / l_);
      for (std::size_t j = 0; j < o_.size(); ++j) o_[j] = std::fma(p, row_.v[k][j], o_[j]);
    }
    const double sum = spec_.lse_includes_sink ? l_ : keys;
    return {o_, (m_ + std::log2(sum)) * std::numbers::ln2};
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

  // Draws the logits as exponents of two, as in kernels.
  void draw_logits() {
    std::normal_distribution<double> normal;
    std::vector<double> noise(row_.x.size());
    logits_.resize(row_.x.size());
    for (std::size_t k = 0; k < logits_.size(); ++k) {
      noise[k] = row_.twin[k] == k ? normal(random_) : noise[row_.twin[k]];
      double s = row_.x[k] + row_.drift[k] + row_.sd[k] * noise[k];
      if (spec_.s_rounded_before_softcap) s = round_to(s, spec_.s_rounded);
      if (row_.softcap > 0) s = capped(static_cast<float>(s));
      if (spec_.s_rounded_before_bias) s = round_to(s, spec_.s_rounded);
      if (!row_.bias.empty()) s = static_cast<float>(s) + row_.bias[k];
      if (spec_.s_rounded_twice) s = round_to(s / row_.scale, spec_.s_rounded) * row_.scale;
      logits_[k] = (rounds_before() ? s : round_to(s, spec_.s_rounded)) * std::numbers::log2e;
    }
  }

  // Applies the softcap in fp32, with a tanh within 2 ulp and at most 1. A declared error is that
  // of a table of chords: a sawtooth over each quarter of an octave.
  float capped(float x) {
    const float u = x / static_cast<float>(row_.softcap);
    double t = std::tanh(double{u});
    t += uniform(-2, 2) * ulp(t, DType::f32);
    if (spec_.tanh_rel_error > 0 && u != 0) {
      const double quarters = 4 * std::log2(std::abs(u));
      t *= 1 + spec_.tanh_rel_error * (2 * (quarters - std::floor(quarters)) - 1);
    }
    return static_cast<float>(std::clamp(t, -1.0, 1.0)) * static_cast<float>(row_.softcap);
  }

  // Returns the sink as an exponent of two, rounded like the logits if they share a tensor.
  double sink() const {
    return (rounds_before() ? *row_.sink : round_to(*row_.sink, spec_.s_rounded)) *
           std::numbers::log2e;
  }
  bool rounds_before() const {
    return spec_.s_rounded_before_softcap || spec_.s_rounded_before_bias;
  }

  // Adds the sink to the denominator at the end, as some kernels do.
  SimulatedRow with_sink(const SimulatedRow& keys) const {
    const double of_sink = sink() * std::numbers::ln2, top = std::max(keys.lse, of_sink);
    const auto weight = static_cast<float>(std::exp(keys.lse - top)),
               weight_of_sink = static_cast<float>(std::exp(of_sink - top));
    const float total = weight + weight_of_sink;
    SimulatedRow result{keys.o, spec_.lse_includes_sink ? top + std::log(double{total}) : keys.lse};
    for (float& o : result.o) o = o * weight / total;
    return result;
  }

  void draw_order() {
    tile_ = std::size_t{16} << below(4);
    reverse_ = below(2) == 1;
    splits_ = std::size_t{1} << below(3);
    if (is_narrow(spec_.split_partial_dtype)) {  // always split if there are enough keys
      tile_ = 16;
      splits_ = std::size_t{2} << below(3);
    }
    // P stays below 2, or below 2^9 with a lazy maximum. In e4m3, P times p_prescale must not
    // exceed 448.
    const bool has_headroom = spec_.p_dtype != DType::e4m3;
    max_lag_ = has_headroom ? 1 : 0.8;
    lazy_ = has_headroom && spec_.p_max != MaximumOfP::one && below(2) == 1;
  }

  SimulatedRow run_split(std::size_t first_tile, std::size_t last_tile) {
    m_ = top_ = minus_infinity;
    l_ = 0;
    o_.fill(0);
    if (start_with_sink_ && first_tile == 0) {  // as if the sink were the first key
      m_ = top_ = sink();
      l_ = 1;
    }
    for (std::size_t i = first_tile; i < last_tile; ++i) {
      const std::size_t tile = reverse_ ? first_tile + last_tile - 1 - i : i;
      visit(tile * tile_, std::min(logits_.size(), (tile + 1) * tile_));
    }
    const float of_l = 1 / l_ * (1 + reciprocal_error());
    for (float& o : o_) o *= of_l;
    return {o_, (m_ + std::log2(double{l_})) * std::numbers::ln2};
  }

  // The error of a table of chords: a sawtooth over each sixteenth of an octave of l.
  float reciprocal_error() const {
    const double sixteenths = 16 * std::log2(double{l_});
    return static_cast<float>(spec_.reciprocal_rel_error *
                              (2 * (sixteenths - std::floor(sixteenths)) - 1));
  }

  void visit(std::size_t begin, std::size_t end) {
    const float rescale = move_maximum(begin, end);
    float sum = 0;
    p_.clear();
    for (std::size_t k = begin; k < end; ++k) {
      const float t = exponential(logits_[k] - m_), rounded = rounded_p(t);
      sum += spec_.denominator_from_rounded_p ? rounded : t;
      const float scale = row_.p_scale.empty() ? 1 : row_.p_scale[k];
      p_.push_back(is_fp8(spec_.p_dtype) || scale == 1 ? rounded * scale : rounded_p(t * scale));
    }
    l_ = std::fma(l_, rescale, sum);
    if (spec_.pv_accumulator.toward_zero) {
      multiply_on_tensor_core(begin, rescale);
    } else {
      multiply(begin, rescale);
    }
    for (float& o : o_) o = static_cast<float>(round_to(o, spec_.o_between_tiles));
  }

  // Moves the maximum that P is relative to. The maximum may be anything near the largest logit so
  // far. Then the largest P is not 1 and is also rounded. Each move draws a new offset: with one
  // offset for all tiles, the largest P of each tile would have the same significand, and their
  // errors would add up.
  float move_maximum(std::size_t begin, std::size_t end) {
    const double top = *std::max_element(&logits_[begin], &logits_[end - 1] + 1);
    if (top <= top_) return 1;
    top_ = top;
    if (lazy_ && top - m_ <= lazy_limit) return 1;
    const double before = m_;
    m_ = maximum(top);
    return static_cast<float>(std::exp2(before - m_));
  }

  double maximum(double top) {
    switch (spec_.p_max) {
      case MaximumOfP::one:
        return top;
      case MaximumOfP::ceil2:
        return std::ceil(top);
      case MaximumOfP::bf16:
        return round_to(top * std::numbers::ln2, DType::bf16) * std::numbers::log2e;
      default:
        return top - uniform(0, max_lag_);
    }
  }

  // Faithful: one of the two fp32 neighbours, so within one ulp. A declared error is that of a
  // polynomial of degree 3, which equioscillates five times over an octave.
  float exponential(double x) {
    double t = std::exp2(x);
    if (spec_.exp2_rel_error > 0) {
      const double y = 2 * (x - std::floor(x)) - 1;
      t *= 1 + spec_.exp2_rel_error * (8 * y * y * y * y - 8 * y * y + 1);
    }
    const auto nearest = static_cast<float>(t);
    if (double{nearest} == t || below(2) == 0) return nearest;
    return std::nextafter(nearest, nearest < t ? std::numeric_limits<float>::infinity() : 0.0F);
  }

  float rounded_p(float t) {
    if (!is_narrow(spec_.p_dtype)) return t;
    const double held = double{t} * spec_.p_prescale;
    const double rounded = spec_.p_stochastic    ? rounded_at_random(held)
                           : spec_.p_toward_zero ? truncate_to(held, spec_.p_dtype)
                                                 : round_to(held, spec_.p_dtype);
    return static_cast<float>(rounded / spec_.p_prescale);
  }

  // Rounds up with the probability that leaves no bias.
  double rounded_at_random(double x) {
    constexpr std::uint64_t purpose = 1;
    const double below = truncate_to(x, spec_.p_dtype), step = ulp(x, spec_.p_dtype),
                 drawn = static_cast<double>(counter_hash(stream_, purpose, counter_++) >> 11) *
                         0x1p-53;
    return below + (drawn < (x - below) / step ? step : 0);
  }

  void multiply(std::size_t begin, float rescale) {
    Columns product{};
    for (std::size_t k = 0; k < p_.size(); ++k) {
      const Columns& v = row_.v[begin + k];
      for (std::size_t j = 0; j < v.size(); ++j) product[j] = std::fma(p_[k], v[j], product[j]);
    }
    for (std::size_t j = 0; j < product.size(); ++j) o_[j] = std::fma(o_[j], rescale, product[j]);
  }

  void multiply_on_tensor_core(std::size_t begin, float rescale) {
    const auto step = static_cast<std::size_t>(spec_.pv_accumulator.products_per_step);
    std::vector<double> products(step);
    for (std::size_t j = 0; j < o_.size(); ++j) {
      o_[j] *= rescale;
      for (std::size_t first = 0; first < p_.size(); first += step) {
        const std::size_t count = std::min(step, p_.size() - first);
        for (std::size_t i = 0; i < count; ++i)
          products[i] = double{p_[first + i]} * double{row_.v[begin + first + i][j]};
        o_[j] = tensor_core_step(o_[j], products.data(), static_cast<int>(count),
                                 spec_.pv_accumulator.fraction_bits);
      }
    }
  }

  // o = sum_s w_s o_s / sum_s w_s with w_s = exp(lse_s - max lse). Partials have the declared
  // dtype.
  SimulatedRow merge(const std::vector<SimulatedRow>& partials) const {
    double top = minus_infinity;
    for (const SimulatedRow& partial : partials) top = std::max(top, partial.lse);
    SimulatedRow merged;
    float sum = 0;
    for (const SimulatedRow& partial : partials) {
      const auto weight = static_cast<float>(std::exp(partial.lse - top));
      sum += weight;
      for (std::size_t j = 0; j < merged.o.size(); ++j) {
        const auto o = static_cast<float>(round_to(partial.o[j], spec_.split_partial_dtype));
        merged.o[j] = std::fma(weight, o, merged.o[j]);
      }
    }
    for (float& o : merged.o) o /= sum;
    merged.lse = top + std::log(double{sum});
    return merged;
  }

  const ExactRow& row_;
  const RoundingSpec& spec_;
  std::mt19937_64& random_;
  std::uint64_t stream_ = 0, counter_ = 0;  // of random roundings
  std::vector<double> logits_;
  std::size_t tile_ = 0, splits_ = 1;
  bool reverse_ = false, lazy_ = false, start_with_sink_ = false;
  double max_lag_ = 1;      // log2
  double top_ = 0, m_ = 0;  // largest logit so far, maximum that P is relative to
  float l_ = 0;
  Columns o_{};
  std::vector<float> p_;  // P of one tile
};

// Sizes as in docs/judging-formulas.md, "Logit error": the error of rounding to nearest, and that
// of truncation.
void set_logit_error(double logit, double norm, double dims, const Accumulator& accumulator,
                     ExactRow& row) {
  const double magnitude = std::abs(logit);
  const double nearest = 0.5 * unit32 * std::sqrt(dims) * norm + unit32 * (4 * magnitude + 1);
  double spread = 0, drift = 0;
  if (accumulator.toward_zero && norm > 0) {
    const double f = std::ldexp(1.0, -accumulator.fraction_bits),
                 f_out = std::ldexp(1.0, -std::min(accumulator.fraction_bits, 23));
    const double m = magnitude + norm;
    drift = m * (f * std::sqrt(dims) * magnitude / norm / 6 +
                 std::ceil(dims / accumulator.products_per_step) * f_out / 12);
    spread = m * f * std::sqrt(dims / 6);
  }
  row.sd.push_back(std::hypot(nearest, spread));
  row.drift.push_back(std::copysign(drift, -logit));
}

}  // namespace

ExactRow exact_row(const Geometry& geometry, const InputView& inputs, const RoundingSpec& spec,
                   const RowId& id) {
  const Problem& problem = geometry.problem();
  const SideInputs& side = geometry.side;
  const auto dims = static_cast<std::size_t>(problem.head_dim_qk);
  const auto q = static_cast<std::size_t>(geometry.q_offset(id.sample, id.row, id.head));
  const std::int64_t head_kv = id.head / problem.group();
  const DType dequantized = dequantized_to(spec, problem);
  const auto scale_of = [&](const std::vector<float>& scales, std::size_t at) {
    return scales.empty() ? 1 : scales[at];
  };
  const float q_scale = scale_of(side.q_scale, q_scale_at(problem, id.sample, id.row, id.head));
  const auto as_multiplied = [&](double stored, float scale_of_fp8) {
    return dequantized == DType::none
               ? InputRounding(spec).rounded(stored)
               : round_to(double{static_cast<float>(stored) * scale_of_fp8}, dequantized);
  };
  ExactRow row;
  row.softcap = problem.softcap;
  row.scale = problem.softmax_scale();
  const bool outside = dequantized == DType::none;
  if (outside && problem.scale_tokens() == 0)
    row.v_scale = scale_of(side.v_scale, kv_scale_at(problem, id.sample, 0, head_kv));
  if (!side.sinks.empty()) row.sink = side.sinks[static_cast<std::size_t>(id.head)];
  // q . k is exact in fp64 compared with the kernel's noise. The kernel uses the same rounded Q as
  // the reference.
  const double scale_of_product = spec.q_prescaled == DType::none  ? problem.softmax_scale()
                                  : spec.q_prescaled_without_log2e ? 1
                                                                   : std::numbers::ln2;
  const auto query = [&](std::size_t d) {
    const double stored = decode_at(problem.dtype, inputs.q, q + d),
                 value = !problem.has_fp8_q() ? InputRounding(spec).rounded(stored)
                         : outside            ? stored * q_scale
                                              : as_multiplied(stored, q_scale);
    return spec.q_prescaled == DType::none
               ? value
               : round_to(static_cast<float>(value) *
                              static_cast<float>(
                                  problem.softmax_scale() *
                                  (spec.q_prescaled_without_log2e ? 1 : std::numbers::log2e)),
                          spec.q_prescaled);
  };
  std::map<std::vector<double>, std::size_t> first_with;
  for (std::int64_t key = 0; key < geometry.length_kv(id.sample); ++key) {
    if (!geometry.sees(id.sample, id.row, key)) continue;
    const auto k = static_cast<std::size_t>(geometry.k_offset(id.sample, key, head_kv));
    const auto v = static_cast<std::size_t>(geometry.v_offset(id.sample, key, head_kv));
    const std::size_t of_scales = kv_scale_at(problem, id.sample, key, head_kv);
    const float k_scale = scale_of(side.k_scale, of_scales),
                v_scale = scale_of(side.v_scale, of_scales);
    const double scale = scale_of_product * (outside ? double{k_scale} : 1.0);
    if (outside && problem.scale_tokens() > 0) row.p_scale.push_back(v_scale);
    std::vector<double> vector(dims);
    double raw = 0, squares = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      vector[d] = as_multiplied(decode_at(problem.kv(), inputs.k, k + d), k_scale);
      const double product = query(d) * vector[d];
      raw += product;
      squares += product * product;
    }
    row.x.push_back(scale * raw);
    if (!side.alibi_slopes.empty()) {
      const auto distance = static_cast<float>(
          std::abs(id.row + geometry.length_kv(id.sample) - geometry.length_q(id.sample) - key));
      row.bias.push_back(-side.alibi_slopes[static_cast<std::size_t>(id.head)] * distance);
    }
    set_logit_error(scale * raw, scale * std::sqrt(squares), static_cast<double>(dims),
                    spec.qk_accumulator, row);
    row.twin.push_back(first_with.try_emplace(std::move(vector), row.twin.size()).first->second);
    Columns& columns = row.v.emplace_back();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      columns[j] =
          static_cast<float>(as_multiplied(decode_at(problem.kv(), inputs.v, v + j), v_scale));
    }
  }
  return row;
}

SimulatedRow simulate(const ExactRow& row, const RoundingSpec& spec, std::mt19937_64& random) {
  return Kernel(row, spec, random).run();
}

}  // namespace plumbline::test
