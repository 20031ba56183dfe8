// Evaluates attention in quad precision and every term of sigma in plain loops over the formulas.
#include "tests/reference/quad_attention.h"

#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "harness/problem/side_inputs.h"

namespace plumbline {
namespace {

__extension__ using quad = __float128;
using Column = std::vector<double>;  // one value a visible key

double sq(double x) { return x * x; }

// Names as in the formulas.
struct Constants {
  double u32 = std::pow(2.0, -24), kappa = 0.18, kappa_t = 0.55, kappa_t0 = kappa_t, slack = 1.2;
  double u_P, eta_P, u_S, u_sp, eta_sp, u_tile, eta_tile, u_qk, u_pv;
  double largest = 1, truncated = 0;  // of u_P: the largest error of a P, and the mean of all
  bool qk_rz, pv_rz;

  explicit Constants(const RoundingSpec& spec) {
    const bool p_is_fp32 = spec.p_dtype == DType::f32;
    u_P = p_is_fp32 ? 2 * u32 : unit_roundoff(spec.p_dtype);
    eta_P = eta(spec.p_dtype) / spec.p_prescale;
    if (spec.p_toward_zero && !p_is_fp32) {
      truncated = 1 / (2 * std::log(2.0));
      kappa = truncated - sq(truncated), kappa_t *= 4, largest = 2;
    }
    u_tile = rounds(spec.o_between_tiles) ? unit_roundoff(spec.o_between_tiles) : 0;
    eta_tile = rounds(spec.o_between_tiles) ? eta(spec.o_between_tiles) : 0;
    u_S = rounds(spec.s_rounded) ? unit_roundoff(spec.s_rounded) : 0;
    u_sp = rounds(spec.split_partial_dtype) ? unit_roundoff(spec.split_partial_dtype) : 0;
    eta_sp = eta(spec.split_partial_dtype);
    u_qk = spec.qk_accumulator.dtype == DType::f16 ? std::pow(2.0, -11) : u32;
    u_pv = spec.pv_accumulator.dtype == DType::f16 ? std::pow(2.0, -11) : u32;
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

class Row {
 public:
  Row(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
      std::int64_t sample, std::int64_t head, std::int64_t row)
      : spec_(spec),
        c_(spec),
        D_(geometry.problem().head_dim_qk),
        columns_(geometry.problem().head_dim_vo) {
    load(geometry, inputs, sample, head, row);
    softmax();
    logit_errors();
    cells_of_p_ = cells(keys_, [this](std::size_t k) { return p_cell(k); });
    if (spec_.p_dtype != DType::f32) round_p();
  }

  QuadRow result() {
    QuadRow result;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const auto terms = column_terms(j);
      double variance = 0;
      for (const double term : terms) variance += term;
      result.o.push_back(o_);
      result.terms.push_back(terms);
      result.spre.push_back(std::sqrt(variance));
      const double of_output = sq(ulp(o_ * (1 + 1e-12), spec_.out_dtype));
      double sigma_squared = variance + of_output / (truncates_out() ? 2 : 12);
      if (is_flat_) {
        const double T = shared_error(j);
        for (const double aside : {-0x1p-10, 0x1p-10}) {
          const double value = o_ + T + aside * ulp(o_, spec_.out_dtype);
          const double stored = truncates_out() ? truncated(value, spec_.out_dtype)
                                                : round_to(value, spec_.out_dtype);
          sigma_squared = std::max(sigma_squared, sq(stored - o_) / c_.slack);
        }
      }
      result.sigma.push_back(std::sqrt(sigma_squared));
      result.gradient.push_back(gradient(j));
    }
    result.lse = static_cast<double>(lse_);
    result.lse_sigma = std::sqrt(lse_variance());
    for (const auto& v : v_) {
      for (const quad x : v)
        result.largest_v = std::max(result.largest_v, std::abs(static_cast<double>(x)));
    }
    add_score_variances(result);
    return result;
  }

 private:
  using Label = std::pair<std::string, double>;
  using Cells = std::map<Label, std::vector<std::size_t>>;

  // An element of Q, K or V as the products see it.
  double as_multiplied(double value) const {
    return spec_.kv_dequantized_to == DType::tf32 ? round_to(value, DType::tf32) : value;
  }
  // An element of fp8 K or V, whose number is scale * stored.
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
    for (std::int64_t d = 0; d < D_; ++d) {
      const double q = as_multiplied(
          decode_at(problem.dtype, inputs.q,
                    static_cast<std::size_t>(geometry.q_offset(sample, row, head) + d)));
      q_.push_back(q);
      // Q' = round(Q scale log2 e) / (scale log2 e), or without log2 e
      if (Constants::rounds(spec_.q_prescaled) && spec_.q_prescaled_without_log2e)
        q_.back() = round_to(q * scale, spec_.q_prescaled) / quad{scale};
      else if (Constants::rounds(spec_.q_prescaled))
        q_.back() =
            round_to(q * (scale * M_LOG2E), spec_.q_prescaled) / (quad{scale} / logq(quad{2}));
    }
    const std::int64_t head_kv = head / problem.group();
    const SideInputs side = side_inputs(problem);
    const auto of_scale = static_cast<std::size_t>(sample * problem.heads_kv + head_kv);
    const bool fp8 = problem.kv() == DType::e4m3 || problem.kv() == DType::e5m2;
    scaled_outside_ =
        fp8 && spec_.kv_dequantized_to != DType::f16 && spec_.kv_dequantized_to != DType::bf16;
    for (std::int64_t key = 0; key < geometry.length_kv(sample); ++key) {
      if (!geometry.sees(sample, row, key)) continue;
      k_.emplace_back();
      v_.emplace_back();
      for (std::int64_t d = 0; d < D_; ++d) {
        const double stored =
            decode_at(problem.kv(), inputs.k,
                      static_cast<std::size_t>(geometry.k_offset(sample, key, head_kv) + d));
        k_.back().push_back(fp8 ? scaled(stored, side.k_scale[of_scale])
                                : quad{as_multiplied(stored)});
      }
      for (std::int64_t j = 0; j < columns_; ++j) {
        const double stored =
            decode_at(problem.kv(), inputs.v,
                      static_cast<std::size_t>(geometry.v_offset(sample, key, head_kv) + j));
        v_.back().push_back(fp8 ? scaled(stored, side.v_scale[of_scale])
                                : quad{as_multiplied(stored)});
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
    cap_ = problem.softcap;
    n_ = k_.size();
    keys_ = n_;
    if (side.sinks.empty()) return;
    // A sink is one more key, with v = 0: the last.
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
      const double largest = std::max({std::abs(capped_[k]), std::abs(bias_[k]), std::abs(s_[k])});
      const double e0 = is_sink(k)
                            ? c_.u32 * (4 * std::abs(s_[k]) + 1)
                            : c_.u_qk * (0.5 * c * std::sqrt(D * n2_[k]) + 4 * largest) + c_.u32;
      double variance = sq(e0), beta = 0;
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
  double rounded_s(double s) const { return round_to(s, spec_.s_rounded); }
  Label p_cell(std::size_t k) const {
    double t = c_.u_S > 0 ? std::exp(rounded_s(s_[k]) - rounded_s(static_cast<double>(m_))) : t_[k];
    if (is_normalized()) t /= lt_;
    // exact ties, but for fp64 noise
    if (spec_.p_dtype == DType::f32) return significant(t, 36, false);
    if (t < c_.eta_P) return {"flushed", 0};
    const int bits = significand_bits(spec_.p_dtype);
    if (t < c_.eta_P * std::pow(2.0, bits)) return {"subnormal", std::round(t / (c_.eta_P / 4))};
    return significant(t, bits + 3, false);
  }
  // Of the first `count` keys: the sink is the last.
  static Cells cells(std::size_t count, const std::function<Label(std::size_t)>& label) {
    Cells result;
    for (std::size_t k = 0; k < count; ++k) result[label(k)].push_back(k);
    return result;
  }
  Cells cells_of_s(std::size_t count) const {
    return cells(count, [this](std::size_t k) {
      return significant(s_[k], significand_bits(spec_.s_rounded) + 3, true);
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

  // ---- one column of O
  double e(std::size_t k) const { return std::min(c_.eta_P / lt_, p_[k]); }
  double w(std::size_t k) const {
    const double of_key = std::max(c_.kappa_t, kappas_.empty() ? 0 : kappas_[k]);
    return std::sqrt(std::min(of_key, largest_kappa(k))) * std::max(c_.u_P * p_[k], e(k));
  }
  double kappa(std::size_t k) const {
    return std::min(kappas_.empty() ? c_.kappa : kappas_[k], largest_kappa(k));
  }
  // Where the largest P is 1, a P of more than 1 - u_P lies between t and 1.
  double largest_kappa(std::size_t k) const {
    const bool is_near =
        spec_.p_max == MaximumOfP::one && spec_.p_dtype != DType::f32 && t_of_keys(k) > 1 - c_.u_P;
    return is_near ? std::max(0.003, sq((1 - t_of_keys(k)) / c_.u_P)) : 1e9;
  }
  double sS(std::size_t k) const {
    return std::sqrt(c_.kappa_t0 * s_roundings()) * c_.u_S * std::abs(s_[k]);
  }
  // A second rounding changes nothing after a power of two.
  double s_roundings() const {
    int exponent = 0;
    return spec_.s_rounded_twice && std::frexp(std::abs(a_), &exponent) != 0.5 ? 2 : 1;
  }

  // ---- how P is rounded
  static double truncated(double x, DType dtype) {
    const double nearest = round_to(x, dtype);
    if (std::abs(nearest) <= std::abs(x)) return nearest;
    return nearest - std::copysign(ulp(x, dtype), x);
  }
  bool truncates_out() const { return spec_.out_toward_zero && Constants::rounds(spec_.out_dtype); }
  bool is_normalized() const { return spec_.p_normalized && spec_.p_dtype != DType::f32; }
  bool sums_rounded_p() const { return spec_.denominator_from_rounded_p && !is_normalized(); }
  double rounded_p(double t) const {
    const double held = t * spec_.p_prescale;
    return (spec_.p_toward_zero ? truncated(held, spec_.p_dtype) : round_to(held, spec_.p_dtype)) /
           spec_.p_prescale;
  }
  // exp of the distance to the largest logit of the keys, a sink left out.
  double t_of_keys(std::size_t k) const {
    return is_normalized() ? p_[k] : static_cast<double>(expq(s_exact_[k] - m_of_keys_));
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
  // A maximum for each key.
  Column maxima(int tile, bool backward, int splits, bool from_sink) const {
    const auto held = [&](double m) {
      if (spec_.p_max == MaximumOfP::ceil2) return std::ceil(m * M_LOG2E) * M_LN2;
      return spec_.p_max == MaximumOfP::bf16 ? round_to(m, DType::bf16) : m;
    };
    const auto s = [&](std::size_t k) { return c_.u_S > 0 ? rounded_s(s_[k]) : s_[k]; };
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
  // Error of each p_k, with these maxima.
  Column errors_under(const Column& maxima) const {
    const double m =
        c_.u_S > 0 ? rounded_s(static_cast<double>(m_of_keys_)) : static_cast<double>(m_of_keys_);
    Column errors(n_, 0);
    for (std::size_t k = 0; k < keys_; ++k) {
      // (1 + 1e-12): not to truncate a power of two for the noise of fp64
      const double t = t_of_keys(k) * std::exp(m - maxima[k]) * (1 + 1e-12);
      if (t != 0) errors[k] = (rounded_p(t) - t) / t * p_[k];
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
    const bool flat = is_flat_ = is_flat(), free = spec_.p_max == MaximumOfP::free;
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
          kappa = std::max(
              kappa, std::min(sq(c_.largest), largest[g] / (sq(c_.u_P) * squares[g])) / c_.slack);
        if (one_share[g] > 0.35)
          kappa = std::max(
              kappa, (one_share[g] * sq(c_.largest) + (1 - one_share[g]) * c_.kappa) / c_.slack);
        kappas_.push_back(kappa);
      }
    }
    shared_ = worst;
  }
  // delta_k = rnd(p_k) - p_k, of the P of rounded logits where they are rounded
  void normalize() {
    deltas_.assign(n_, 0);
    double total = 0;
    const double m = c_.u_S > 0 ? rounded_s(static_cast<double>(m_)) : 0;
    for (std::size_t k = 0; k < n_ && c_.u_S > 0; ++k) total += std::exp(rounded_s(s_[k]) - m);
    for (std::size_t k = 0; k < keys_; ++k) {
      const double p = c_.u_S > 0 ? std::exp(rounded_s(s_[k]) - m) / total : p_[k];
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
  double sT(std::size_t k) const {
    return is_sink(k) ? 0 : std::sqrt(c_.kappa_t0) * spec_.tanh_rel_error * std::abs(capped_[k]);
  }
  double p_variance(const Column& x) const {
    if (is_normalized()) return normalized_variance(x);
    double independent = 0, mean = 0;
    for (std::size_t k = 0; k < keys_; ++k) {
      independent += (kappa(k) * sq(c_.u_P * p_[k]) + sq(e(k)) / 3) * sq(x[k]);
      mean += p_[k] * x[k];
    }
    independent += sq(c_.truncated * c_.u_P * mean);
    return independent + excess(column([&](std::size_t k) { return w(k) * x[k]; }));
  }

  std::array<double, 6> column_terms(std::int64_t j) {
    quad o = 0;
    for (std::size_t k = 0; k < n_; ++k) o += p_exact_[k] * v_[k][static_cast<std::size_t>(j)];
    o_ = static_cast<double>(o);
    const Column v = column(
        [&](std::size_t k) { return static_cast<double>(v_[k][static_cast<std::size_t>(j)]); });
    const Column y = column(
        [&](std::size_t k) { return static_cast<double>(v_[k][static_cast<std::size_t>(j)] - o); });

    const Column logit = column([&](std::size_t k) { return p_[k] * sd_[k] * y[k]; });
    const Column s = column([&](std::size_t k) { return p_[k] * sS(k) * y[k]; });
    const Column py = column([&](std::size_t k) { return p_[k] * y[k]; });
    const double TP =
        std::max(p_variance(sums_rounded_p() ? y : v), sq(shared_error(j)) / c_.slack);
    const double TL = sum_of_squares(logit) + excess(logit);
    const Column tanh = column([&](std::size_t k) { return p_[k] * sT(k) * y[k]; });
    double TS =
        c_.u_S == 0 ? 0 : std::max(sum_of_squares(s), sum_of_squared_sums(cells_of_s(n_), s));
    if (has_tanh_error())
      TS += std::max(sum_of_squares(tanh), sum_of_squared_sums(cells_of_tanh(), tanh));
    const double TE = sq(spec_.exp2_rel_error) / 2 * sum_of_squared_sums(phases(n_), py);
    return {TP, TL, TS, TE, accumulation(v), split(v)};
  }

  double range(const Column& v) const {  // R_j
    double sum = 0, low = 0, high = 0;
    for (std::size_t k = 0; k < n_; ++k)
      sum += p_[k] * v[k], low = std::min(low, sum), high = std::max(high, sum);
    return high - low;
  }
  double p2v(const Column& v) const {
    return sum_of_squares(column([&](std::size_t k) { return p_[k] * v[k]; }));
  }
  double accumulation(const Column& v) const {
    const double n = static_cast<double>(keys_), R = range(v);
    const auto repeated = [&](double share) { return n * std::max(4 * share - 1, 0.0) / 3; };
    const double S_t = repeated_p(), S_v = repeated_v(v);
    double TA = sq(c_.u_pv) * (n / 3 + 4) * (0.3 * sq(o_) + p2v(v)) +
                sq(0.3 * c_.u_pv * repeated(S_t * S_v) * R) +
                sq(0.3 * c_.u_pv * repeated(S_t) * o_) +
                sq(spec_.reciprocal_rel_error) * (sq(o_) + p2v(v));
    if (scaled_outside_) TA += sq(c_.u32 * o_);
    if (!c_.pv_rz) return TA;
    const double f = std::pow(2.0, -spec_.pv_accumulator.fraction_bits);
    const double fa = std::pow(2.0, -std::min(spec_.pv_accumulator.fraction_bits, 23));
    double signed_sum = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      const double t = std::min(f * R, p_[k] * std::abs(v[k]));
      signed_sum += v[k] < 0 ? -t / 2 : t / 2;
      TA += sq(t) / 6;
    }
    return TA + sq((std::abs(signed_sum) +
                    std::ceil(n / spec_.pv_accumulator.products_per_step) * fa * R / 2) /
                   3);
  }
  double split(const Column& v) const {
    const double partial = std::max(sq(range(v)), sq(o_) + p2v(v)),
                 tiles = std::ceil(static_cast<double>(keys_) / 16);
    return 0.18 * sq(c_.u_sp) * partial + sq(c_.eta_sp) / 3 +
           tiles * (0.18 / 2 * sq(c_.u_tile) * partial + sq(c_.eta_tile) / 3);
  }
  // At most 128 keys, spread over all.
  std::vector<std::size_t> sample() const {
    std::vector<std::size_t> keys;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(keys_, 128); ++i)
      keys.push_back(keys_ <= 128 ? i : (i * 2654435761U % (std::uint64_t{1} << 32)) * keys_ >> 32);
    return keys;
  }
  // S_t: the largest share of keys whose p lie within 8 u32
  double repeated_p() const {
    const auto keys = sample();
    std::size_t most = 0;
    for (const std::size_t a : keys) {
      std::size_t count = 0;
      for (const std::size_t b : keys)
        count += p_[a] >= c_.u32 && p_[b] >= p_[a] && p_[b] - p_[a] <= 8 * c_.u32 ? 1 : 0;
      most = std::max(most, count);
    }
    return static_cast<double>(most) / static_cast<double>(keys.size());
  }
  // S_vj: the largest share of keys whose v_kj lie within 4 u32 n |o_j| of that of one of 16
  double repeated_v(const Column& v) const {
    const auto keys = sample();
    const double width = 4 * c_.u32 * static_cast<double>(keys_) * std::abs(o_);
    std::size_t most = 0;
    const std::size_t probes = std::min<std::size_t>(16, keys.size());
    for (std::size_t i = 0; i < probes; ++i) {
      std::size_t count = 0;
      for (const std::size_t k : keys)
        count += std::abs(v[k] - v[keys[i * keys.size() / probes]]) <= width ? 1 : 0;
      most = std::max(most, count);
    }
    return static_cast<double>(most) / static_cast<double>(keys.size());
  }

  // ---- LSE
  double lse_variance() const {
    const double n = static_cast<double>(keys_);
    // The terms of the LSE, and their weights: those of the keys alone where it excludes the sink.
    const std::size_t count = spec_.lse_includes_sink ? n_ : keys_;
    const double l = spec_.lse_includes_sink ? lt_ : lt_of_keys_;
    const Column p = column([&](std::size_t k) { return p_[k] * (lt_ / l); });
    const Column logit = column([&](std::size_t k) { return p[k] * sd_[k]; });
    double bias = 0;
    for (std::size_t k = 0; k < keys_; ++k) bias += p[k] * beta_[k];
    double variance = sum_of_squares(logit, count) + excess(logit) + sq(bias);
    variance += sq(c_.u32 * (4 + std::abs(static_cast<double>(lse_)) + 2 * std::sqrt(n)));
    if (c_.u_S > 0) {
      const Column s = column([&](std::size_t k) { return p[k] * sS(k); });
      const auto last = s_.begin() + static_cast<std::ptrdiff_t>(count);
      const quad top = rounded_s(*std::max_element(s_.begin(), last));
      quad sum = 0;
      for (auto at = s_.begin(); at != last; ++at) sum += expq(rounded_s(*at) - top);
      const double shift = static_cast<double>(top + logq(sum) - lse_);
      variance += std::max(
          {sum_of_squares(s, count), sum_of_squared_sums(cells_of_s(count), s), sq(shift)});
    }
    if (has_tanh_error()) {
      const Column tanh = column([&](std::size_t k) { return p[k] * sT(k); });
      variance += std::max(sum_of_squares(tanh), sum_of_squared_sums(cells_of_tanh(), tanh));
    }
    variance += sq(spec_.exp2_rel_error) / 2 * sum_of_squared_sums(phases(count), p);
    if (sums_rounded_p()) {
      const double of_cells =
          sum_of_squared_sums(cells_of_p_, column([&](std::size_t k) { return w(k) * (lt_ / l); }));
      variance += std::max(of_cells, sq(sum(shared_) * (lt_ / l)) / c_.slack) +
                  sq(c_.truncated * c_.u_P * (lt_of_keys_ / l));
    }
    if (!Constants::rounds(spec_.lse_dtype)) return variance;
    const double unit = spec_.lse_base == 2 ? M_LN2 : 1, stored = static_cast<double>(lse_) / unit;
    const double error = (round_to(stored, spec_.lse_dtype) - stored) * unit;
    return std::max(variance + sq(ulp(stored, spec_.lse_dtype) * unit) / 12, sq(error) / c_.slack);
  }

  // ---- suite scores
  double gradient(std::int64_t j) const {
    quad mean = 0, sum = 0;
    for (std::size_t k = 0; k < n_; ++k) mean += p_exact_[k] * by_log_scale_[k];
    for (std::size_t k = 0; k < n_; ++k)
      sum += p_exact_[k] * (by_log_scale_[k] - mean) * v_[k][static_cast<std::size_t>(j)];
    return static_cast<double>(sum);
  }
  double score_variance(const QuadRow& row, const Column& direction, double correlated) const {
    double S = 0;
    for (std::size_t j = 0; j < direction.size(); ++j) S += sq(direction[j] / row.sigma[j]);
    const Column projection = column([&](std::size_t k) {
      double sum = 0;
      for (std::size_t j = 0; j < direction.size(); ++j) {
        const double x = static_cast<double>(v_[k][j]) - (sums_rounded_p() ? row.o[j] : 0);
        sum += x * direction[j] / sq(row.sigma[j]);
      }
      return sum;
    });
    return S + p_variance(projection) + sq(S * correlated);
  }
  void add_score_variances(QuadRow& row) const {
    // The logits of the keys, under their own softmax, and their derivatives by the logarithm of
    // the scale, a sink's 0 among them.
    const double deviation = spread(s_exact_, keys_), sensitivity = spread(by_log_scale_, n_);
    const double shared = c_.u_P / (1 + deviation / c_.u_P);
    row.shrink_variance = score_variance(row, row.o, 4 * c_.u32 + 0.6 * shared);
    row.temperature_variance =
        score_variance(row, row.gradient, sensitivity > 0 ? 0.3 * shared / sensitivity : 0);
  }
  double spread(const std::vector<quad>& x, std::size_t count) const {
    quad total = 0, mean = 0, variance = 0;
    for (std::size_t k = 0; k < count; ++k) total += p_exact_[k], mean += p_exact_[k] * x[k];
    mean /= total;
    for (std::size_t k = 0; k < count; ++k) variance += p_exact_[k] * (x[k] - mean) * (x[k] - mean);
    return std::sqrt(static_cast<double>(variance / total));
  }

  const RoundingSpec& spec_;
  const Constants c_;
  std::int64_t D_, columns_;
  double a_ = 0, lt_ = 0, lt_of_keys_ = 0, o_ = 0, cap_ = 0, sink_ = 0;
  bool has_sink_ = false, scaled_outside_ = false, has_bias_ = false, is_flat_ = false;
  quad m_ = 0, m_of_keys_ = 0, lse_ = 0;
  std::size_t n_ = 0, keys_ = 0;  // with and without a sink
  std::vector<quad> q_, b_, s_exact_, by_log_scale_, p_exact_;
  std::vector<std::vector<quad>> k_, v_;
  Column raw_, n2_, x_, slope_, capped_, bias_, s_, below_max_, t_, p_, sd_, beta_;
  Cells cells_of_p_;
  Column kappas_, shared_, deltas_;  // local kappas; errors of a flat row; errors of normalised P
};

}  // namespace

QuadRow quad_attention(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
                       std::int64_t sample, std::int64_t head, std::int64_t row) {
  return Row(geometry, inputs, spec, sample, head, row).result();
}

}  // namespace plumbline
