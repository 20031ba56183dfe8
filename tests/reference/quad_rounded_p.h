// A kernel's rounding of P, in the manner of quad_softmax.h: the maxima that it may subtract, the
// errors of P under each, and the resulting variance.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/reference/quad_softmax.h"

namespace plumbline {

class QuadRoundedP : public QuadSoftmax {
 public:
  QuadRoundedP(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
               std::int64_t sample, std::int64_t head, std::int64_t row)
      : QuadSoftmax(geometry, inputs, spec, sample, head, row) {
    if (spec_.p_dtype != DType::f32) round_p();
  }

 protected:
  double eta_of_p() const { return c_.eta_P / (is_divided() ? 1 : lt_); }
  double e(std::size_t k) const { return std::min(eta_of_p(), p_[k]); }
  bool is_random() const { return spec_.p_stochastic && spec_.p_dtype != DType::f32; }
  // The variance of one key's P. Near zero, a P that is rounded stochastically has the variance of
  // a step.
  double independent(std::size_t k) const {
    double near_zero = sq(e(k)) / 3;
    if (is_random()) {
      near_zero = p_[k] * (2 * eta_of_p() - p_[k]);
      if (p_[k] >= eta_of_p()) near_zero = std::max(near_zero, sq(2 * eta_of_p()) / 6);
    }
    return kappa(k) * sq(c_.u_P * p_[k]) + near_zero;
  }
  double w(std::size_t k) const {
    // A sink, after the keys, has no kappa of its own.
    const double of_key = std::max(c_.kappa_t, k < kappas_.size() ? kappas_[k] : 0);
    return std::sqrt(std::min(of_key, largest_kappa(k))) * std::max(c_.u_P * p_[k], e(k));
  }
  double kappa(std::size_t k) const {
    return std::min(kappas_.empty() ? c_.kappa : kappas_[k], largest_kappa(k));
  }
  // If the largest P is 1, and exact after p_prescale, a P above 1 - u_P errs by at most 1 - t.
  double largest_kappa(std::size_t k) const {
    const bool is_near = c_.largest == 1 && spec_.p_max == MaximumOfP::one &&
                         spec_.p_dtype != DType::f32 && rounded_p(1) == 1 &&
                         t_of_keys(k) > 1 - c_.u_P;
    return is_near ? std::max(0.003, sq((1 - t_of_keys(k)) / c_.u_P)) : 1e9;
  }
  static double truncated(double x, DType dtype) {
    const double nearest = round_to(x, dtype);
    if (std::abs(nearest) <= std::abs(x)) return nearest;
    return nearest - std::copysign(ulp(x, dtype), x);
  }
  bool truncates_out() const {
    return spec_.out_toward_zero && QuadConstants::rounds(spec_.out_dtype);
  }
  bool sums_rounded_p() const { return spec_.denominator_from_rounded_p && !is_divided(); }
  double rounded_p(double t) const {
    const double held = t * spec_.p_prescale;
    return (spec_.p_toward_zero ? truncated(held, spec_.p_dtype) : round_to(held, spec_.p_dtype)) /
           spec_.p_prescale;
  }
  // The root of (distance to the number below) (distance to the number above).
  double random_error(double t) const {
    const double held = t * spec_.p_prescale, below = truncated(held, spec_.p_dtype),
                 above = below + ulp(held, spec_.p_dtype);
    return std::sqrt(std::max((held - below) * (above - held), 0.0)) / spec_.p_prescale;
  }
  // exp of the distance to the largest logit of the keys, without the sink.
  double t_of_keys(std::size_t k) const {
    return is_divided() ? p_[k] : static_cast<double>(expq(s_exact_[k] - m_of_keys_));
  }
  int octave(std::size_t k) const {
    const double t = t_of_keys(k) * (1 + 1e-12);
    return t > 0x1p-63 ? std::max(-static_cast<int>(std::floor(std::log2(t))), 0) : 63;
  }
  // sum p_k (c_k - mean c)^2 <= (2 u_P)^2
  bool is_flat() const {
    double total = 0, mean = 0, variance = 0;
    for (std::size_t k = 0; k < keys_; ++k) total += p_[k], mean += p_[k] * capped_[k];
    for (std::size_t k = 0; k < keys_; ++k) variance += p_[k] * sq(capped_[k] - mean / total);
    return variance <= sq(2 * c_.u_P);
  }
  // Returns a maximum for each key.
  Column maxima(int tile, bool backward, int splits, bool from_sink) const {
    const auto held = [&](double m) {
      if (spec_.p_max == MaximumOfP::ceil2) return std::ceil(m * M_LOG2E) * M_LN2;
      return spec_.p_max == MaximumOfP::bf16 ? round_to(m, DType::bf16) : m;
    };
    const auto s = [&](std::size_t k) { return c_.u_S > 0 ? rounded_s(k) : s_[k]; };
    const double floor = from_sink ? sink_ : -HUGE_VAL;
    Column result(keys_);
    if (tile == 0) {
      double m = floor;
      for (std::size_t k = 0; k < keys_; ++k) m = std::max(m, s(k));
      std::fill(result.begin(), result.end(), held(m));
      return result;
    }
    const std::size_t part =
        (keys_ + static_cast<std::size_t>(splits) - 1) / static_cast<std::size_t>(splits);
    for (std::size_t first = 0; first < keys_; first += part) {
      const std::size_t last = std::min(first + part, keys_);
      const int tiles = static_cast<int>((last - first + static_cast<std::size_t>(tile) - 1) /
                                         static_cast<std::size_t>(tile));
      double m = floor;
      for (int i = 0; i < tiles; ++i) {
        const std::size_t begin = first + static_cast<std::size_t>(backward ? tiles - 1 - i : i) *
                                              static_cast<std::size_t>(tile),
                          end = std::min(begin + static_cast<std::size_t>(tile), last);
        for (std::size_t k = begin; k < end; ++k) m = std::max(m, s(k));
        for (std::size_t k = begin; k < end; ++k) result[k] = held(m);
      }
    }
    return result;
  }
  // Returns the error of each p_k with these maxima, or its standard deviation.
  Column errors_under(const Column& maxima) const {
    const double m = c_.u_S > 0 ? largest_rounded(keys_) : static_cast<double>(m_of_keys_);
    Column errors(n_, 0);
    for (std::size_t k = 0; k < keys_; ++k) {
      // (1 + 1e-12) keeps fp64 noise from truncating a power of two
      const double lag = is_divided() ? 1 : std::exp(m - maxima[k]);
      const double t = t_of_keys(k) * lag * (1 + 1e-12);
      if (t != 0) errors[k] = (is_random() ? random_error(t) : rounded_p(t) - t) / t * p_[k];
    }
    return errors;
  }
  std::vector<Column> all_maxima(bool repeats) const {
    std::vector<Column> all;
    for (const bool from_sink : {false, true}) {
      if (from_sink && (!has_sink_ || spec_.p_max == MaximumOfP::one)) break;
      all.push_back(maxima(0, false, 1, from_sink));
      for (const bool backward : {false, true}) {
        for (const int tile : {16, 32, 64, 128})
          all.push_back(maxima(tile, backward, 1, from_sink));
      }
    }
    if (!repeats) return all;
    for (const bool backward : {false, true}) {
      for (int i = 1; i <= 12; ++i) all.push_back(maxima(16 * i, backward, 1, false));
    }
    for (const int tile : {16, 128}) {
      for (int splits = 2; splits <= 8; ++splits) all.push_back(maxima(tile, false, splits, false));
    }
    return all;
  }
  static double sum(const Column& x) {
    double total = 0;
    for (const double value : x) total += value;
    return total;
  }
  void round_p() {
    m_of_keys_ =
        *std::max_element(s_exact_.begin(), s_exact_.begin() + static_cast<std::ptrdiff_t>(keys_));
    if (is_normalized()) return normalize();
    std::array<double, 64> squares{}, of_cells{}, largest{}, one_share{};
    const bool all_cells = (has_sink_ && static_cast<double>(sink_) > m_of_keys_) ||
                           spec_.p_max != MaximumOfP::running;
    for (std::size_t k = 0; k < keys_; ++k)
      squares[static_cast<std::size_t>(octave(k))] += sq(p_[k]);
    for (const auto& [label, members] : cells_of_p_) {
      if (all_cells || members.size() > 1) {
        of_cells[static_cast<std::size_t>(octave(members.front()))] +=
            sq(static_cast<double>(members.size()) * sq(p_[members.front()]));
      }
    }
    const double all_squares = std::accumulate(squares.begin(), squares.end(), 0.0);
    std::array<bool, 64> few{};
    bool some = false;
    for (std::size_t g = 0; g < 64; ++g) {
      few[g] = of_cells[g] > sq(squares[g]) / 8 && 1024 * squares[g] >= all_squares;
      some |= few[g];
    }
    const bool flat = is_flat_ = is_flat() && !is_random(), free = spec_.p_max == MaximumOfP::free;
    if (!some && !flat && !free) return;
    Column worst;
    for (const Column& of : all_maxima(flat && !bias_.empty() && has_bias_)) {
      const Column errors = errors_under(of);
      std::array<double, 64> of_octave{};
      for (std::size_t k = 0; k < keys_; ++k)
        of_octave[static_cast<std::size_t>(octave(k))] += sq(errors[k]);
      for (std::size_t g = 0; g < 64; ++g) largest[g] = std::max(largest[g], of_octave[g]);
      if (flat && (worst.empty() || std::abs(sum(errors)) > std::abs(sum(worst)))) worst = errors;
    }
    if (free) {
      std::map<std::pair<int, double>, double> coarse;
      std::array<double, 64> total{};
      for (std::size_t k = 0; k < keys_; ++k) {
        const double t = t_of_keys(k);
        coarse[{octave(k), significant(t, significand_bits(spec_.p_dtype), false).second}] += sq(t);
        total[static_cast<std::size_t>(octave(k))] += sq(t);
      }
      for (const auto& [cell, of_cell] : coarse) {
        double& share = one_share[static_cast<std::size_t>(cell.first)];
        share = std::max(share, of_cell / total[static_cast<std::size_t>(cell.first)]);
      }
    }
    if (some || free) {
      for (std::size_t k = 0; k < keys_; ++k) {
        const auto g = static_cast<std::size_t>(octave(k));
        double kappa = c_.kappa;
        if (few[g])
          kappa =
              std::max(kappa, std::min(c_.largest_square, largest[g] / (sq(c_.u_P) * squares[g])) /
                                  c_.slack);
        if (one_share[g] > 0.35)
          kappa = std::max(
              kappa, (one_share[g] * c_.largest_square + (1 - one_share[g]) * c_.kappa) / c_.slack);
        kappas_.push_back(kappa);
      }
    }
    shared_ = worst;
  }
  // delta_k = rnd(p_k) - p_k. If logits are rounded, p_k is the P of rounded logits.
  void normalize() {
    deltas_.assign(n_, 0);
    double total = 0;
    const double m = c_.u_S > 0 ? largest_rounded(n_) : 0;
    for (std::size_t k = 0; k < n_ && c_.u_S > 0; ++k) total += std::exp(rounded_s(k) - m);
    for (std::size_t k = 0; k < keys_; ++k) {
      const double p = c_.u_S > 0 ? std::exp(rounded_s(k) - m) / total : p_[k];
      deltas_[k] = rounded_p(p * (1 + 1e-12)) - p;
    }
    is_flat_ = is_flat();
    if (is_flat_) shared_ = deltas_;
  }
  // T_j
  double shared_error(std::int64_t j) const {
    double T = 0;
    for (std::size_t k = 0; k < shared_.size() && k < keys_; ++k)
      T += shared_[k] *
           (static_cast<double>(v_[k][static_cast<std::size_t>(j)]) - (sums_rounded_p() ? o_ : 0));
    return T;
  }
  double normalized_variance(const Column& x) const {
    const auto floored = [&](std::size_t k) {
      return std::max(sq(deltas_[k]), 0.03 * sq(c_.u_P * p_[k]));
    };
    double of_keys = 0, result = 0, of_all = 0, mean = 0;
    for (std::size_t k = 0; k < keys_; ++k) {
      of_keys += floored(k), of_all += deltas_[k], mean += p_[k] * x[k];
      result += floored(k) * sq(x[k]);
    }
    result += excess(column([&](std::size_t k) { return deltas_[k] * x[k]; }));
    return result + std::max(0.0, sq(of_all) / c_.slack - of_keys - excess(deltas_)) * sq(mean);
  }
  double p_variance(const Column& x) const {
    if (is_normalized()) return normalized_variance(x);
    double variance = 0, mean = 0;
    for (std::size_t k = 0; k < keys_; ++k) {
      variance += independent(k) * sq(x[k]);
      mean += p_[k] * x[k];
    }
    if (is_random()) return variance;
    variance += sq(c_.truncated * c_.u_P * mean);
    return variance + excess(column([&](std::size_t k) { return w(k) * x[k]; }));
  }

  Column kappas_, shared_, deltas_;  // local kappas; errors of a flat row; errors of normalised P
};

}  // namespace plumbline
