// Evaluates attention in quad precision, and every variance term in plain loops over the formulas.
#include "tests/reference/quad_attention.h"

#include "tests/reference/quad_rounded_p.h"

namespace plumbline {
namespace {

class Row : QuadRoundedP {
 public:
  using QuadRoundedP::QuadRoundedP;

  QuadRow result() {
    QuadRow result;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const auto terms = column_terms(j);
      double variance = 0;
      for (const double term : terms) variance += term;
      result.o.push_back(saturated(o_));
      result.terms.push_back(terms);
      result.spre.push_back(std::sqrt(variance));
      const double of_output = sq(ulp(o_ * (1 + 1e-12), spec_.out_dtype));
      double sigma_squared =
          variance + of_output / (truncates_out() ? 2
                                  : spec_.out_stochastic && QuadConstants::rounds(spec_.out_dtype)
                                      ? 6
                                      : 12);
      if (is_flat_) {
        const double T = shared_error(j);
        for (const double aside : {-0x1p-10, 0x1p-10}) {
          const double value = saturated(o_ + T + aside * ulp(o_, spec_.out_dtype));
          const double stored = truncates_out() ? truncated(value, spec_.out_dtype)
                                                : round_to(value, spec_.out_dtype);
          sigma_squared = std::max(sigma_squared, sq(stored - saturated(o_)) / c_.slack);
        }
      }
      sigma_squared = std::max(sigma_squared, sq(ulp(0, spec_.out_dtype) / 2));
      result.sigma.push_back(std::sqrt(sigma_squared));
      result.gradient.push_back(gradient(j));
    }
    result.lse = static_cast<double>(lse_) + row_bias_;
    result.lse_sigma = std::sqrt(lse_variance());
    if (!merges_) {
      result.max_logit = *std::max_element(s_.begin(), s_.begin() + keys());
      result.max_logit_sigma = std::sqrt(max_logit_variance(std::abs(result.max_logit)));
    }
    for (const auto& v : v_) {
      for (const quad x : v)
        result.largest_v = std::max(result.largest_v, std::abs(static_cast<double>(x)));
    }
    add_score_variances(result);
    return result;
  }

 private:
  // ---- one column of O
  double saturated(double o) const {
    if (spec_.out_dtype == DType::e4m3) return std::clamp(o, -448.0, 448.0);
    return spec_.out_dtype == DType::e5m2 ? std::clamp(o, -57344.0, 57344.0) : o;
  }
  double sS(std::size_t k) const {
    return std::sqrt(c_.kappa_t0 * s_roundings()) * c_.u_S * rounded_size(k);
  }
  // A second rounding changes nothing if the scale is a power of two.
  double s_roundings() const {
    int exponent = 0;
    return spec_.s_rounded_twice && std::frexp(std::abs(a_), &exponent) != 0.5 ? 2 : 1;
  }

  double sT(std::size_t k) const {
    return is_sink(k) ? 0 : std::sqrt(c_.kappa_t0) * spec_.tanh_rel_error * std::abs(capped_[k]);
  }
  // An element of Q is rounded alike in the products with all keys.
  double products(const Column& y, double p_factor) const {
    double sum = 0;
    for (std::size_t k = 0; k < keys_; ++k)
      sum += p_factor * p_[k] * sq(a_ * slope_[k]) * n2_[k] * sq(y[k]);
    return merges_ ? 0 : sq(spec_.product_rel_error) / 3 * sum;
  }
  // A kernel that skips keys leaves them out of O and of l.
  double skipped(const Column& y) const {
    double sum = 0;
    for (std::size_t k = 0; k < keys_; ++k)
      sum += t_[k] < spec_.skipped_below ? p_[k] * std::abs(y[k]) : 0;
    return sq(sum / kept(1)) / c_.slack;
  }
  // The weight that is left without the skipped keys. If a sink is above all keys, all keys may be
  // skipped, and an LSE without the sink would have no weight.
  double kept(double p_factor) const {
    quad weight = 1;
    for (std::size_t k = 0; k < keys_; ++k)
      weight -= t_[k] < spec_.skipped_below ? p_exact_[k] * p_factor : quad{0};
    return std::max(static_cast<double>(weight), c_.u32);
  }
  // An element of Q near a tie changes all logits of a row.
  double query_ties(const Column& y, double p_factor) const {
    double variance = 0;
    for (const auto& [d, step] : ties_) {
      double sum = 0;
      for (std::size_t k = 0; k < keys_; ++k)
        sum += p_factor * p_[k] * a_ * slope_[k] * step * static_cast<double>(k_[k][d]) * y[k];
      variance += sq(sum) / c_.slack;
    }
    return variance;
  }
  double exp2_variance(const Column& error, std::size_t count) const {
    return sq(spec_.exp2_rel_error) / 2 *
           std::max({sum_of_squares(error, count), sum_of_squared_sums(phases(count), error),
                     sum_of_squared_sums(exp2_steps(count), error)});
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
    const double TL = sum_of_squares(logit) + excess(logit) + query_ties(y, 1) + products(y, 1);
    const Column tanh = column([&](std::size_t k) { return p_[k] * sT(k) * y[k]; });
    double TS =
        c_.u_S == 0 ? 0 : std::max(sum_of_squares(s), sum_of_squared_sums(cells_of_s(n_), s));
    if (has_tanh_error())
      TS += std::max(sum_of_squares(tanh), sum_of_squared_sums(cells_of_tanh(), tanh));
    const double TE = exp2_variance(py, n_) + skipped(y);
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
    const double smallest =
        c_.eta_pv * factor_of_sums_ / ((is_divided() ? 1 : lt_) * spec_.p_prescale);
    TA += std::min(sq(n * smallest), n * p2v(v)) / 3 +
          sq(spec_.product_rel_error) / 3 * (p2v(v) + sq(S_v * o_));
    if (scaled_outside_) TA += sq(c_.u32 * o_);
    double largest = 0;
    for (std::size_t k = 0; k < n_; ++k) largest = std::max(largest, std::abs(v[k]));
    if (merges_ || spec_.ring_update) TA += sq(c_.u32 * largest);
    if (merges_) TA += sq(c_.u32 * static_cast<double>(lse_) * o_) / 2;
    if (!c_.pv_rz) return TA;
    const double f = std::pow(2.0, -spec_.pv_accumulator.fraction_bits);
    const double fa = std::pow(2.0, -std::min(spec_.pv_accumulator.fraction_bits, 23));
    double signed_sum = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      const double t = std::min(f * R, p_[k] * std::abs(v[k]));
      // a product far below f R is lost whole
      const double counted = R > 0 ? t * (1 + 4.477 * std::min(1.0, 2 - 2 * t / (f * R))) : 0;
      signed_sum += v[k] < 0 ? -counted / 2 : counted / 2;
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
  // At most 128 keys, spread over all of them.
  std::vector<std::size_t> sample() const {
    std::vector<std::size_t> keys;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(keys_, 128); ++i)
      keys.push_back(keys_ <= 128 ? i : (i * 2654435761U % (std::uint64_t{1} << 32)) * keys_ >> 32);
    return keys;
  }
  // S_t: the largest share of keys whose p lie within 8 u32 of each other
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
  // S_vj: the largest share of keys whose v_kj lie within 4 u32 n |o_j| of one of 16 keys' v_kj
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
    // The number of the LSE's terms, and their weights: the keys alone if it excludes the sink.
    const std::size_t count = spec_.lse_includes_sink ? n_ : keys_;
    const double l = spec_.lse_includes_sink ? lt_ : lt_of_keys_;
    const Column p = column([&](std::size_t k) { return p_[k] * (lt_ / l); });
    const Column logit = column([&](std::size_t k) { return p[k] * sd_[k]; });
    double bias = 0;
    for (std::size_t k = 0; k < keys_; ++k) bias += p[k] * beta_[k];
    double variance = sum_of_squares(logit, count) + excess(logit) + sq(bias);
    variance += sq(c_.u32 * (4 + std::abs(static_cast<double>(lse_)) + 2 * std::sqrt(n)));
    const Column ones(n_, 1);
    variance += query_ties(ones, lt_ / l) + products(ones, lt_ / l) +
                sq(std::log(kept(lt_ / l))) / c_.slack;
    if (c_.u_S > 0) {
      const Column s = column([&](std::size_t k) { return p[k] * sS(k); });
      const quad top = largest_rounded(count);
      quad sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += expq(rounded_s(k) - top);
      const double shift = static_cast<double>(top + logq(sum) - lse_);
      variance += std::max(
          {sum_of_squares(s, count), sum_of_squared_sums(cells_of_s(count), s), sq(shift)});
    }
    if (has_tanh_error()) {
      const Column tanh = column([&](std::size_t k) { return p[k] * sT(k); });
      variance += std::max(sum_of_squares(tanh), sum_of_squared_sums(cells_of_tanh(), tanh));
    }
    variance += exp2_variance(p, count);
    if (sums_rounded_p()) {
      double of_p =
          sum_of_squared_sums(cells_of_p_, column([&](std::size_t k) { return w(k) * (lt_ / l); }));
      if (is_random()) {
        of_p = 0;
        for (std::size_t k = 0; k < keys_; ++k) of_p += independent(k) * sq(lt_ / l);
      }
      variance += std::max(of_p, sq(sum(shared_) * (lt_ / l)) / c_.slack) +
                  sq(c_.truncated * c_.u_P * (lt_of_keys_ / l));
    }
    variance += sq(4 * c_.u32 * row_bias_);
    if (!QuadConstants::rounds(spec_.lse_dtype)) return variance;
    const double unit = spec_.lse_base == 2 ? M_LN2 : 1,
                 stored = (static_cast<double>(lse_) + row_bias_) / unit;
    const double error = (round_to(stored, spec_.lse_dtype) - stored) * unit;
    return std::max(variance + sq(ulp(stored, spec_.lse_dtype) * unit) / 12, sq(error) / c_.slack);
  }

  // ---- the largest logit of the keys
  std::ptrdiff_t keys() const { return static_cast<std::ptrdiff_t>(keys_); }
  double max_logit_variance(double m) const {
    double variance = sq(*std::max_element(sd_.begin(), sd_.begin() + keys()));
    for (const auto& [d, step] : ties_) {
      double shift = 0;
      for (std::size_t k = 0; k < keys_; ++k)
        shift = std::max(shift, std::abs(a_ * slope_[k] * step * static_cast<double>(k_[k][d])));
      variance += sq(shift) / c_.slack;
    }
    if (c_.u_S > 0) {
      double size = 0;
      for (std::size_t k = 0; k < keys_; ++k) size = std::max(size, rounded_size(k));
      variance += s_roundings() * sq(c_.u_S * size + QuadConstants::eta(spec_.s_rounded));
    }
    variance += sq(spec_.tanh_rel_error * std::max(m, cap_));
    double of_products = 0;
    for (std::size_t k = 0; k < keys_; ++k)
      of_products = std::max(of_products, sq(a_ * slope_[k]) * n2_[k]);
    variance += sq(spec_.product_rel_error) / 3 * of_products;
    return variance + sq(c_.u32 * (4 * m + 1));
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
    // Standard deviations under softmax: of the keys' logits, without a sink, and of the logits'
    // derivatives by the logarithm of the scale, including a sink's derivative of 0.
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
};

}  // namespace

QuadRow quad_attention(const Geometry& geometry, const QuadInputs& inputs, const RoundingSpec& spec,
                       std::int64_t sample, std::int64_t head, std::int64_t row) {
  return Row(geometry, inputs, spec, sample, head, row).result();
}

}  // namespace plumbline
